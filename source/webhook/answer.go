package webhook

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// accepted is the answer to a delivery that was taken.
type accepted struct {
	Duplicate bool `json:"duplicate"`
	Enqueued  int  `json:"enqueued"`
	Unknown   int  `json:"unknown"`
}

// refuse answers anything but 2xx.
func refuse(w http.ResponseWriter, no *refusal) {
	if no.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(no.wait))
	}
	if no.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	reply(w, no.status, map[string]any{"error": map[string]string{"code": no.code, "message": no.message}})
}

func reply(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // who does not read the answer asks again
}
