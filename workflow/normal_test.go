package workflow_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piworkflows/workflow"
)

func TestNormalText(t *testing.T) {
	t.Parallel()
	const id = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
	tests := map[string]struct{ text, want string }{
		"plain":                {"exit status 1: 3 of 7 tests failed", "exit status 1: 3 of 7 tests failed"},
		"blank ends":           {" \n x \r\n", "x"},
		"colours":              {"\x1b[31mFAIL\x1b[0m", "FAIL"},
		"not UTF-8":            {"a\xffb", "a\uFFFDb"},
		"UUID":                 {"request " + id + ", " + strings.ToUpper(id) + " failed", "request <uuid>, <uuid> failed"},
		"commit":               {"at 3f2a9c41d0e5b6a7980123456789abcdef012345", "at 3f2a9c41d0e5b6a7980123456789abcdef012345"},
		"RFC 3339":             {"2027-01-05T08:15:00Z 2027-01-05T08:15:00.123456+01:00 x", "<time> <time> x"},
		"with a space":         {"[2027-01-05 08:15:00,123] x", "[<time>] x"},
		"with its zone":        {"2027-01-05 08:15:00.5 +0000 UTC x", "<time> UTC x"},
		"compact":              {"20270105T081500Z x", "<time> x"},
		"Go's log":             {"2027/01/05 08:15:00 listen", "<time> listen"},
		"mail":                 {"Date: Tue, 05 Jan 2027 08:15:00 GMT", "Date: <time>"},
		"syslog":               {"Jan  5 08:15:00 host sshd: x", "<time> host sshd: x"},
		"ctime":                {"Tue Jan  5 08:15:00 2027: x", "<time>: x"},
		"time of day":          {"08:15:00 x 8:15:00.25 y", "<time> x <time> y"},
		"a day is no moment":   {"valid until 2027-01-05", "valid until 2027-01-05"},
		"line and column":      {"main.go:12:34: undefined: x", "main.go:12:34: undefined: x"},
		"versions":             {"go1.26.0, v1.2.3", "go1.26.0, v1.2.3"},
		"durations":            {"ok  pkg 0.012s, 5ms, 3µs, 1h2m3.5s, 12 seconds, 1 minute", "ok  pkg <duration>, <duration>, <duration>, <duration>, <duration>, <duration>"},
		"duration in brackets": {"--- FAIL: TestX (0.00s)", "--- FAIL: TestX (<duration>)"},
		"no durations":         {"5 s, 3 mistakes, m5s, 5 hosts, 10mb", "5 s, 3 mistakes, m5s, 5 hosts, 10mb"},
		"temporary file":       {"open /tmp/go-build123/b001/x.go: no", "open <tmp>/b001/x.go: no"},
		"temporary files":      {`"/tmp/a" /var/tmp/b (/private/tmp/c),/tmp/d`, `"<tmp>" <tmp> (<tmp>),<tmp>`},
		"macOS":                {"at /var/folders/zz/zyx_123/T/x.42/y and /private/var/folders/a/b/T/c", "at <tmp>/y and <tmp>"},
		"Windows":              {`open C:\Users\Ada\AppData\Local\Temp\x1\y: no`, `open <tmp>\y: no`},
		"no temporary file":    {"/srv/tmp/a x/tmp/b /tmp", "/srv/tmp/a x/tmp/b /tmp"},
		"working directory":    {"/data/run-1/src/x.go in /data/run-1.", "<dir>/src/x.go in <dir>."},
		"both, in a row":       {"/data/run-1 /data/run-1/deep/run-2,/data/run-1", "<dir> <dir>,<dir>"},
		"other directories":    {"/data/run-11 /data/run-1.bak /old/data/run-1 -/data/run-1 /data/run-1/data/run-1", "/data/run-11 /data/run-1.bak /old/data/run-1 -/data/run-1 <dir>/data/run-1"},
		"under a temporary":    {"/tmp/w/" + id + "/x", "<dir>/x"},
	}
	dirs := []string{"", ".", "/", "/data/run-1/", "/data/run-1/deep/run-2", "/tmp/w/" + id}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := workflow.NormalText(test.text, dirs...); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// Two occurrences of one failure read the same, whatever runs it and when.
func TestNormalTextOfTwoOccurrences(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		occurrence := func(label string) string {
			at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, label+" time"), rapid.Int64Range(0, 1e9-1).Draw(t, label+" nanos")).UTC()
			took := time.Duration(rapid.Int64Range(0, 1e14).Draw(t, label+" took"))
			dir := "/data/" + rapid.StringMatching(`[a-z0-9-]{1,9}`).Draw(t, label+" dir")
			temp := "/tmp/" + rapid.StringMatching(`[a-zA-Z0-9._-]{1,12}`).Draw(t, label+" temp")
			layout := rapid.SampledFrom([]string{time.RFC3339Nano, time.RFC1123, time.ANSIC, time.StampMilli, time.DateTime}).Draw(t, label+" layout")
			return workflow.NormalText(at.Format(layout)+" "+dir+"/x.go:3: "+temp+"/y: refused after "+took.String(), dir)
		}
		if one, two := occurrence("one"), occurrence("two"); one != two {
			t.Fatalf("%q is not %q", one, two)
		}
	})
}

// Text that was not declared as text is compared as it is.
func TestFactsKeepWhatIsNotText(t *testing.T) {
	t.Parallel()
	one, err1 := workflow.Facts{"failure": "after 5ms"}.Fingerprint()
	two, err2 := workflow.Facts{"failure": "after 6ms"}.Fingerprint()
	if err1 != nil || err2 != nil || one == two {
		t.Errorf("%s, %s, %v, %v", one, two, err1, err2)
	}
	one, err1 = workflow.Facts{"failure": workflow.NormalText("after 5ms")}.Fingerprint()
	two, err2 = workflow.Facts{"failure": workflow.NormalText("after 6ms")}.Fingerprint()
	if err1 != nil || err2 != nil || one != two {
		t.Errorf("%s, %s, %v, %v", one, two, err1, err2)
	}
}
