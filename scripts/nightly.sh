#!/usr/bin/env bash
# What cron or a systemd timer calls: run the nights that wait, keep the last runs.
set -euo pipefail
export HOME=${HOME:-~} # where it is unset, go has no cache
LC_ALL=C # names in the order of their bytes

usage() {
  cat <<'USAGE'
usage: scripts/nightly.sh --dumps DIR --runs DIR [options] [-- NEARDUP OPTIONS]

Takes the folders of --dumps that come after the last night done, in the order
of their names (so name them by date), and runs neardup on each into a folder of
the same name under --runs. It waits for a night that is still being copied; an
unfinished run is gone on with. A night that cannot be taken, fails or is far
smaller than those before ends it, and later ones wait: to leave a night out,
give its folder a name that begins with a dot. Two calls never run at once.

  --dumps DIR         folders, one for each night, like crawl/2026-11-20
  --runs DIR          run directories
  --from NAME         leave out the nights before this one
  --ready NAME        a night is complete when it holds a file of this name, like
                      _SUCCESS or .done, which the copying writes last
  --manifest NAME     a night is complete when all its files agree with this list
                      in it, as sha256sum writes them
  --still MINUTES     without these two: when nothing in it has changed for so
                      long (default 10)
  --wait MINUTES      how long to wait for that (default 600)
  --least PERCENT     refuse a night of less than so much of the median of the
                      last seven nights, in bytes or in files (default 50; 0: none)
  --force-small NAME  take this night, however small
  --master HOST:PORT  run on this gleam cluster; without it, on this machine
  --config FILE       settings
  --keep N            finished runs that stay, with their logs (default 7)
  --logs N            logs that stay of a night that was tried again (default 5)
  --binary FILE       neardup, instead of building it

RUNS/nights.tsv has a line for each night done: name, bytes, files. The log of a
night is RUNS/NAME.log, of earlier tries RUNS/NAME.log.1 and so on. Exit codes:
neardup's; 0 when there is nothing to do; 65 when a night is too small; 75 when
another call still runs, or a night was not complete in time.

crontab, at 3:10 each night:

  10 3 * * *  /opt/neardup/scripts/nightly.sh --dumps /srv/crawl --runs /srv/runs --master 10.0.0.5:45326

systemd, as /etc/systemd/system/neardup.service and neardup.timer:

  [Unit]
  Description=neardup on the crawl dumps that wait
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

# count prints $1 with the name $2 of so many things.
count() { [[ $1 == 1 ]] && echo "$1 $2" || echo "$1 ${2}s"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dumps='' runs='' from='' ready='' manifest='' still=10 wait=600 least=50 small=''
master='' keep=7 logs=5 binary=''
options=()
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --) shift; options+=("$@"); break ;;
    --dumps | --runs | --from | --ready | --manifest | --still | --wait | --least | --force-small | --master | --config | --keep | --logs | --binary)
      (($# > 1)) || die "$1 needs a value" 2
      case $1 in
        --config) options+=(--config "$2") ;;
        --force-small) small=$2 ;;
        *) declare "${1#--}=$2" ;;
      esac
      shift 2
      ;;
    *) die "unknown option $1; see scripts/nightly.sh --help" 2 ;;
  esac
done
[[ -n $dumps && -n $runs ]] || die "name --dumps and --runs; see scripts/nightly.sh --help" 2
[[ -d $dumps ]] || die "$dumps is no folder" 2
for name in keep logs; do
  [[ ${!name} =~ ^[1-9][0-9]*$ ]] || die "--$name ${!name}: write a number from 1" 2
done
for name in still wait least; do
  [[ ${!name} =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "--$name ${!name}: write a number from 0" 2
done
mkdir -p "$runs" || die "$runs cannot be made: make it, and give it to $(id -un)"
[[ -w $runs ]] || die "$runs cannot be written: give it to $(id -un)"
record=$runs/nights.tsv

# Who may only read the runs can neither open the lock nor hold it.
[[ -e $runs/.nightly.lock ]] || (umask 077 && : >>"$runs/.nightly.lock")
mode=600
[[ $(stat -c %A "$runs") != ?????w* ]] || mode=660
[[ ! -O $runs/.nightly.lock ]] || chmod "$mode" "$runs/.nightly.lock"
exec 9<>"$runs/.nightly.lock"
flock -n 9 || die "another night still runs: $(head -c 200 "$runs/.nightly.lock")" 75
echo "process $$ of $(id -un) on $(uname -n), since $(date -Is)" >"$runs/.nightly.lock"

child='' stopped=''
trap 'stopped=yes; [[ -z $child ]] || kill -TERM "$child" 2>/dev/null || true' TERM INT HUP

# apart returns what a command does, which a signal ends, and then this script:
# of one that runs in its foreground bash waits for the end before it listens.
# The lock is not handed on.
apart() {
  local code=0
  "$@" 9>&- &
  child=$!
  [[ -z $stopped ]] || kill -TERM "$child" || true
  wait "$child" || code=$?
  child=''
  [[ -z $stopped ]] || exit 130
  return "$code"
}

# agrees says whether the files in the folder $1 are as its list says.
agrees() { cd "$1" && exec sha256sum --check --status "$manifest" 2>/dev/null; }

# complete says whether the night in the folder $1 is all there. Without a mark
# the time of the last change of each file and folder says so: copying cannot
# set it, as it can the time of writing.
complete() {
  if [[ -n $ready ]]; then
    [[ -e $1/$ready ]]
  elif [[ -n $manifest ]]; then
    [[ -s $1/$manifest ]] && apart agrees "$1"
  else
    [[ -n $(find -L "$1" -type f -print -quit) && -z $(find -L "$1" -cmin "-$still" -print -quit) ]]
  fi
}

# size prints the bytes and files of a night that neardup would read.
size() {
  find -L "$1" -mindepth 1 -name '[._]*' -prune -o -type f -printf '%s\n' |
    awk '{ bytes += $1 } END { printf "%d\t%d\n", bytes, NR }'
}

# median prints that of column $1 of the record's last seven nights.
median() { tail -n 7 "$record" | cut -f "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] + 0 }'; }

# large says whether the night $1, of $2 bytes and $3 files, is large enough.
large() {
  local bytes files
  bytes=$(median 2) files=$(median 3)
  awk "BEGIN { exit !($2 >= $bytes * $least / 100 && $3 >= $files * $least / 100) }" && return
  echo "nightly.sh: $1 has $(count "$2" byte) in $(count "$3" file), the nights before it had $(count "$bytes" byte) in $(count "$files" file): complete it, or take it with --force-small $1" >&2
  [[ $1 == "$small" ]]
}

# rotate makes room for the log $1.
rotate() {
  local i
  for ((i = logs - 1; i > 1; i--)); do
    [[ ! -e $1.$((i - 1)) ]] || mv -- "$1.$((i - 1))" "$1.$i"
  done
  [[ ! -s $1 ]] || ((logs == 1)) || mv -- "$1" "$1.1"
}

run=("$root/scripts/submit.sh" --master "$master")
if [[ -z $master ]]; then
  if [[ -z $binary ]]; then
    command -v go >/dev/null || PATH+=:/usr/local/go/bin # where cron does not look
    command -v go >/dev/null || die "go is not in PATH: add its folder, or name the program with --binary"
    bin=$root/bin # of who owns the program; others, as a service's user, build into a folder of theirs
    [[ -w $bin || ! -e $bin && -w $root ]] || bin=${XDG_CACHE_HOME:-$HOME/.cache}/neardup/bin
    mkdir -p "$bin" || die "neither $root/bin nor $bin can be written: name the program with --binary"
    binary=$bin/neardup
    [[ -e $binary ]] || echo "nightly.sh: building neardup; the first time takes minutes"
    [[ ! -e $root/.git || -O $root/.git ]] || export GOFLAGS="${GOFLAGS:-} -buildvcs=false" # git refuses a stranger
    (cd "$root" && go build -o "$binary" ./job/neardup)
  fi
  run=("$binary" run)
elif [[ -n $binary ]]; then
  run+=(--binary "$binary")
fi

# night runs neardup on the night $1, and returns its exit code. The lock is not
# handed on: what a run leaves behind must not hold it.
night() {
  local log=$runs/$1.log code=0
  rotate "$log"
  echo "nightly.sh: $1, log $log"
  "${run[@]}" --out "$runs/$1" "${options[@]}" "$dumps/$1" >"$log" 2>&1 9>&- &
  child=$!
  [[ -z $stopped ]] || kill -TERM "$child"
  while kill -0 "$child" 2>/dev/null; do
    wait "$child" || true # a signal ends it
  done
  wait "$child" || code=$?
  child=''
  ((code == 0)) && return
  echo "nightly.sh: $1 ended with $code:" >&2
  tail -n 20 "$log" >&2
  return "$code"
}

# note writes the night $1, of $2 bytes and $3 files, into the record.
note() { printf '%s\t%s\t%s\n' "$@" >>"$record"; }

# await returns when the night $1 is complete.
pause=$(awk "BEGIN { p = $still * 6; print (p < 0.1 ? 0.1 : p > 60 ? 60 : p) }")
deadline=$(awk "BEGIN { print int($SECONDS + $wait * 60) }")
await() {
  until complete "$dumps/$1"; do
    ((SECONDS < deadline)) || die "$1 is not complete after $(count "$wait" minute)" 75
    apart sleep "$pause"
  done
}

# The last night done, which a call that was killed may not have recorded.
touch "$record"
last=$({ cut -f 1 "$record"; find "$runs" -mindepth 2 -maxdepth 2 -name _SUCCESS -printf '%P\n' | cut -d / -f 1; } | sort | tail -n 1)
if [[ -d $dumps/$last && -n $last ]] && ! cut -f 1 "$record" | grep -qxF -- "$last"; then
  IFS=$'\t' read -r bytes files < <(size "$dumps/$last")
  note "$last" "$bytes" "$files"
fi

# next prints the first night that waits.
next() {
  local name
  while read -r name; do
    [[ ! $name > $last || $name < $from ]] || { echo "$name"; break; }
  done < <(find "$dumps" -mindepth 1 -maxdepth 1 -type d -not -name '.*' -printf '%f\n' | sort)
}

while name=$(next) && [[ -n $name ]]; do
  await "$name"
  IFS=$'\t' read -r bytes files < <(size "$dumps/$name")
  [[ ! -s $record || -e $runs/$name/manifest.json ]] || large "$name" "$bytes" "$files" || exit 65
  night "$name" || exit
  note "$name" "$bytes" "$files"
  last=$name

  # The last runs stay; an unfinished one is never removed.
  find "$runs" -mindepth 2 -maxdepth 2 -name _SUCCESS -printf '%h\n' | sort | head -n "-$keep" |
    while read -r old; do
      rm -rf -- "$old" "$old.log" "$old.log".*
      echo "nightly.sh: removed $old"
    done
done
echo "nightly.sh: nothing more to do${last:+ after $last}"
