package cli

import (
	"cmp"
	"os"
	"os/user"
)

// actor is who changes things: the user and host of the process.
func (a *App) actor() string {
	if a.o.Actor != "" {
		return a.o.Actor
	}
	name := a.o.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Username, name)
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = ""
	}
	return cmp.Or(name, "somebody") + "@" + cmp.Or(machine, "localhost")
}
