package poll

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// HTTPDelay reads how long a server asks to be left alone: from Retry-After, in
// seconds or as a date. It is zero if the server does not ask, or asks what cannot
// be read. now is the present time.
func HTTPDelay(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		// a number of seconds that is too large for a duration is one that is too long
		return time.Duration(min(max(seconds, 0), int64(MaxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter)
}
