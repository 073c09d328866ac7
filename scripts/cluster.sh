#!/usr/bin/env bash
# A gleam master and agents, from the version that go.mod pins.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: scripts/cluster.sh up [--agents N | --hosts FILE] [options]
       scripts/cluster.sh down | status | restart

up       build gleam and start a master and agents; what runs already stays
down     stop them, by process id
status   say what runs, and ask the master for its agents
restart  down, then up as the last time

  --agents N     agents on this machine (default 3)
  --hosts FILE   one agent on each host of FILE, over ssh; a line is
                 [user@]HOST, # starts a comment
  --slots N      executors that an agent runs at once (default: 8 per core of
                 this machine, shared by its agents)
  --memory MB    memory that an agent reports (default: this machine's, shared)
  --address IP   where master and agents listen (default 127.0.0.1; with
                 --hosts the address of this machine that the hosts reach)
  --port PORT    of the master (default 45326); agents take PORT+5, +6, …
                 Every server also listens on its port + 10000.
  --state DIR    pid files, logs, agents' folders (default
                 ${XDG_STATE_HOME:-~/.local/state}/neardup/cluster)
  --i-know       allow an address that is not private

gleam has no passwords and no encryption, and an agent runs what it is sent:
whoever reaches a port runs programs as this user. See job/docs/operations.md.

Exit codes: 0 done; 1 failed, or (status) not all is well; 2 usage.
USAGE
}

die() { echo "cluster.sh: $1" >&2; exit "${2:-1}"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tool=github.com/chrislusf/gleam/distributed/gleam

command=${1:-}
case $command in
  up | down | status | restart) shift ;;
  -h | --help | help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

state=${XDG_STATE_HOME:-$HOME/.local/state}/neardup/cluster
agents=3 hosts='' slots='' memory='' address='' port=45326 know=''
given=("$@")
while (($#)); do
  case $1 in
    --i-know) know=yes; shift; continue ;;
    -h | --help) usage; exit 0 ;;
    --agents | --hosts | --slots | --memory | --address | --port | --state)
      (($# > 1)) || die "$1 needs a value" 2 ;;
    *) die "unknown option $1; see scripts/cluster.sh --help" 2 ;;
  esac
  case $1 in
    --agents) agents=$2 ;;
    --hosts) hosts=$2 ;;
    --slots) slots=$2 ;;
    --memory) memory=$2 ;;
    --address) address=$2 ;;
    --port) port=$2 ;;
    --state) state=$2 ;;
  esac
  shift 2
done
for number in "$agents" "$port" "${slots:-1}" "${memory:-1}"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || die "$number: write a number from 1" 2
done
((port + 5 + agents <= 55535)) || die "port $port: every server takes its port + 10000 too; choose a lower one" 2
gleam=$state/gleam

# private HOST: its address is loopback or of a private network.
private() {
  local ip=$1
  [[ $ip =~ ^[0-9.]+$ || $ip == *:* ]] || ip=$(getent ahosts "$1" | awk 'NR == 1 {print $1}')
  case $ip in
    127.* | ::1 | 10.* | 192.168.*) return 0 ;;
    172.1[6-9].* | 172.2[0-9].* | 172.3[01].*) return 0 ;;
    169.254.* | fd[0-9a-f][0-9a-f]:* | fe80:*) return 0 ;;
    100.6[4-9].* | 100.[7-9][0-9].* | 100.1[01][0-9].* | 100.12[0-7].*) return 0 ;;
  esac
  return 1
}

# alive FILE: the process of the pid file runs, and is the one that was
# started: a pid may have been given to another since.
alive() {
  local pid started
  [[ -s $1 ]] || return 1
  read -r pid started <"$1"
  [[ -n $started && $(started_at "$pid") == "$started" ]]
}

# started_at PID: when the process started, in ticks since the boot.
started_at() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  stat=${stat##*) }
  cut -d' ' -f20 <<<"$stat"
}

# launch NAME PORT ARGS…: start a server in a session of its own and wait until
# it listens. A connection of another program holds a port for up to a minute
# after its end: that long it is tried again.
launch() {
  local name=$1 port=$2 pid last told='' deadline=$((SECONDS + 75))
  shift 2
  until alive "$state/$name.pid"; do
    if answers "$address" "$port" || answers "$address" "$((port + 10000))"; then
      die "$name: something listens at $address, port $port or $((port + 10000)), already: another cluster? Choose another --port"
    fi
    setsid "$gleam" "$@" >>"$state/$name.log" 2>&1 </dev/null &
    pid=$!
    echo "$pid $(started_at "$pid")" >"$state/$name.pid"
    until answers "$address" "$((port + 10000))" || ! alive "$state/$name.pid"; do
      ((SECONDS < deadline)) || die "the $name does not listen; see $state/$name.log"
      sleep 0.1
    done
    alive "$state/$name.pid" && return
    last=$(tail -n 1 "$state/$name.log")
    [[ $last == *'address already in use'* ]] || die "the $name ended: $last; see $state/$name.log"
    ((SECONDS < deadline)) || die "the $name cannot start: $last: choose another --port, or reserve the ports (job/docs/operations.md)"
    [[ -n $told ]] || echo "cluster.sh: $name: a port of it is taken; waiting for it" >&2
    told=yes
    sleep 1
  done
}

# halt FILE: end the server of a pid file and all of its process group, which
# its executors and their workers are in.
halt() {
  local pid _
  if alive "$1"; then
    read -r pid _ <"$1"
    kill -TERM -- "-$pid" 2>/dev/null || true
    for _ in $(seq 20); do
      alive "$1" || break
      sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
  fi
  rm -f "$1"
}

# answers HOST PORT: something listens there.
answers() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# speaks HOST PORT: a gRPC server greets there, which a process that is stopped
# or hangs does not.
speaks() {
  # shellcheck disable=SC2016 # the inner shell expands them
  [[ $(timeout 3 bash -c 'head -c 9 <"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null | wc -c) == 9 ]]
}

build() {
  command -v go >/dev/null || PATH+=:/usr/local/go/bin # where cron does not look
  command -v go >/dev/null || die "go is not in PATH: add its folder"
  mkdir -p "$state"
  chmod 700 "$state"
  (cd "$root" && go build -o "$gleam.new" "$tool")
  if cmp -s "$gleam.new" "$gleam"; then
    rm "$gleam.new"
  else
    mv "$gleam.new" "$gleam"
  fi
}

each_host() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$hosts"; }

up() {
  local i host bare cores
  if [[ -n $hosts ]]; then
    [[ -r $hosts ]] || die "$hosts cannot be read" 2
    [[ -n $address ]] || die "name the address of this machine that the hosts reach: --address IP" 2
    while read -r host; do
      bare=${host#*@}
      private "$bare" || [[ -n $know ]] || die "$bare is not a private address: whoever reaches it runs programs there. Fence the network first (job/docs/operations.md), then say --i-know" 2
    done < <(each_host)
  fi
  address=${address:-127.0.0.1}
  private "$address" || [[ -n $know ]] || die "$address is not a private address: whoever reaches it runs programs here. Fence the network first (job/docs/operations.md), then say --i-know" 2
  build
  printf '%s' "${given[*]@Q}" >"$state/options"
  cores=$(nproc)
  export NO_PROXY="${NO_PROXY:-${no_proxy:-}},$address" # agents ask the master, not a proxy for it

  launch master "$port" master "--address=$address:$port" "--logDirectory=$state"
  if [[ -n $hosts ]]; then
    while read -r host; do
      remote_up "$host"
    done < <(each_host)
  else
    [[ -n $slots ]] || slots=$((cores * 8 / agents > 4 ? cores * 8 / agents : 4))
    [[ -n $memory ]] || memory=$(($(awk '/^MemTotal:/ {print $2}' /proc/meminfo) / 1024 / agents))
    for ((i = 0; i < agents; i++)); do
      mkdir -p "$state/agent-$i"
      launch "agent-$i" "$((port + 5 + i))" agent "--host=$address" "--port=$((port + 5 + i))" "--dir=$state/agent-$i" \
        "--master=$address:$port" "--executor.max=$slots" "--memory=$memory"
    done
  fi
  for _ in $(seq 50); do
    if status >/dev/null 2>&1; then
      break
    fi
    sleep 0.1
  done
  status
}

# The store that the input may be in; agents read it too.
store=(AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_ENDPOINT_URL NEARDUP_S3_ENDPOINT)

# The same on another host, by a small program over ssh. The agent's folder
# there is ~/.local/state/neardup/agent. What the environment says of the store
# goes to the agent by standard input: arguments are for all to see.
remote_up() {
  local host=$1 bare=${1#*@} name
  ssh -n "$host" 'mkdir -p .local/state/neardup/agent/data && chmod 700 .local/state/neardup/agent'
  ssh "$host" 'cmp -s - .local/state/neardup/agent/gleam' <"$gleam" || {
    ssh "$host" 'cd .local/state/neardup/agent && cat >gleam.new && chmod 700 gleam.new && mv gleam.new gleam' <"$gleam"
  }
  {
    for name in "${store[@]}"; do
      [[ -z ${!name:-} ]] || printf 'export %s=%q\n' "$name" "${!name}"
    done
    cat <<'REMOTE'
set -euo pipefail
host=$1 port=$2 master=$3 slots=${4:-$(($(nproc) * 8))}
memory=${5:-$(($(awk '/^MemTotal:/ {print $2}' /proc/meminfo) / 1024))}
export NO_PROXY="${NO_PROXY:-${no_proxy:-}},${master%:*}"
cd .local/state/neardup/agent
if [[ -s pid && $(readlink "/proc/$(<pid)/exe") == "$PWD/gleam"* ]]; then
  exit 0
fi
setsid ./gleam agent "--host=$host" "--port=$port" "--dir=data" "--master=$master" \
  "--executor.max=$slots" "--memory=$memory" >>agent.log 2>&1 </dev/null &
echo $! >pid
REMOTE
  } | ssh "$host" bash -s -- "$bare" "$((port + 5))" "$address:$port" "$slots" "$memory"
}

remote_down() {
  ssh "$1" bash -s <<'REMOTE'
cd .local/state/neardup/agent 2>/dev/null || exit 0
[[ -s pid ]] || exit 0
pid=$(<pid)
if [[ $(readlink "/proc/$pid/exe") == "$PWD/gleam"* ]]; then
  kill -TERM -- "-$pid" 2>/dev/null
  sleep 1
  kill -KILL -- "-$pid" 2>/dev/null
fi
rm -f pid
REMOTE
}

# remember what the cluster was started with, where no option says otherwise.
remember() {
  local -a saved=()
  local i
  [[ -s $state/options ]] || return 0
  eval "saved=($(<"$state/options"))" # written with @Q
  for ((i = 0; i < ${#saved[@]}; i++)); do
    case ${saved[i]} in
      --hosts) hosts=${hosts:-${saved[++i]}} ;;
      --address) address=${address:-${saved[++i]}} ;;
      --port) port=${saved[++i]} ;;
    esac
  done
}

down() {
  local file host
  remember
  if [[ -n $hosts && -r $hosts ]]; then
    while read -r host; do
      remote_down "$host" || echo "cluster.sh: $host: not stopped" >&2
    done < <(each_host)
  fi
  for file in "$state"/agent-*.pid "$state"/master.pid; do
    [[ -e $file ]] && halt "$file"
  done
  # What agents hold of flows, and the master's file of each flow.
  rm -rf "$state"/agent-*/[0-9]* "$state"/agent-*/f*.dat "$state"/f[0-9]*.log
}

status() {
  local file name page host at slots taken told known expected ok=0 any=''
  command -v curl >/dev/null || die "curl is not in PATH: install it"
  remember
  for file in "$state"/master.pid "$state"/agent-*.pid; do
    [[ -e $file ]] || continue
    any=yes
    name=$(basename "$file" .pid)
    if alive "$file"; then
      echo "$name runs (process $(cut -d' ' -f1 "$file"))"
    else
      echo "$name is gone; see $state/$name.log"
      ok=1
    fi
  done
  if [[ -z $any ]]; then
    echo "no cluster runs here"
    return 1
  fi
  if ! page=$(curl -sf --noproxy '*' --max-time 5 "http://${address:-127.0.0.1}:$port/"); then
    echo "the master does not answer at ${address:-127.0.0.1}:$port"
    return 1
  fi
  # A row of the master's page: host, port, last heartbeat, resources, taken.
  while read -r host at slots taken; do
    told=''
    if ! speaks "$host" "$((at + 10000))"; then
      told=', does not answer'
      ok=1
    fi
    echo "agent $host:$at: $slots slots, ${taken:-0} taken$told"
  done < <(tr -d '\n' <<<"$page" | sed 's/<tr>/\n/g' |
    sed -nE 's|.*<td><code>[^<]*</code></td> *<td>[^<]*</td> *<td>([^<]*)</td> *<td>([0-9]+)</td> *<td>[^<]*</td> *<td>cpu_count:([0-9]+)[^<]*</td> *<td>(cpu_count:([0-9]+))?.*|\1 \2 \3 \5|p')
  known=$(grep -c '<td><code>' <<<"$page" || true)
  expected=$(find "$state" -maxdepth 1 -name 'agent-*.pid' | wc -l)
  if [[ -n $hosts && -r $hosts ]]; then
    expected=$(each_host | wc -l)
  fi
  echo "master at ${address:-127.0.0.1}:$port knows $known of $expected agents"
  ((known >= expected && ok == 0))
}

case $command in
  up) up ;;
  down) down ;;
  status) status ;;
  restart)
    again=("${given[@]}")
    if [[ -s $state/options ]]; then
      eval "again=($(<"$state/options") \"\${given[@]}\")"
    fi
    down
    exec "${BASH_SOURCE[0]}" up "${again[@]}"
    ;;
esac
