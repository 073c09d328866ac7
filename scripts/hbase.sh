#!/usr/bin/env bash
# A standalone HBase with its REST gateway on loopback, for tests and
# measurements: one process is master, region server and ZooKeeper, one the
# gateway. Data stands in the state folder and survives down.
set -euo pipefail
export HOME=${HOME:-~}

usage() {
  cat <<'USAGE'
usage: scripts/hbase.sh up [options]
       scripts/hbase.sh table NAME [--regions N] [options]
       scripts/hbase.sh down | status [options]

up      fetch HBase from Maven's repository (100 MB, once) and start it with
        its REST gateway on 127.0.0.1; prints the gateway's URL
table   make a table for a look-up index, divided into regions from the start,
        unless there is one of that name; HBase must be up
down    stop both, by process id
status  say what runs

  --port PORT    of the gateway (default 18080); the servers behind it take
                 the next three
  --gateway      up and down: the gateway alone
  --regions N    of the table (default 16)
  --memory MB    of the server's heap (default 1024)
  --state DIR    data, pid files, logs (default
                 ${XDG_STATE_HOME:-~/.local/state}/neardup/hbase)
  --cache DIR    the jars (default ${XDG_CACHE_HOME:-~/.cache}/neardup/hbase)

It has no passwords: whoever is on this machine reads and writes it.

Exit codes: 0 done; 1 failed, or (status) not all is well; 2 usage;
3 Java or Maven is missing.
USAGE
}

die() { echo "hbase.sh: $1" >&2; exit "${2:-1}"; }

export LC_ALL=C # the order of the jars
version=2.6.1
digest=f5f69f5d4e8694678723e5d6581f511a1e39e48617766a63672772897d3fb043 # of the list of the jars' digests

command=${1:-}
case $command in
  up | down | status) shift ;;
  table)
    [[ ${2:-} =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]] || die 'name the table: letters, digits, "_", "-", "."' 2
    table=$2
    shift 2
    ;;
  -h | --help | help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

state=${XDG_STATE_HOME:-$HOME/.local/state}/neardup/hbase
cache=${XDG_CACHE_HOME:-$HOME/.cache}/neardup/hbase
port=18080 regions=16 memory=1024 gateway=''
while (($#)); do
  case $1 in
    --gateway) gateway=yes; shift; continue ;;
    -h | --help) usage; exit 0 ;;
    --port | --regions | --memory | --state | --cache)
      (($# > 1)) || die "$1 needs a value" 2 ;;
    *) die "unknown option $1; see scripts/hbase.sh --help" 2 ;;
  esac
  case $1 in
    --port) port=$2 ;;
    --regions) regions=$2 ;;
    --memory) memory=$2 ;;
    --state) state=$2 ;;
    --cache) cache=$2 ;;
  esac
  shift 2
done
for number in "$port" "$regions" "$memory"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || die "$number: write a number from 1" 2
done
((port + 3 <= 65535 && regions <= 4096)) || die "port $port or $regions regions: too many" 2
lib=$cache/$version

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
# nothing if it ended, also if nobody has asked for its exit code yet.
started_at() {
  local stat=''
  REPLY=''
  { IFS= read -rd '' stat <"/proc/$1/stat"; } 2>/dev/null || true # no NUL ends it
  read -ra stat <<<"${stat##*) }" # the name may hold anything
  [[ ${stat[0]:-Z} == Z ]] || REPLY=${stat[19]}
}

# answers PORT: something listens there.
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# fetch puts the jars into the cache, as one folder that is there once it is
# whole. What the exclusions name does not resolve or belongs to tests; an old
# servlet API beside the new one ends the start with NoSuchMethodError.
fetch() {
  local new
  [[ -d $lib ]] && return
  command -v mvn >/dev/null || die 'mvn is not in PATH: apt-get install maven' 3
  mkdir -p "$cache"
  new=$(mktemp -d "$cache/new.XXXXXX")
  cat >"$new/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>neardup</groupId><artifactId>hbase</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.hbase</groupId><artifactId>hbase-rest</artifactId><version>$version</version>
    <exclusions>
      <exclusion><groupId>org.apache.directory.jdbm</groupId><artifactId>*</artifactId></exclusion>
      <exclusion><groupId>org.apache.directory.server</groupId><artifactId>*</artifactId></exclusion>
      <exclusion><groupId>org.apache.hadoop</groupId><artifactId>hadoop-minikdc</artifactId></exclusion>
    </exclusions>
  </dependency></dependencies>
</project>
POM
  echo "hbase.sh: fetching HBase $version" >&2
  mvn -B -q -f "$new/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
    -DincludeScope=runtime "-DoutputDirectory=$new/lib" >&2 || die "the jars cannot be fetched; $new can be removed"
  rm -f "$new"/lib/{servlet-api-2.5,jsp-api*,jetty-6*,jetty-util-6*,jetty-sslengine*}.jar
  [[ $(cd "$new/lib" && sha256sum -- *.jar | sha256sum | cut -d' ' -f1) == "$digest" ]] ||
    die "the jars in $new/lib are not those that were tried: look what changed"
  mv -T "$new/lib" "$lib" 2>/dev/null || [[ -d $lib ]] || die "$lib cannot be made"
  rm -rf "$new"
}

# property NAME VALUE: of hbase-site.xml.
property() { echo "<property><name>$1</name><value>$2</value></property>"; }

configure() {
  mkdir -p "$state/conf" "$state/logs"
  chmod 700 "$state"
  {
    echo '<configuration>'
    property hbase.rootdir "file://$state/data"
    property hbase.tmp.dir "$state/tmp"
    property hbase.zookeeper.property.dataDir "$state/zookeeper"
    property hbase.zookeeper.property.clientPort "$((port + 1))"
    property hbase.zookeeper.quorum 127.0.0.1
    property hbase.zookeeper.property.tickTime 15000 # a busy machine is no dead one
    property zookeeper.session.timeout 300000
    property hbase.unsafe.stream.capability.enforce false
    property hbase.wal.provider filesystem
    property hbase.cluster.distributed false
    property hbase.master.hostname localhost
    property hbase.regionserver.hostname localhost
    property hbase.master.port "$((port + 2))"
    property hbase.regionserver.port "$((port + 3))"
    property hbase.master.wait.on.regionservers.maxtostart 1
    property hbase.master.info.port -1
    property hbase.regionserver.info.port -1
    property hbase.rest.host 127.0.0.1
    echo '</configuration>'
  } >"$state/conf/hbase-site.xml"
  cat >"$state/conf/log4j.properties" <<'LOG'
log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n
LOG
  cat >"$state/conf/log4j2.properties" <<'LOG'
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1}: %m%n
LOG
}

# The modules of Java that HBase reaches into.
java=(java --add-exports java.base/jdk.internal.misc=ALL-UNNAMED)
for package in java.lang java.nio sun.nio.ch java.lang.reflect java.util java.util.concurrent; do
  java+=(--add-opens "java.base/$package=ALL-UNNAMED")
done

# runs NAME PORT: the server is there and answers, now and two seconds later: one
# that was killed a moment ago is there too, and its port answers until it ends.
runs() {
  local deadline=$((SECONDS + 60))
  while alive "$state/$1.pid"; do
    if answers "$2"; then
      sleep 2
      ! alive "$state/$1.pid" || ! answers "$2" || return 0
    fi
    ((SECONDS < deadline)) || die "the $1 runs and does not answer at port $2; scripts/hbase.sh down ends it, see $state/logs/$1.log"
    sleep 0.1
  done
  return 1
}

# launch NAME MB READY MAIN ARGS…: start a server in a session of its own and
# wait until READY is in its log.
launch() {
  local name=$1 heap=$2 ready=$3 log=$state/logs/$1.log deadline=$((SECONDS + 600)) # it may have a log to read
  shift 3
  alive "$state/$name.pid" && return
  echo "hbase.sh: starting the $name" >&2
  : >"$log" # now, not when the new process comes to it: READY of the last start is no READY
  setsid "${java[@]}" "-Xmx${heap}m" -cp "$state/conf:$lib/*" "$@" >"$log" 2>&1 </dev/null &
  started_at $!
  echo "$! $REPLY" >"$state/$name.pid"
  until grep -q -- "$ready" "$log"; do
    alive "$state/$name.pid" || die "the $name ended: $(tail -n 1 "$log"); see $log"
    ((SECONDS < deadline)) || die "the $name does not start; see $log"
    sleep 0.1
  done
}

# halt NAME SECONDS: end a server, and wait so long for it to write what it
# holds.
halt() {
  local pid _
  if alive "$state/$1.pid"; then
    read -r pid _ <"$state/$1.pid"
    kill -TERM "$pid" 2>/dev/null || true
    for _ in $(seq "$(($2 * 10))"); do
      alive "$state/$1.pid" || break
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
    for _ in $(seq 100); do # its ports are taken until it has gone
      alive "$state/$1.pid" || break
      sleep 0.1
    done
  fi
  rm -f "$state/$1.pid"
}

need_java() { command -v java >/dev/null || die 'java is not in PATH: apt-get install openjdk-17-jre-headless' 3; }

up() {
  local at
  need_java
  fetch
  configure
  # First: what is ending now is not taken for what runs.
  [[ -n $gateway ]] || runs server $((port + 2)) || true
  runs gateway "$port" || true
  for at in $([[ -n $gateway ]] || alive "$state/server.pid" || echo $((port + 1)) $((port + 2)) $((port + 3))) \
    $(alive "$state/gateway.pid" || echo "$port"); do
    ! answers "$at" || die "something listens at port $at already: choose another --port"
  done
  if [[ -z $gateway ]]; then
    launch server "$memory" 'Master has completed initialization' org.apache.hadoop.hbase.master.HMaster start
  fi
  launch gateway 512 'Started ServerConnector' org.apache.hadoop.hbase.rest.RESTServer start -p "$port" --infoport -1
  echo "http://127.0.0.1:$port"
}

down() {
  halt gateway 2 # it holds nothing, but waits for idle connections
  [[ -n $gateway ]] || halt server 120 # a busy machine writes slowly
}

status() {
  local name ok=0
  for name in server gateway; do
    if alive "$state/$name.pid"; then
      echo "the $name runs (process $(cut -d' ' -f1 "$state/$name.pid"))"
    else
      echo "no $name runs; see $state/logs/$name.log if one should"
      ok=1
    fi
  done
  return $ok
}

# has_table: the gateway knows a table of that name.
has_table() {
  local code=''
  answers "$port" || die "no gateway answers at port $port: scripts/hbase.sh up"
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET /%s/exists HTTP/1.0\r\nHost: localhost\r\n\r\n' "$table" >&3
  read -r -t 60 _ code _ <&3 || true
  exec 3<&-
  case $code in
    200) return 0 ;;
    404) return 1 ;;
    *) die "the gateway does not say whether there is a table $table (status ${code:-none}); see $state/logs/gateway.log" ;;
  esac
}

# make_table: the first four bytes of a key are spread evenly; see
# job/docs/lookup.md.
make_table() {
  need_java
  [[ -d $lib && -d $state/conf ]] || die 'HBase is not up: scripts/hbase.sh up'
  if has_table; then
    echo "hbase.sh: the table $table is there already" >&2
    return
  fi
  "${java[@]}" -Xmx128m -cp "$state/conf:$lib/*" org.apache.hadoop.hbase.util.RegionSplitter "$table" UniformSplit \
    -c "$regions" -f d >"$state/logs/table.log" 2>&1 ||
    die "the table is not made: $(tail -n 1 "$state/logs/table.log"); see $state/logs/table.log"
}

case $command in
  up) up ;;
  down) down ;;
  status) status ;;
  table) make_table ;;
esac
