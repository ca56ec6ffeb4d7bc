package workflow

// Loop is a control loop as authored.
type Loop struct {
	Decide   string
	ReturnTo string
	Routes   []Route
}

// Route is one choice of a control loop.
type Route struct {
	Name     string
	To       string
	Returns  []string
	Terminal bool
}

// ExpandedLoop is a control loop as ordinary edges.
type ExpandedLoop struct {
	choices []string
	edges   []Edge
}

// ControlLoop expands a control loop.
func ControlLoop(l Loop) (*ExpandedLoop, error) { return nil, errStub }

// MustControlLoop is ControlLoop for package-level values.
func MustControlLoop(l Loop) *ExpandedLoop { return nil }

// Choices returns the names of the routes.
func (l *ExpandedLoop) Choices() []string { return l.choices }

// Edges returns the edges of the loop.
func (l *ExpandedLoop) Edges() []Edge { return l.edges }
