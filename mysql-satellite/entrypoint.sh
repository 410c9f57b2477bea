#!/usr/bin/env bash
# Keeps a satellite alive, as process 1: wipes the data directory, clones, prepares, serves, and starts over when mysqld ends.
# Comes in: the settings in check_settings, secret files, /var/lib/multimed/rebuild. Goes out: a serving mysqld.
# Must never serve on a data directory that a mysqld left behind: without flushing at commit it can have gone back
# in time. Only the restart that ends a clone (exit status 16) stays on the same one.
# shellcheck disable=SC1091,SC2034,SC2154
set -euo pipefail
COMPONENT=satellite
. /usr/local/lib/multimed/lib.sh
. /usr/local/lib/multimed/own-indexes.sh
. /usr/local/lib/multimed/attempts.sh
. /usr/local/lib/multimed/bootstrap.sh

datadir=/var/lib/mysql
secrets=/run/secrets
ready=/run/multimed/ready
# Since when this satellite serves, and why it cloned itself before; or why it can't (attempts.sh).
life=/run/multimed/life
# GTID set that the next donor must contain; the applier writes it before it shuts mysqld down.
rebuild_request=/var/lib/multimed/rebuild
# There if mysqld was ended because the applier could not log in.
shut_out=/run/multimed/shut-out
# Where whoever shares the volume reaches this satellite without TCP.
socket=${SATELLITE_SOCKET:-/run/mysqld/mysqld.sock}
# Settings of this satellite alone, and its own indexes.
own=/etc/multimed/conf.d/${SATELLITE_NAME:-}
defaults=/run/multimed/my.cnf
restart_after_clone=16

# check_memory: the container's limit must hold the data (tmpfs counts as memory), the buffer pool and mysqld itself.
check_memory() {
  local limit data pool=$1 needed
  limit=$(memory_limit)
  data=$(tmpfs_size "$datadir")
  needed=$((data + pool + overhead))
  [[ $limit == max ]] || ((limit >= needed)) || mistake \
    "memory limit of $((limit >> 20)) MiB is too small: tmpfs $((data >> 20)) + buffer pool $((pool >> 20)) + overhead $((overhead >> 20)) = $((needed >> 20)) MiB (SATELLITE_MEMORY, SATELLITE_TMPFS, SATELLITE_BUFFER_POOL)"
}

check_settings() {
  local donor
  # Read anew for each clone.
  need_secret clone_password "$secrets/clone_password"
  need_secret applier_password "$secrets/applier_password"
  [[ -n ${CLONE_DONORS:-}${SATELLITE_SOCKET:-} ]] \
    || mistake "CLONE_DONORS is empty, and so is SATELLITE_SOCKET, beside which other satellites' sockets are: name at least the master, like satellite-2:3306,master:3306"
  for donor in $(tr , ' ' <<< "${CLONE_DONORS:-}"); do
    [[ $donor =~ ^[A-Za-z0-9._-]+:[0-9]+$ ]] || mistake "CLONE_DONORS: $donor is not host:port"
  done
  : "${SATELLITE_BUFFER_POOL:=256m}"
  if pool=$(bytes_of "$SATELLITE_BUFFER_POOL"); then
    check_memory "$(pool_now "$pool")"
  else mistake "SATELLITE_BUFFER_POOL=$SATELLITE_BUFFER_POOL is not a size like 256m"; fi
  [[ -d ${socket%/*/*}/ || -z ${SATELLITE_SOCKET:-} ]] \
    || mistake "SATELLITE_SOCKET=$SATELLITE_SOCKET: the directory of its directory is not there"
  if [[ -n ${SATELLITE_NAME:-} ]]; then check_own; fi
  stop_on_mistakes
}

check_own() {
  if [[ $SATELLITE_NAME =~ ^[A-Za-z0-9_-]+$ ]]; then
    read_own_indexes "$own/indexes"
  else mistake "SATELLITE_NAME=$SATELLITE_NAME is not a name like satellite-2"; fi
}

# write_defaults: what follows from its size, the image's settings, then this satellite's own.
write_defaults() {
  sized_settings "$(pool_now "$pool")" "$datadir" > "$defaults"
  echo '!include /etc/multimed/my.cnf' >> "$defaults"
  [[ -z ${SATELLITE_NAME:-} || ! -d $own ]] || echo "!includedir $own" >> "$defaults"
}

# start_mysqld OPTION...: in the background, as a child of this shell, which is what makes CLONE's restart possible.
start_mysqld() {
  local now
  now=$(pool_now "$pool")
  {
    bound_memory "$now" "$datadir"
    MYSQLD_PARENT_PID=$$ exec mysqld --defaults-file="$defaults" --innodb-buffer-pool-size="$now" --report-host="$(nonce)" "$@" "${options[@]}"
  } &
  mysqld_pid=$!
}

# wait_mysqld: its exit status; signals that interrupt the wait are not an end.
wait_mysqld() {
  local status=0
  while :; do
    wait "$mysqld_pid" 2> /dev/null && status=0 || status=$?
    kill -0 "$mysqld_pid" 2> /dev/null || break
  done
  rm -f "$ready"
  mysqld_pid=
  return "$status"
}

# end_mysqld: without ceremony, since nothing of it is kept.
end_mysqld() {
  [[ -n ${mysqld_pid:-} ]] || return 0
  kill -KILL "$mysqld_pid" 2> /dev/null || true
  wait_mysqld || true
}

# guard: ends mysqld once it is not read-only any more. Whoever switched that off may have let anybody write, and an applier refuses a
# server that others may write to: only a new clone is the master's twin for certain. One session, asked every 2 s; the next
# mysqld has its own, and this one ends with its connection. Meanwhile the applier's threads go before those of readers.
guard() {
  local answer question read_only threads first=
  coproc client { exec mysql --defaults-file=/run/multimed/client.cnf --batch --skip-column-names --unbuffered 2> /dev/null; }
  # shellcheck disable=SC2154 # coproc sets it
  exec {answer}<&"${client[0]}" {question}>&"${client[1]}"
  while echo "SELECT @@global.read_only, ($applier_threads);" >&"$question" && read -r -u "$answer" read_only threads; do
    if [[ $read_only == 0 ]]; then
      log error "event=not-read-only next=end-mysqld"
      kill -KILL "$mysqld_pid"
      return
    fi
    [[ $threads == "$first" ]] || go_first "$threads" "$first"
    first=$threads
    sleep 2
  done
}

# as_applier SQL: comes as the applier does, over TCP and without TLS. Fails with 1 if the account or its password is refused, with 2 if
# nothing can be said: no answer, no place or memory for one more connection, an end that has begun.
as_applier() {
  local file=/run/multimed/applier.cnf error=/run/multimed/applier.err address
  address=$(getent hosts "$HOSTNAME" | cut -d ' ' -f 1)
  need_secret applier_password "$secrets/applier_password"
  client_file "$file" multimed_applier "$applier_password"
  mysql --defaults-file="$file" --protocol=TCP --host="$address" --ssl-mode=DISABLED --get-server-public-key \
    --connect-timeout=5 --batch --skip-column-names -e "$1" 2> "$error" && return
  if grep -q '^ERROR' "$error" && ! grep -qE '^ERROR (2[0-9]{3}|5|1037|1040|1041|1053|1135|3032|4081|4082) ' "$error"; then return 1; else return 2; fi
}

# watch_applier: ends mysqld once the applier can't log in, may be taken for another, or has other privileges than it began with: it could not
# ask for that itself, and the satellite would stand still. Twice in a row, since its password may just be changing.
watch_applier() {
  local first='' now status others refused=0
  while kill -0 "$mysqld_pid" 2> /dev/null; do
    now=$(as_applier 'SHOW GRANTS') && status=0 || status=$?
    others=$(local_sql "SELECT COUNT(*) FROM $other_appliers" 2> /dev/null) || others=0
    : "${first:=$now}"
    if ((status == 1 || others > 0)) || { ((status == 0)) && [[ $now != "$first" ]]; }; then refused=$((refused + 1)); else refused=0; fi
    if ((refused == 2)); then
      log error "event=applier-shut-out next=end-mysqld"
      touch "$shut_out"
      kill -KILL "$mysqld_pid"
      return
    fi
    sleep 10
  done
}

# The threads of the applier's sessions, as the system numbers them.
applier_threads="SELECT GROUP_CONCAT(thread_os_id ORDER BY thread_os_id SEPARATOR ' ') FROM performance_schema.threads
  WHERE processlist_user = 'multimed_applier'"

# go_first THREADS OTHERS: the scheduler prefers these, and no longer those of the others that are not among them: mysqld gives a thread whose
# session has ended to the next client. Readers that use all cores would leave the applier its share among them: one in 65, beside 64 readers.
go_first() {
  local thread threads=() back=() error
  for thread in ${1/NULL/}; do threads+=("$thread"); done
  for thread in ${2/NULL/}; do [[ " $1 " == *" $thread "* ]] || back+=("$thread"); done
  # One of them may just have ended.
  error=$({
    export LC_ALL=C
    ((${#back[@]} == 0)) || renice -n 0 -p "${back[@]}"
    ((${#threads[@]} == 0)) || renice -n -20 -p "${threads[@]}"
  } 2>&1 > /dev/null | grep -v 'No such process' | head -n 1) || true
  if [[ -n $error && -z ${refused:-} ]]; then
    log warn "event=priority-refused reason=\"$error\" consequence=\"under many reads replication is late\" need=SYS_NICE"
    refused=1
  fi
}

stop() {
  log info "event=stop"
  end_mysqld
  # Nobody looks for a donor behind it.
  rm -f "$socket" "$socket.lock" "${socket%/*}.facts"
  exit 0
}

wipe() {
  rm -f "$ready"
  find "$datadir" /run/mysqld -mindepth 1 -delete
  # The volume outlives the process that the lock file names.
  rm -f "$socket" "$socket.lock"
}

# take_request: remembers what the applier asked for; kept until a clone has fulfilled it, or nobody can. What is no GTID set, no donor holds.
take_request() {
  local uuid='[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}' part=':([a-z_][a-z0-9_]{0,31}|[0-9]{1,19}(-[0-9]{1,19})?)' one
  [[ -e $rebuild_request ]] || return 0
  required=$(tr -d ' \n' < "$rebuild_request")
  rm -f "$rebuild_request"
  lacked_since='' one="$uuid($part)+"
  if [[ ! $required =~ ^($one(,$one)*)?$ ]]; then
    log warn "event=no-gtid-set file=$rebuild_request"
    required=
  fi
  why="its applier asked"
  log info "event=rebuild-requested required=$required"
}

# serve_once: from nothing to a serving mysqld, until that ends; fails if it came to nothing.
serve_once() {
  local status=0
  wipe
  write_defaults
  take_request
  bootstrap || {
    end_mysqld
    return 1
  }
  required=
  touch "$ready"
  serves
  log info "event=ready gtid_executed=$(local_sql 'SELECT @@global.gtid_executed' | sed 's/\\n//g')"
  guard &
  watch_applier &
  keep_own_indexes &
  wait_mysqld || status=$?
  why="mysqld ended with status $status"
  log warn "event=mysqld-ended status=$status next=wipe-and-clone"
  # However long it has served: what shut the applier out may come again with each clone.
  if rm "$shut_out" 2> /dev/null; then
    failed "its applier could not log in, could be taken for another account, or had other privileges"
  else
    settled || failed "it has served for $((EPOCHSECONDS - serving_since)) s only, then $why"
  fi
}

main() {
  local name=${SATELLITE_NAME:-}
  options=("$@")
  check_settings
  # Of satellite-2: 20002.
  [[ -z ${SATELLITE_SOCKET:-} ]] || own_socket "$socket" $((20000 + 10#0${name##*[!0-9]}))
  own "$datadir" /run/mysqld /var/lib/multimed
  mkdir -p /run/multimed && chmod 0700 /run/multimed
  required=''
  why="the container started"
  if [[ -n ${SATELLITE_SOCKET:-} ]]; then tell_facts "${socket%/*}.facts" "$datadir" "$life" & fi
  trap stop TERM INT
  while :; do
    if serve_once; then
      sleep 1 &
      wait $! || true
    else begin_again; fi
  done
}

main "$@"
