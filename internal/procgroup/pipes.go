package procgroup

import "os"

// pipes are the three pipes of a command. After the first error the rest does
// nothing.
type pipes struct {
	ours, theirs []*os.File
	err          error
}

func (p *pipes) toChild() (theirs, ours *os.File) {
	theirs, ours = p.pipe()
	p.keep(ours, theirs)
	return theirs, ours
}

func (p *pipes) fromChild() (theirs, ours *os.File) {
	ours, theirs = p.pipe()
	p.keep(ours, theirs)
	return theirs, ours
}

func (p *pipes) pipe() (read, write *os.File) {
	if p.err == nil {
		read, write, p.err = os.Pipe()
	}
	return read, write
}

func (p *pipes) keep(ours, theirs *os.File) {
	if p.err == nil {
		p.ours, p.theirs = append(p.ours, ours), append(p.theirs, theirs)
	}
}

func (p *pipes) closeOurs()   { closeAll(p.ours) }
func (p *pipes) closeTheirs() { closeAll(p.theirs) }

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
