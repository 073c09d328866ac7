#!/usr/bin/env bash
# What cron or a systemd timer calls: run the newest dump, keep the last runs.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/nightly.sh --dumps DIR --runs DIR [options] [-- NEARDUP OPTIONS]

Takes the newest folder of --dumps (by name, so name them by date), runs
neardup on it into a folder of the same name under --runs, and removes all but
the last --keep finished runs. A dump whose run is finished is not run again;
an unfinished run is gone on with. Two nights never run at once.

  --dumps DIR         folders, one for each night, like crawl/2026-11-20
  --runs DIR          run directories
  --master HOST:PORT  run on this gleam cluster; without it, on this machine
  --config FILE       settings
  --keep N            finished runs that stay (default 7)
  --binary FILE       neardup, instead of building it

The log of a night is RUNS/NAME.log. Exit codes: neardup's; 0 when there is
nothing to do; 75 when another night still runs.

crontab, at 3:10 each night:

  10 3 * * *  /opt/neardup/scripts/nightly.sh --dumps /srv/crawl --runs /srv/runs --master 10.0.0.5:45326

systemd, as /etc/systemd/system/neardup.service and neardup.timer:

  [Unit]
  Description=neardup on the newest crawl dump
  [Service]
  Type=oneshot
  User=neardup
  ExecStart=/opt/neardup/scripts/nightly.sh --dumps /srv/crawl --runs /srv/runs --master 10.0.0.5:45326
  KillMode=mixed
  TimeoutStopSec=60

  [Unit]
  Description=neardup each night
  [Timer]
  OnCalendar=*-*-* 03:10
  Persistent=true
  [Install]
  WantedBy=timers.target
USAGE
}

die() { echo "nightly.sh: $1" >&2; exit "${2:-1}"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dumps='' runs='' master='' keep=7 binary=''
options=()
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --) shift; options+=("$@"); break ;;
    --dumps | --runs | --master | --config | --keep | --binary)
      (($# > 1)) || die "$1 needs a value" 2
      case $1 in
        --dumps) dumps=$2 ;;
        --runs) runs=$2 ;;
        --master) master=$2 ;;
        --config) options+=(--config "$2") ;;
        --keep) keep=$2 ;;
        --binary) binary=$2 ;;
      esac
      shift 2
      ;;
    *) die "unknown option $1; see scripts/nightly.sh --help" 2 ;;
  esac
done
[[ -n $dumps && -n $runs ]] || die "name --dumps and --runs; see scripts/nightly.sh --help" 2
[[ -d $dumps ]] || die "$dumps is no folder" 2
[[ $keep =~ ^[1-9][0-9]*$ ]] || die "--keep $keep: write a number from 1" 2
mkdir -p "$runs"

exec 9>"$runs/.nightly.lock"
flock -n 9 || die "another night still runs" 75

newest=$(find "$dumps" -mindepth 1 -maxdepth 1 -type d -not -name '.*' -printf '%f\n' | sort | tail -n 1)
if [[ -z $newest ]]; then
  echo "nightly.sh: $dumps holds no dump"
  exit 0
fi
if [[ -e $runs/$newest/_SUCCESS ]]; then
  echo "nightly.sh: $newest is finished"
  exit 0
fi

log=$runs/$newest.log
echo "nightly.sh: $newest, log $log"
run=("$root/scripts/submit.sh" --master "$master")
if [[ -z $master ]]; then
  if [[ -z $binary ]]; then
    command -v go >/dev/null || PATH+=:/usr/local/go/bin # where cron does not look
    command -v go >/dev/null || die "go is not in PATH: add its folder, or name the program with --binary"
    mkdir -p "$root/bin"
    binary=$root/bin/neardup
    (cd "$root" && go build -o "$binary" ./job/neardup)
  fi
  run=("$binary" run)
elif [[ -n $binary ]]; then
  run+=(--binary "$binary")
fi
child='' stopped=''
trap 'stopped=yes; [[ -z $child ]] || kill -TERM "$child" 2>/dev/null || true' TERM INT
# The lock is not handed on: what a run leaves behind must not hold it.
"${run[@]}" --out "$runs/$newest" "${options[@]}" "$dumps/$newest" >>"$log" 2>&1 9>&- &
child=$!
[[ -z $stopped ]] || kill -TERM "$child"
while kill -0 "$child" 2>/dev/null; do
  wait "$child" || true # a signal ends it
done
code=0
wait "$child" || code=$?
if ((code != 0)); then
  echo "nightly.sh: $newest ended with $code:" >&2
  tail -n 20 "$log" >&2
  exit "$code"
fi

# The last runs stay; an unfinished one is never removed.
find "$runs" -mindepth 2 -maxdepth 2 -name _SUCCESS -printf '%h\n' | sort | head -n "-$keep" |
  while read -r old; do
    rm -rf -- "$old" "$old.log"
    echo "nightly.sh: removed $old"
  done
