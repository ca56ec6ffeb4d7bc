package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"net/http"
	"testing"
)

// Whatever stands in the headers, no format takes a body that was not signed with
// the key, and none panics.
func FuzzFormats(f *testing.F) {
	f.Add("sha256=00", "id", "1700000000", "v1,AAAA", []byte("{}"))
	f.Add("sha256=", "", "-1", "v1, v1,= v2,", []byte(""))
	f.Add("757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "i\x00d", "99999999999999999999", "v1", []byte("body"))
	key := []byte("the-key-of-the-fuzzer")
	f.Fuzz(func(t *testing.T, hex, id, sent, standard string, body []byte) {
		h := http.Header{}
		for name, value := range map[string]string{
			"X-Hub-Signature-256": hex, "X-Signature": hex, "X-Github-Delivery": id, "X-Id": id, "Webhook-Id": id,
			"Webhook-Timestamp": sent, "Webhook-Signature": standard, "X-Github-Event": sent,
		} {
			h.Set(name, value)
		}
		for _, format := range []Format{GitHub(), Standard(), Signed(Headers{Signature: "X-Signature", Delivery: "X-Id"})} {
			e, err := format.Read(h)
			if err != nil {
				continue
			}
			if len(e.ID) > maxID || len(e.Signatures) == 0 || len(e.Signatures) > maxSignatures {
				t.Errorf("accepted %+v", e)
			}
			mac := hmac.New(sha256.New, key)
			_, _ = mac.Write(append([]byte(e.Prefix), body...))
			right := false
			for _, signature := range e.Signatures {
				right = right || string(signature) == string(mac.Sum(nil))
			}
			if e.signedWith([][]byte{key}, body) != right {
				t.Errorf("signed: %t, want %t for %+v", !right, right, e)
			}
		}
	})
}
