package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"piworkflows/clock"
	"piworkflows/internal/diskspace"
	"piworkflows/store/sqlite"
)

// DoctorOptions say what Diagnose looks at.
type DoctorOptions struct {
	Paths
	// Catalog has the definitions of the program.
	Catalog *Catalog
	Clock   clock.Clock
	Logger  *slog.Logger
	// Machine answers for what is beside the project; nil fields ask this machine.
	Machine Machine
}

// Machine is what a project needs of its surroundings.
type Machine struct {
	// Program tells the version that a program says it has; it is an exec.ErrNotFound
	// if there is none.
	Program func(ctx context.Context, name string) (version string, err error)
	// Free tells how many bytes the disk of a folder has left, Watches how many
	// folders one user may watch, and false where nothing bounds them.
	Free    func(dir string) (int64, error)
	Watches func() (int, bool)
}

func (m Machine) withDefaults() Machine {
	if m.Program == nil {
		m.Program = findProgram
	}
	if m.Free == nil {
		m.Free = diskspace.Free
	}
	if m.Watches == nil {
		m.Watches = watchLimit
	}
	return m
}

// doctor collects findings.
type doctor struct {
	DoctorOptions
	list []Finding
	// hostRuns says that a host works in the project.
	hostRuns bool
}

// Diagnose looks at everything that a project needs, and changes nothing. What it
// cannot look at is a finding, too.
func Diagnose(ctx context.Context, o DoctorOptions) []Finding {
	o.Clock, o.Logger = orDefaults(o.Clock, o.Logger)
	o.Machine = o.Machine.withDefaults()
	d := &doctor{DoctorOptions: o}
	d.store(ctx)
	d.definitions()
	d.runsRoot()
	d.left()
	d.disks()
	d.watches()
	d.programs(ctx)
	return d.list
}

// addf adds a finding. What mends it is a command of this program if it begins with $.
func (d *doctor) addf(code FindingCode, s Severity, mend, format string, args ...any) {
	f := Finding{Code: code, Severity: s, Message: fmt.Sprintf(format, args...)}
	if run, ok := strings.CutPrefix(mend, "$ "); ok {
		f.Run = run
	} else {
		f.Do = mend
	}
	d.list = append(d.list, f)
}

// store looks at the store and at all that it tells.
func (d *doctor) store(ctx context.Context) {
	s, err := OpenReader(ctx, d.Paths, d.Clock, d.Logger)
	if errors.Is(err, fs.ErrNotExist) {
		d.addf(FindingStoreMissing, SeverityNote, "$ apply CONTROLLER KEY --spec JSON",
			"there is no store at %s yet: the first command that writes makes it", d.Store)
		return
	}
	if err != nil {
		d.addf(FindingStoreUnusable, SeverityError, "$ restore FILE", "%v", err)
		return
	}
	defer s.Close()
	i, err := s.Inspect(ctx)
	if err != nil {
		d.addf(FindingStoreUnusable, SeverityError, "$ restore FILE", "%v", err)
		return
	}
	d.file(i)
	d.owners(i)
	d.beside(i)
	if i.Problem == "" {
		d.project(ctx, s, i)
	}
}

// project looks at what the store tells of the project. The first question that the
// store does not answer is the last.
func (d *doctor) project(ctx context.Context, s *sqlite.Store, i sqlite.Inspection) {
	for _, look := range []func(context.Context, *sqlite.Store) error{d.flags, d.host, d.effects, d.runs, d.sources} {
		if err := look(ctx, s); err != nil {
			d.addf(FindingStoreUnusable, SeverityError, "$ restore FILE", "%v", err)
			return
		}
	}
	d.notLoaded(i)
}
