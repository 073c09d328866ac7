#!/usr/bin/env bash
# Run neardup on a gleam cluster and return its exit code.
set -euo pipefail
export HOME=${HOME:-~} # where it is unset, go has no cache

usage() {
  cat <<'USAGE'
usage: scripts/submit.sh --master HOST:PORT --out DIR [options] INPUT…

Builds neardup (or takes --binary), checks that the cluster answers, runs the
job there and follows it. Everything else is handed to `neardup run`: see
neardup run --help. The same command again goes on with what is left.

  --master HOST:PORT  the gleam master (default: the settings'), or the --state
                      of cluster.sh as an absolute path, if not the default
  --out DIR           run directory, on storage that all hosts mount at the
                      same path
  --config FILE       settings, like night.yaml
  --set NAME=VALUE    a setting
  --binary FILE       neardup, instead of building it

Exit codes: neardup's. 0 done; 1 failed; 2 usage; 3 done, but records were
skipped and --strict was given; 4 incomplete or rows not conserved; 10 run
directory of another configuration; 130 interrupted.
USAGE
}

die() { echo "submit.sh: $1" >&2; exit "${2:-1}"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
master='' binary='' out=''
rest=() settings=()
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --master=* | --binary=* | --out=* | --config=* | --set=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ; continue ;;
    --master | --binary | --out | -o | --config | --set)
      (($# > 1)) || die "$1 needs a value" 2
      case $1 in
        --master) master=$2 ;;
        --binary) binary=$2 ;;
        --config | --set) settings+=("$1" "$2") ;;
        *) out=$2 ;;
      esac
      shift 2
      ;;
    *) rest+=("$1"); shift ;;
  esac
done
[[ -n $out ]] || die "name the run directory: --out DIR; see scripts/submit.sh --help" 2
((${#rest[@]})) || die "name an input; see scripts/submit.sh --help" 2
if [[ -z $binary ]]; then
  command -v go >/dev/null || PATH+=:/usr/local/go/bin # where cron does not look
  command -v go >/dev/null || die "go is not in PATH: add its folder, or name the program with --binary"
  bin=$root/bin # of who owns the program; others, as a service's user, build into a folder of theirs
  [[ -w $bin || ! -e $bin && -w $root ]] || bin=${XDG_CACHE_HOME:-$HOME/.cache}/neardup/bin
  mkdir -p "$bin" || die "neither $root/bin nor $bin can be written: name the program with --binary"
  binary=$bin/neardup
  [[ -e $binary ]] || echo "submit.sh: building neardup; the first time takes minutes" >&2
  [[ ! -e $root/.git || -O $root/.git ]] || export GOFLAGS="${GOFLAGS:-} -buildvcs=false" # git refuses a stranger
  (cd "$root" && go build -o "$binary" ./job/neardup)
fi
# A path, without links: the engine ships this very file to the agents.
file=$(readlink -f -- "$binary") || die "$binary is not there" 2
[[ -f $file && -x $file ]] || die "$file is no program" 2

[[ -n $master ]] || master=$("$file" config execution.master "${settings[@]}") || exit
[[ $master =~ ^([^:]+:[0-9]+|/.+)$ ]] || die "master $master: write HOST:PORT, or the cluster's state folder" 2
"$file" "-gleam.agents=$master" || exit 1 # it says why

# exec: a signal for this script reaches neardup, and its exit code is ours.
exec "$file" run --engine gleam --master "$master" --out "$out" "${settings[@]}" "${rest[@]}"
