//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/data"
)

// Files of a flow's folder on an agent.
const (
	Shipped = "neardup" // what gleam ships: the launcher
	Linked  = "program" // what the launcher links or copies
)

// launcherText is what gleam ships to the agents in the program's place: the
// program is large, gleam sends it to each agent in pieces of 4 KiB, and the
// run directory is there anyway. The first worker of a flow on an agent links
// the program beside itself, or copies it from another file system; several may
// do so at once. What goes wrong is noted as a worker's failure is. Garbage
// collection is off until the program turns it on: what its libraries allocate
// as they start stays in use, and collecting in vain took a third of the start.
const launcherText = `#!/bin/sh
folder=${0%/*}
[ -x "$folder/program" ] || ln PROGRAM "$folder/program" 2>/dev/null
if ! [ -x "$folder/program" ]; then
  new=$folder/program.$$
  if ! said=$({ cp PROGRAM "$new" && chmod 755 "$new" && mv "$new" "$folder/program"; } 2>&1); then
    rm -f "$new"
    said="the agent in ${folder%/*} cannot copy the program from the run directory: ${said##*: }"
    echo "$said" >&2
    printf '{"Stage":"start","Host":"%s","Message":"%s"}' "$(uname -n)" "$(echo "$said" | tr -d '"\\')" >FAILURES/"start-$(uname -n)-$$.json"
    exit 1
  fi
fi
GOGC=off exec "$folder/program" "$@"
`

// launcher is the text of the attempt's launcher.
func (d Dir) launcher(program string) []byte {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	return []byte(strings.NewReplacer("PROGRAM", quoted(program), "FAILURES", quoted(d.Path(failures))).Replace(launcherText))
}

// Program is the copy of the program in the run directory.
func (d Dir) Program(sum uint64) string {
	return filepath.Join(filepath.Dir(string(d)), fmt.Sprintf("program-%016x", sum))
}

// WriteProgram copies the running program into the run directory, once for all
// attempts, and writes this attempt's launcher, which brings it to the agents.
func (d Dir) WriteProgram(sum uint64) error {
	program := d.Program(sum)
	if Gone(program) {
		if err := copyProgram(program); err != nil {
			return err
		}
	}
	// Each time: an earlier process may have been killed between copy and chmod.
	if err := os.Chmod(program, 0o755); err != nil { //nolint:gosec // agents on this file system link it
		return fmt.Errorf("program: %w", err)
	}
	if err := data.WriteFileAtomic(d.Path(Launcher), d.launcher(program)); err != nil {
		return err
	}
	return os.Chmod(d.Path(Launcher), 0o755) //nolint:gosec // agents start it
}

func copyProgram(path string) (err error) {
	from, err := os.Open(Executable)
	if err != nil {
		return fmt.Errorf("program: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := data.CreateAtomic(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(fmt.Errorf("program: %w", err), to.Abort())
	}
	return to.Commit()
}
