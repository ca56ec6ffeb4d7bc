package canonical

// AppendPlain adds the JSON of a text that is its own JSON between quotes:
// printable ASCII without quotes and backslashes. False says that nothing was
// added, because the text needs an encoder. It spares the hot paths one.
func AppendPlain(to []byte, text string) ([]byte, bool) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return to, false
		}
	}
	to = append(append(to, '"'), text...)
	return append(to, '"'), true
}
