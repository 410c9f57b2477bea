# Functions that the benches share: a stack of the bench's own, its account, and its removal.
# Sourced after bin/lib.sh; expects `me`, and `bench_state`, the directory for what the bench writes.
# Comes in: BENCH_PORTS, BENCH_KEEP, BENCH_USER. Goes out: exported settings of the stack, sysbench.cnf (mode 0600), messages on stderr.
# Must never touch an operator's stack.
# shellcheck shell=bash disable=SC2034,SC2154

# stack_settings PROJECT PORT SATELLITES [COMPOSE_FILE]: the bench's own names, ports and secrets, apart from an operator's.
stack_settings() {
  local port=${BENCH_PORTS:-$2}
  [[ $port =~ ^[1-9][0-9]{3,4}$ ]] || {
    say "BENCH_PORTS=$port: a port is needed"
    exit 64
  }
  export COMPOSE_PROJECT_NAME=$1 BENCH_STATE=$bench_state SECRETS_DIR=$bench_state/secrets LAYOUT_FILE=$bench_state/layout.yml LAYOUT_DIR=$bench_state/layout
  export COMPOSE_FILE=$root/docker-compose.yml:$LAYOUT_FILE${4:+:$root/$4}
  export BIND_ADDRESS=127.0.0.1 FRONT_PORT=$port GATE_PORT=$((port + 1)) STATUS_PORT=$((port + 2)) SATELLITES=$3
  export SOCKET_DIR=/run/$1
}

# wake: what must happen before the stack can be removed; a bench that needs it defines its own.
wake() { :; }

remove() {
  mkdir -p "$bench_state"
  [[ -e $LAYOUT_FILE ]] || echo 'services: {}' > "$LAYOUT_FILE"
  wake
  YES=1 bin/down > "$bench_state/down.log" 2>&1 || {
    say 'removing the stack failed:'
    tail -n 20 "$bench_state/down.log" >&2
    return 1
  }
}

# keep_logs: what the services said, for whoever wants to know why a run has failed; the stack is gone by then.
keep_logs() {
  docker compose --profile '*' logs --no-color > "$bench_state/services.log" 2>&1 || return 0
  say "what the services said: ${bench_state#"$root"/}/services.log"
}

# remove_remains: of an earlier run that was kept, or killed.
remove_remains() {
  [[ -n $(docker ps -aq --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME") || -d $SECRETS_DIR ]] || return 0
  say 'removing the remains of an earlier run'
  echo 'services: {}' > "$LAYOUT_FILE"
  wake
  docker compose --profile '*' down --volumes --remove-orphans --timeout 5 > "$bench_state/remains.log" 2>&1
  rm -rf "$SECRETS_DIR"
}

# finish: on every way out.
finish() {
  local status=$?
  trap - EXIT
  trap '' TERM INT HUP
  [[ -z ${measuring:-} ]] || {
    kill -TERM -- "-$measuring" 2> /dev/null || true
    wait "$measuring" 2> /dev/null || true
  }
  # They hold passwords.
  rm -f "$bench_state"/*.cnf
  ((status == 0)) || keep_logs
  if [[ -n ${BENCH_KEEP:-} ]]; then
    say 'the stack stays (BENCH_KEEP)'
  else
    say 'removing the stack'
    remove || status=1
  fi
  exit "$status"
}

# account DATABASE...: the user of the loads may use them; its password for sysbench.
account() {
  local database
  for database in "$@"; do NAME=$BENCH_USER DB=$database mysql-master/user; done
  export BENCH_PASSWORD_FILE=$SECRETS_DIR/proxysql/users/$BENCH_USER BENCH_CONFIG_FILE=$bench_state/sysbench.cnf
  (
    umask 077
    printf "mysql-password='%s'\n" "$(< "$BENCH_PASSWORD_FILE")" > "$BENCH_CONFIG_FILE"
  )
}

# master_alone: before anything else of the stack is started, but laid out; images are there.
master_alone() {
  local end
  docker compose --progress quiet up -d --no-build --quiet-pull master
  end=$((SECONDS + 120))
  until docker compose exec -T master mysqladmin --defaults-file=/run/multimed/client.cnf --silent ping > /dev/null 2>&1; do
    ((SECONDS < end)) || die "the master does not answer: docker compose logs master"
    sleep 0.5
  done
}

# measure COMMAND...: in the background, so that signals are taken at once; its output is this script's.
measure() {
  local status=0
  setsid "$@" &
  measuring=$!
  while kill -0 "$measuring" 2> /dev/null; do wait "$measuring" && status=0 || status=$?; done
  measuring=
  return "$status"
}

# own_stack: from here on the stack is this bench's: no remains of an earlier one, and removed however the caller ends.
own_stack() {
  bin/engine up
  trap finish EXIT
  trap 'exit 143' TERM HUP
  trap 'exit 130' INT
  mkdir -p "$bench_state"
  remove_remains
}

bench_up() {
  own_stack
  bin/up >&2
}
