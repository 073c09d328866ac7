#!/usr/bin/env bash
# A gleam master and agents, from the version that go.mod pins.
set -euo pipefail
export HOME=${HOME:-~} # where it is unset, go has no cache

usage() {
  cat <<'USAGE'
usage: scripts/cluster.sh up [--agents N | --hosts FILE] [options]
       scripts/cluster.sh down | status | restart

up       build gleam, start a master and agents, and wait until all are there;
         what runs already stays. Without options: as the last time. A host that
         is down is named and left out; up adds it when it is back
down     stop them, by process id
status   say what runs and what is missing
restart  down, then up as the last time

A server that ends, hangs for half a minute or takes too much memory is started
again, after 1 s and then twice as long each time up to 10 s; so is what does
that, if it is killed, and the server runs on. The fifth time in an hour is an
alarm: a line in STATE/alarms.log, and --alarm.

  --agents N     agents on this machine (default 3)
  --hosts FILE   one agent on each host of FILE, over ssh; a line is
                 [user@]HOST, as for ssh, # starts a comment
  --quorum SHARE with --hosts: share of them without which up fails, and stops
                 what it started (default 0.66; 1: all of them)
  --certificate FILE, --key FILE, --ca FILE
                 with --hosts: what the proxies show each other besides the token,
                 and the CA that each other's has to be of, in PEM, at these
                 paths on each host (default: keys that are made of the token)
  --slots N      executors that an agent runs at once (default: 8 per core of
                 this machine, shared by its agents)
  --memory MB    memory that an agent reports (default: this machine's, shared)
  --address IP   where master and agents listen (default 127.0.0.1; with
                 --hosts the IPv4 address of this machine that the hosts reach)
  --port PORT    of the master (default 45326); agents take PORT+5, +6, …
                 Every server also listens on its port + 10000.
  --state DIR    pid files, logs, agents' folders (default
                 ${XDG_STATE_HOME:-~/.local/state}/neardup/cluster)
  --bound MB     memory that a server itself may take, without its executors
                 (default: a quarter of this machine's)
  --alarm CMD    shell command that is given an alarm's line as its argument;
                 @FILE: the command is in that file, where a token belongs, since
                 every user of the host sees the arguments of commands
  --open         no network namespace
  --allow-public       with --open: allow an address that is not private

gleam has no passwords and no encryption, and an agent runs what it is sent:
whoever reaches a port runs programs as this user. So on each host the servers
stand in a network namespace of their own, which only this user enters:
submit.sh and neardup do, for --master HOST:PORT of the default --state, else
--master STATE. With --hosts a TLS proxy on each host, at PORT or PORT+5, lets in, by
TLS, the hosts that have the cluster's token: STATE/token, made here and copied
to them. See job/docs/operations.md.

Exit codes: 0 done; 1 failed, or (status) not all is well; 2 usage.
USAGE
}

die() { echo "cluster.sh: $1" >&2; exit "${2:-1}"; }

# count prints $1 with the name $2 of so many things.
count() { [[ $1 == 1 ]] && echo "$1 $2" || echo "$1 ${2}s"; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tool=github.com/chrislusf/gleam/distributed/gleam
netns=./job/internal/engine/gleam/netns

command=${1:-}
case $command in
  up | down | status | restart) shift ;;
  -h | --help | help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

state=${XDG_STATE_HOME:-$HOME/.local/state}/neardup/cluster
agents=3 hosts='' slots='' memory='' address='' port=45326 know='' open='' alarm='' bound='' quorum=0.66 cert='' key='' ca=''
given=("$@")
while (($#)); do
  case $1 in
    --allow-public) know=yes; shift; continue ;;
    --open) open=yes; shift; continue ;;
    -h | --help) usage; exit 0 ;;
    --agents | --hosts | --slots | --memory | --address | --port | --state | --bound | --alarm | --quorum | --certificate | --key | --ca)
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
    --bound) bound=$2 ;;
    --alarm)
      alarm=$2
      [[ $alarm != @* ]] || alarm=$(cat -- "${alarm#@}") || die "the file of the alarm's command cannot be read" 2
      ;;
    --quorum) quorum=$2 ;;
    --certificate) cert=$2 ;;
    --key) key=$2 ;;
    --ca) ca=$2 ;;
  esac
  shift 2
done
for number in "$agents" "$port" "${slots:-1}" "${memory:-1}" "${bound:-1}"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || die "$number: write a number from 1" 2
done
[[ $quorum =~ ^(0?\.[0-9]*[1-9][0-9]*|1(\.0*)?)$ ]] || die "quorum $quorum: write a share like 0.66; 1: all" 2
((port + 5 + agents <= 55535)) || die "port $port: every server takes its port + 10000 too; choose a lower one" 2
socks=127.0.0.1:1080 # in the namespace
started=() servers=() certificate=() here='' absent=0
declare -A begun=() # by host: what up started there
if [[ -n $cert$key$ca ]]; then
  certificate=("$cert" "$key" "$ca")
  [[ $cert == /* && $key == /* && $ca == /* ]] || die "--certificate, --key and --ca go together, as absolute paths" 2
  [[ -n $hosts && -z $open ]] || die "--certificate is for the proxies of several hosts: with --hosts, and without --open" 2
fi

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
  started_at "$pid"
  [[ -n $started && $REPLY == "$started" ]]
}

# started_at PID: sets REPLY to when the process started, in ticks since the boot; to
# nothing if it ended, also if nobody has asked for its exit code yet. Supervisors ask
# twice a second, so this starts no process, and nor does nap.
started_at() {
  local stat=''
  REPLY=''
  { IFS= read -rd '' stat <"/proc/$1/stat"; } 2>/dev/null || true # no NUL ends it
  read -ra stat <<<"${stat##*) }" # the name may hold anything
  [[ ${stat[0]:-Z} == Z ]] || REPLY=${stat[19]}
}

# nap SECONDS: sleep, by waiting for what nobody writes.
nap() {
  { : <&8; } 2>/dev/null || exec 8<> <(:)
  read -rt "$1" -u 8 _ || (($? > 128)) || sleep "$1" # more than 128: the time was over
}

# greets HOST PORT: a gRPC server speaks first there, which a process that is
# stopped or hangs does not.
greets() {
  # shellcheck disable=SC2016 # the inner shell expands them
  [[ $(timeout 3 bash -c 'head -c 9 <"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null | wc -c) == 9 ]]
}

# ipv4 HOST: its address; HOST may be a name that only ssh's configuration knows.
ipv4() {
  local name
  name=$(ssh -G "$1" 2>/dev/null | awk '$1 == "hostname" {print $2}') || true
  getent ahostsv4 "${name:-$1}" | awk 'NR == 1 {print $1}'
}

# ended NAME WHAT WHY: note that WHAT, the server or its supervisor, ended. The fifth
# end within an hour is an alarm, and each fifth after it. Its command stands in a
# file: arguments are for all to see.
ended() {
  local name=$1 what=$2 why=$3 now ends
  now=$(date +%s)
  ends=$({ [[ ! -e $name.ends ]] || cat "$name.ends"; echo "$now"; } | awk -v since=$((now - 3600)) '$1 > since')
  echo "$ends" >"$name.ends"
  echo "$(date -Is) $what ended: $why" >>"$name.log"
  (($(wc -l <"$name.ends") % 5 == 0)) || return 0
  why="$(date -Is) $(uname -n): $name ended $(wc -l <"$name.ends") times within an hour, at last $what: $why"
  echo "$why" >>alarms.log
  # shellcheck disable=SC2016 # the inner shell expands it
  [[ ! -s alarm ]] || bash -c 'eval "$(<alarm) \"\$1\""' alarm "$why" >>"$name.log" 2>&1 </dev/null || true
}

# supervise NAME FOLDER HOST PORT BOUND CMD…: run a server in a session of its
# own, and run it again when it ends; one that runs already is taken over. One that
# does not greet at PORT for half a minute, or takes more than BOUND MB, is ended;
# PORT 0: it has none. What it leaves is ended and removed: its executors and
# workers, and in FOLDER the files of flows. It stands in the state folder, here and
# on other hosts: NAME.supervisor is the supervisor, NAME.pid what runs, NAME.ends has a
# line for each end in the last hour, NAME.log.1 what was said before NAME.log had
# 16 MiB.
supervise() {
  local name=$1 folder=$2 host=$3 port=$4 bound=$5 pause=1 pid began checked silent status why _
  shift 5
  started_at $$
  echo "$$ $REPLY" >"$name.supervisor"
  while :; do
    why=''
    if alive "$name.pid"; then
      read -r pid _ <"$name.pid"
    else
      setsid "$@" >>"$name.log" 2>&1 </dev/null 8>&- &
      pid=$!
      started_at "$pid"
      echo "$pid $REPLY" >"$name.pid"
    fi
    began=$SECONDS checked=$SECONDS silent=0
    while alive "$name.pid"; do
      nap 0.5
      IFS= read -rd '' status <"/proc/$pid/status"
      if [[ $status =~ VmRSS:[[:space:]]*([0-9]+) ]]; then
        ((BASH_REMATCH[1] / 1024 <= bound)) || why="it took $((BASH_REMATCH[1] / 1024)) MB of $bound"
      fi
      if ((SECONDS - checked >= 10)); then
        checked=$SECONDS
        if ((port == 0)) || greets "$host" "$port"; then silent=0; else ((++silent)); fi
        ((silent < 3)) || why='it did not answer'
        if (($(stat -c %s "$name.log") > 16 << 20)); then # who writes to it appends
          cp "$name.log" "$name.log.1" && : >"$name.log"
        fi
      fi
      [[ -z $why ]] || kill -KILL "$pid"
    done 2>/dev/null # bash would say there that the server was killed
    wait "$pid" 2>/dev/null # 127: it was taken over
    why=${why:-exit code $?: $(tail -n 1 "$name.log" | cut -c1-200)}
    kill -KILL -- "-$pid" 2>/dev/null
    [[ -z $folder ]] || rm -rf "${folder:?}"/[0-9]* "$folder"/f[0-9]*.dat
    ended "$name" "$name" "$why"
    ((SECONDS - began < 600)) || pause=1
    sleep "$pause"
    ((pause = pause < 8 ? pause * 2 : 10))
  done
}

# supervisor is the text of a program that keeps a server, and does not run on when
# this script ends.
supervisor() {
  declare -f alive started_at nap greets ended supervise
  echo 'supervise "$@"'
}

# watch OWN [master]: bring back what keeps the servers of this host when it ends,
# as a server is. It has a supervisor of its own, and brings that back too.
watch() {
  local file name pause=1 last=0
  local -a lost
  while nap 1; do
    lost=()
    for file in "$state"/*.supervisor; do
      alive "$file" || lost+=("$(basename "$file" .supervisor)")
    done
    ((${#lost[@]})) || continue
    ((SECONDS - last < 600)) || pause=1
    sleep "$pause"
    ((pause = pause < 8 ? pause * 2 : 10))
    last=$SECONDS
    for name in "${lost[@]}"; do
      ended "$name" "the supervisor of $name" 'it was killed'
    done
    set +e # a server that does not come now may the next time
    (set -e; serve "$@")
    set -e
  done
}

# namespace_pid: the id of a process in the namespace, if there is a namespace.
namespace_pid() {
  local file pid _
  [[ -e $state/netns.supervisor ]] || return 0
  for file in "$state"/netns.{supervisor,pid} "$state"/{master,agent-*}.{supervisor,pid}; do
    if alive "$file"; then
      read -r pid _ <"$file"
      echo "$pid"
      return
    fi
  done
}

# inside… runs a command where the cluster's servers are: in its namespace, if it has
# one.
inside() {
  local pid
  local -a way=()
  pid=$(namespace_pid)
  if [[ -n $pid ]]; then
    way=(nsenter "--net=/proc/$pid/ns/net")
    ((EUID == 0)) || way+=("--user=/proc/$pid/ns/user" --preserve-credentials)
    way+=(--)
  fi
  "${way[@]}" "$@"
}

# apart… runs a command in a new network namespace.
apart() {
  local -a way=(unshare --net)
  ((EUID == 0)) || way=(unshare --user --map-current-user --keep-caps --net)
  "${way[@]}" "$@"
}

# namespace_up [HOST:PORT]: make the namespace and the ways into and out of it, and of
# a cluster of several hosts, to and from the others, for the server here. The
# namespace is there for as long as a process in it.
namespace_up() {
  local deadline=$((SECONDS + 60))
  if [[ -n $(namespace_pid) ]]; then
    [[ $(<"$state/servers") == "$(printf '%s\n' "${servers[@]}")" ]] || die "$(uname -n): what runs is a cluster of other hosts, or at another address: take it down with the old list first"
  else
    halt_here # the way out of a namespace that is gone
    apart true 2>/dev/null || die "$(uname -n) does not let us make a network namespace, so every user of it could run programs as this one: allow it (user.max_user_namespaces), or say --open"
    printf '%s\n' "${servers[@]}" >"$state/servers"
    rm -f "$state"/{in,out}.sock "$state/proxy.prom"
  fi
  launch outside '' "$state/netns" outside "$state" "$@"
  until [[ -S $state/out.sock ]]; do
    ((SECONDS < deadline)) || die "$(uname -n): nothing leads out of the namespace; see $state/outside.log"
    sleep 0.1
  done
  launch netns '' "$state/netns" inside "$state" "$socks" "$port-$((port + 104)),$((port + 10000))-$((port + 10104))" "$@"
  until [[ -S $state/in.sock ]] && inside bash -c "exec 3<>/dev/tcp/${socks%:*}/${socks#*:}" 2>/dev/null; do
    ((SECONDS < deadline)) || die "$(uname -n): the namespace is not there; see $state/netns.log"
    sleep 0.1
  done
  echo "$address:$port" >"$state/address"
  export HTTP_PROXY=socks5://$socks HTTPS_PROXY=socks5://$socks http_proxy=socks5://$socks https_proxy=socks5://$socks
}

# launch NAME PORT CMD…: have a server kept, and wait until it listens; PORT '':
# it has none. One whose supervisor is gone has a new one, and runs on. A connection of
# another program holds a port for up to a minute after its end: that long it is
# waited for.
launch() {
  local name=$1 port=$2 told='' folder='' deadline=$((SECONDS + 75))
  local -a way=(inside)
  shift 2
  ! alive "$state/$name.supervisor" || return 0
  case $name in
    outside | watch) way=() ;;
    netns) [[ -n $(namespace_pid) ]] || way=(apart) ;;
  esac
  if ! alive "$state/$name.pid"; then
    if [[ -n $port ]] && { answers "$port" || answers "$((port + 10000))"; }; then
      die "$name: something listens at $here, port $port or $((port + 10000)), already: another cluster? Choose another --port"
    fi
    started+=("$name")
  fi
  [[ ! -d $state/$name ]] || folder=$state/$name
  (cd "$state" && "${way[@]}" setsid bash -c "$(supervisor)" supervise "$name" "$folder" "$here" "$((port ? port + 10000 : 0))" "${bound:-$(($(memory_kib) / 4096))}" "$@") >>"$state/$name.log" 2>&1 </dev/null 8>&- 9>&- &
  until alive "$state/$name.supervisor"; do
    kill -0 "$!" 2>/dev/null || die "$(uname -n): nothing keeps the $name; see $state/$name.log"
    sleep 0.1
  done
  [[ -n $port ]] || return 0
  until answers "$((port + 10000))"; do
    ((SECONDS < deadline)) || die "the $name does not listen; see $state/$name.log"
    if [[ -z $told && $(tail -n 2 "$state/$name.log") == *'address already in use'* ]]; then
      echo "cluster.sh: $name: a port of it is taken; waiting for it" >&2
      told=yes
    fi
    sleep 0.1
  done
}

# halt NAME: end what keeps a server, the server, and all of its process group,
# which its executors and their workers are in.
halt() {
  local pid _
  if alive "$state/$1.supervisor"; then
    read -r pid _ <"$state/$1.supervisor"
    kill -KILL "$pid" 2>/dev/null || true
  fi
  if alive "$state/$1.pid"; then
    read -r pid _ <"$state/$1.pid"
    kill -TERM -- "-$pid" 2>/dev/null || true
    for _ in $(seq 20); do
      alive "$state/$1.pid" || break
      sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
  fi
  rm -f "$state/$1.supervisor" "$state/$1.pid"
}

# lock, unlock: between them nobody else starts or stops this cluster's servers
# here.
lock() {
  [[ -z ${locked:-} ]] || return 0
  exec 9>>"$state/lock"
  flock -w 180 9 || die "$(uname -n): another cluster.sh has been at work on $state for minutes"
  locked=yes
}

unlock() {
  exec 9>&-
  locked=''
}

# answers PORT: something listens there.
answers() {
  # shellcheck disable=SC2016 # the inner shell expands them
  inside bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$here" "$1" 2>/dev/null
}

build() {
  command -v go >/dev/null || PATH+=:/usr/local/go/bin # where cron does not look
  command -v go >/dev/null || die "go is not in PATH: add its folder"
  mkdir -p "$state"
  chmod 700 "$state"
  local name source
  [[ ! -e $root/.git || -O $root/.git ]] || export GOFLAGS="${GOFLAGS:-} -buildvcs=false" # git refuses a stranger
  [[ -e $state/gleam && -e $state/netns ]] || echo "cluster.sh: building its programs; the first time takes minutes" >&2
  for name in gleam netns; do
    [[ $name == gleam ]] && source=$tool || source=$netns
    [[ ! -e $state/$name ]] || cp "$state/$name" "$state/$name.new" # go leaves one that is up to date
    (cd "$root" && CGO_ENABLED=0 go build -o "$state/$name.new" "$source")
    if cmp -s "$state/$name.new" "$state/$name"; then
      rm "$state/$name.new"
    else
      mv "$state/$name.new" "$state/$name"
    fi
  done
}

each_host() { [[ -z $hosts ]] || sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$hosts"; }

up() {
  local i host said code=0
  if [[ -n $hosts ]]; then
    [[ -r $hosts ]] || die "$hosts cannot be read" 2
    [[ -n $address ]] || die "name the address of this machine that the hosts reach: --address IP" 2
  fi
  address=${address:-127.0.0.1} here=${address:-127.0.0.1}
  servers=("$address:$port")
  while read -r host; do
    servers+=("$(ipv4 "${host#*@}"):$((port + 5))")
    [[ ${servers[-1]} != :* ]] || die "$host has no IPv4 address" 2
  done < <(each_host)
  for host in "${servers[@]}"; do
    [[ -z $open ]] || private "${host%:*}" || [[ -n $know ]] || die "${host%:*} is not a private address: whoever reaches it runs programs there. Leave out --open, or put a firewall before the network first and say --allow-public" 2
  done
  build
  for ((i = 0; i < ${#given[@]}; i++)); do # a command that has a token goes through no argument again
    [[ ${given[i]} != --alarm ]] || given[i + 1]=@$state/alarm
  done
  printf '%s' "${given[*]@Q}" >"$state/options"
  [[ -s $state/token ]] || (umask 077 && head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n' >"$state/token")
  trap abandon EXIT
  prepare "${hosts:+$address:$port}" master
  serve "${hosts:+$address:$port}" master
  while read -r host; do
    echo "cluster.sh: starting the agent of $host" >&2
    remote_up "$host" || {
      echo "cluster.sh: $host: its agent was not started; up adds it when the host is back" >&2
      ((++absent))
    }
  done < <(each_host)
  i=$((${#servers[@]} - 1))
  awk -v there=$((i - absent)) -v all="$i" -v quorum="$quorum" 'BEGIN { exit !(there >= quorum * all) }' || die "$absent of $i hosts are missing: too many for --quorum $quorum"
  trap - EXIT
  # An agent whose master was away looks for it every 30 s. What was found well is
  # not asked again: new keys count on each host at a moment of its own.
  for ((i = 0; i < 70; i++)); do
    code=0
    said=$(status 2>&1) || code=$?
    ((code)) || break
    ((i != 8)) || echo "cluster.sh: waiting for the agents; one whose master was away looks for it every 30 s" >&2
    sleep 0.5
  done
  echo "$said"
  return "$code"
}

# settings prints what the functions of this script go by, for another shell.
settings() {
  printf '%s=%q\n' port "$port" slots "$slots" memory "$memory" bound "$bound" alarm "$alarm" socks "$socks" open "$open" address "$address"
  declare -p servers certificate
  echo 'set -euo pipefail; started=()'
}

# prepare OWN [master]: write what proxy and watch of this host go by; serve starts
# them. A watch that went by something else is ended.
prepare() {
  if ((${#certificate[@]})); then
    printf '%s\n' "${certificate[@]}" >"$state/certificate"
  else
    rm -f "$state/certificate"
  fi
  [[ -n $open || -z $1 ]] || "$state/netns" check "$state" >/dev/null || die "$(uname -n): its proxy would not open"
  (umask 077 && printf '%s' "$alarm" >"$state/alarm.new" && mv "$state/alarm.new" "$state/alarm")
  {
    declare -f
    settings
    printf '%s=%q\n' state "$state" hosts "$hosts" agents "$agents" here "$here"
    echo "watch ${*@Q}"
  } >"$state/watch.new"
  lock
  cmp -s "$state/watch.new" "$state/watch.sh" || halt watch
  mv "$state/watch.new" "$state/watch.sh"
  unlock
}

# serve OWN [master]: launch the servers of this host, behind a namespace with a proxy
# for the server OWN, if it has one, and what watches over their supervisors.
serve() {
  local i
  lock
  launch watch '' bash "$state/watch.sh" # with the environment's proxy, for alarms
  [[ -n $open ]] || namespace_up ${1:+"$1"}
  export NO_PROXY="${NO_PROXY:-${no_proxy:-}}" # servers ask each other, not a proxy for it
  for i in "${servers[@]}"; do
    NO_PROXY+=,${i%:*}
  done
  [[ ${2:-} != master ]] || launch master "$port" "$state/gleam" master "--address=$address:$port" "--logDirectory=$state"
  [[ ${2:-} == master && -n $hosts ]] || launch_agents
  unlock
}

launch_agents() {
  local i
  [[ -n $slots ]] || slots=$(($(nproc) * 8 / agents > 4 ? $(nproc) * 8 / agents : 4))
  [[ -n $memory ]] || memory=$(($(memory_kib) / 1024 / agents))
  for ((i = 0; i < agents; i++)); do
    mkdir -p "$state/agent-$i"
    launch "agent-$i" "$((port + 5 + i))" "$state/gleam" agent "--host=$here" "--port=$((port + 5 + i))" "--dir=$state/agent-$i" \
      "--master=$address:$port" "--executor.max=$slots" "--memory=$memory"
  done
}

# memory_kib is this machine's.
memory_kib() { awk '/^MemTotal:/ {print $2}' /proc/meminfo; }

# give_up stops what an up started here that did not come to its end.
give_up() {
  local i
  ((${#started[@]})) || return 0
  lock
  halt watch # it would bring them back
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do
    halt "${started[i]}"
  done
  echo "cluster.sh: $(uname -n): stopped what was started: ${started[*]}" >&2
  [[ -e $state/netns.supervisor ]] || rm -f "$state/address"
  ! compgen -G "$state/*.supervisor" >/dev/null || launch watch '' bash "$state/watch.sh"
  unlock
}

# abandon stops what an up started, on all hosts.
abandon() {
  local host
  for host in "${!begun[@]}"; do
    [[ -n ${begun[$host]} ]] || continue
    there "$host" "started=(${begun[$host]}); give_up" || echo "cluster.sh: $host: what was started there is not stopped: ${begun[$host]}" >&2
  done
  give_up
}

# The store that the input may be in; agents read it too.
store=(AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION
  AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 NEARDUP_S3_ENDPOINT AWS_EC2_METADATA_DISABLED)

# remote…: ssh to a host that may be down, or go down.
remote() { ssh -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 "$@"; }

# there HOST COMMAND: run a command of this script on another host. Its state
# folder is ~/.local/state/neardup/agent. What is a secret, the token and the
# environment's store, goes there by standard input: arguments are for all to see.
# shellcheck disable=SC2016 # the other host's shell expands them
there() {
  {
    declare -f
    settings
    printf '%s=%q\n' here "$(ipv4 "${1#*@}")" token "$([[ ! -e $state/token ]] || cat "$state/token")"
    echo 'state=$HOME/.local/state/neardup/agent hosts="" agents=1'
    echo "$2"
  } | remote "$1" bash -s
}

# remote_up HOST: launch the agent of another host, unless the host is down, and
# remember in begun what was not there before.
# shellcheck disable=SC2016,SC2029 # the other host's shell expands them, and $name here
remote_up() {
  local name
  remote -n "$1" 'mkdir -p .local/state/neardup/agent && chmod 700 .local/state/neardup/agent' || return 1
  for name in gleam netns; do
    remote "$1" "cmp -s - .local/state/neardup/agent/$name" <"$state/$name" ||
      remote "$1" "cd .local/state/neardup/agent && cat >$name.new && chmod 700 $name.new && mv $name.new $name" <"$state/$name" || return 1
  done
  begun[$1]=$(there "$1" "$(for name in "${store[@]}"; do
    [[ -z ${!name:-} ]] || printf 'export %s=%q\n' "$name" "${!name}"
  done)"'
    (umask 077 && echo "$token" >"$state/token")
    trap give_up EXIT
    prepare "$here:$((port + 5))"
    serve "$here:$((port + 5))"
    trap - EXIT
    echo "${started[*]}"')
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
      --agents) agents=${saved[++i]} ;;
    esac
  done
}

# shellcheck disable=SC2016 # the other host's shell expands it
down() {
  local host
  remember
  if [[ -n $hosts && -r $hosts ]]; then
    while read -r host; do
      there "$host" '[[ ! -d $state ]] || down_here' || echo "cluster.sh: $host: not stopped" >&2
    done < <(each_host)
  fi
  down_here
}

# halt_here stops the servers of this host.
halt_here() {
  local file
  for file in "$state"/agent-*.supervisor "$state"/{master,netns,outside}.supervisor; do
    [[ ! -e $file ]] || halt "$(basename "$file" .supervisor)"
  done
}

# down_here stops the servers of this host, and removes what they leave.
down_here() {
  lock
  halt watch # it would bring them back
  halt_here
  unlock
  # What agents hold of flows, and how often they ended.
  rm -rf "$state"/agent-*/[0-9]* "$state"/agent-*/f*.dat "$state"/*.ends "$state"/*.sock "$state"/{address,servers,proxy.prom,certificate,watch.sh}
}

# kept NAME: say how a server is, and whether it is well.
kept() {
  local ends=0 well=0
  if alive "$state/$1.pid"; then
    echo -n "$1 runs (process $(cut -d' ' -f1 "$state/$1.pid"))"
  else
    echo -n "$1 is missing; see $state/$1.log"
    well=1
  fi
  if ! alive "$state/$1.supervisor"; then
    echo -n ', and nothing starts it again: scripts/cluster.sh up'
    well=1
  fi
  if [[ -s $state/$1.ends ]]; then
    ends=$(awk -v since=$(($(date +%s) - 3600)) '$1 > since' "$state/$1.ends" | wc -l)
  fi
  ((ends == 0)) || echo -n "; it ended $(count "$ends" time) in the last hour"
  ((ends < 5)) || well=1
  echo
  return "$well"
}

# certified: say how the proxy's certificate here is, if it has one of an operator's,
# and whether it holds for a week more.
certified() {
  local until
  [[ -s $state/certificate ]] || return 0
  if ! until=$("$state/netns" check "$state" 2>&1); then
    echo "the proxy here: $until"
    return 1
  fi
  echo "the proxy's certificate here holds until $until"
  (($(date -d "$until" +%s) - $(date +%s) > 7 * 24 * 3600))
}

status() {
  local file page host at slots taken told known expected ok=0
  command -v curl >/dev/null || die "curl is not in PATH: install it"
  remember
  address=${address:-127.0.0.1}
  if ! compgen -G "$state/*.supervisor" >/dev/null; then
    echo "no cluster runs here"
    return 1
  fi
  for file in "$state"/{watch,netns,outside,master}.supervisor "$state"/agent-*.supervisor; do
    [[ ! -e $file ]] || kept "$(basename "$file" .supervisor)" || ok=1
  done
  [[ ! -e $state/proxy.prom ]] || awk '/^neardup_proxy_refused/ { n += $2 } END { print "the proxy here refused " n " connection" (n == 1 ? "" : "s") }' "$state/proxy.prom"
  certified || [[ $command == up ]] || ok=1 # up says so
  if ! page=$(inside curl -sf --noproxy '*' --max-time 5 "http://$address:$port/"); then
    echo "the master does not answer at $address:$port"
    return 1
  fi
  # A row of the master's page: host, port, last heartbeat, resources, taken.
  while read -r host at slots taken; do
    told=''
    if ! inside bash -c "$(declare -f greets); greets $host $((at + 10000))"; then
      told=', does not answer'
      ok=1
    fi
    echo "agent $host:$at: $(count "$slots" slot), ${taken:-0} taken$told"
  done < <(tr -d '\n' <<<"$page" | sed 's/<tr>/\n/g' |
    sed -nE 's|.*<td><code>[^<]*</code></td> *<td>[^<]*</td> *<td>([^<]*)</td> *<td>([0-9]+)</td> *<td>[^<]*</td> *<td>cpu_count:([0-9]+)[^<]*</td> *<td>(cpu_count:([0-9]+))?.*|\1 \2 \3 \5|p')
  known=$(grep -c '<td><code>' <<<"$page" || true)
  expected=$agents
  if [[ -n $hosts && -r $hosts ]]; then
    expected=$(each_host | wc -l)
    while read -r host; do
      [[ $page == *"<td>$(ipv4 "${host#*@}")</td>"* ]] || echo "the agent of $host is missing: once the host is back, scripts/cluster.sh up"
    done < <(each_host)
  fi
  echo "master at $address:$port knows $known of $(count "$expected" agent)"
  ((known >= expected - absent && ok == 0)) # up says which it went on without
}

# Without options, up is as the last time.
if [[ $command == up && -s $state/options ]] && { ((${#given[@]} == 0)) || [[ ${#given[@]} == 2 && ${given[0]} == --state ]]; }; then
  eval "again=($(<"$state/options"))" # written with @Q
  if ((${#again[@]} > ${#given[@]})); then
    exec "${BASH_SOURCE[0]}" up "${again[@]}"
  fi
fi

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
