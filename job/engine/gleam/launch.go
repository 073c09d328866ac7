package gleam

import "strings"

// shipped is the name of the file that gleam ships.
const shipped = "neardup"

// launcherText is what gleam ships to the agents in the program's place: the
// program is large, gleam sends it to each agent in pieces of 4 KiB, and the
// run directory is there anyway. The first worker of a flow on an agent copies
// it beside itself (or links it, on one file system); several that do so at
// once do no harm. What goes wrong is noted as a worker's failure is. No garbage
// is collected until Main says so: what the libraries in the program make for
// themselves as it starts stays anyway, and to look at it in vain took a third
// of the start.
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

// launcher is the launcher of the attempt in dir.
func launcher(program string, dir attemptDir) []byte {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	return []byte(strings.NewReplacer("PROGRAM", quoted(program), "FAILURES", quoted(dir.failures())).Replace(launcherText))
}
