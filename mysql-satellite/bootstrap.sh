# From an empty data directory to a prepared copy of the database. Sourced by entrypoint.sh.
# Comes in: CLONE_DONORS or the sockets beside our own, the required GTID set, secret files as they are at that moment. Goes out: a running
# mysqld that holds a donor's data, without triggers and events, open to clients; or failure, with mysqld in any state.
# Must never open to clients before it is prepared: offline_mode keeps them out, and the applier's account is made last.
# Every function here is called where `set -e` has no effect, so each step says itself what its failure means.
# shellcheck shell=bash disable=SC2154

# local_sql SQL: for numbers and for what is shown to people: a tab, a newline or a backslash comes as two characters.
local_sql() { mysql --defaults-file=/run/multimed/client.cnf --batch --skip-column-names -e "$1"; }

# run_listed QUERY: executes the statements that the query's rows are. Names may hold anything but NUL, so nothing is escaped on the way, and
# the client looks for no commands of its own.
run_listed() {
  local client=(mysql --defaults-file=/run/multimed/client.cnf --default-character-set=utf8mb4)
  "${client[@]}" --batch --raw --skip-column-names -e "$1" | "${client[@]}" --binary-mode
}

# quoted COLUMN...: an SQL expression: the columns' values as one quoted name.
quoted() {
  local each name=''
  for each; do name+="${name:+, '.', }'\`', REPLACE($each, '\`', '\`\`'), '\`'"; done
  printf 'CONCAT(%s)' "$name"
}

# For so long the master may be without what its own log has: it ends a commit there after the log's record.
required_s=30

# await_local: until the local mysqld answers, or has ended.
await_local() {
  until mysqladmin --defaults-file=/run/multimed/client.cnf ping > /dev/null 2>&1; do
    kill -0 "$mysqld_pid" 2> /dev/null || return 1
    sleep 0.1
  done
}

# donor_sql HOST PORT SQL: by its socket if that is beside ours, since the name of a container that is gone can take long to be unknown.
donor_sql() {
  local beside=${socket%/*/*}/$1/mysqld.sock way
  way=(--protocol=TCP --host="$1" --port="$2")
  [[ ! -S $beside ]] || way=(--protocol=SOCKET --socket="$beside")
  mysql --defaults-file=/run/multimed/donor.cnf "${way[@]}" --batch --skip-column-names -e "$3"
}

# marked: an SQL expression: whether a master has a mark of its boot. Capture commits one when it has compared the log with the master's binlog.
# One that does not name its boots gets none.
marked="COALESCE(@@global.report_host, '') NOT REGEXP '^boot-[0-9a-f]{16}\$' OR LOCATE(INSERT(INSERT(@@global.report_host, 10, 0, '-'), 1, 5, '00000000-0000-0000-'), @@global.gtid_executed) > 0"

# donor_suits HOST PORT: it answers and holds the GTID set that this satellite must not lack. In the stack, a master's history must be confirmed:
# to one that was restored, the log may still have what it has lost.
donor_suits() {
  local holds logs confirmed
  read -r holds logs confirmed < <(donor_sql "$1" "$2" "SELECT GTID_SUBSET($(sql_string "$required"), @@global.gtid_executed),
    @@global.log_bin, $marked" 2> /run/multimed/donor.err) || {
    unsuited="$1: $(grep -m 1 ERROR /run/multimed/donor.err)"
    return 1
  }
  if ((logs == 1)) && [[ $confirmed != 1 && -n ${SATELLITE_SOCKET:-} ]]; then
    unsuited="$1: capture has not confirmed its history yet"
    return 1
  fi
  ((holds == 0)) || return 0
  unsuited="$1 does not hold $required"
  if ((logs == 1)) || [[ $(donor_sql master 3306 "SELECT GTID_SUBSET($(sql_string "$required"), @@global.gtid_executed)" 2> /dev/null) == 0 ]]; then
    master_lacks
  fi
  return 1
}

# master_lacks: what the master has not had for so long, no donor will ever have: its history has lost it. So nobody waits for that any more.
master_lacks() {
  : "${lacked_since:=$EPOCHSECONDS}"
  ((EPOCHSECONDS - lacked_since >= required_s)) || return 0
  log error "event=requirement-given-up required=$required reason=\"the master has been without it for $required_s s\""
  required='' lacked_since=''
}

# receive HOST PORT: asks the local mysqld to clone; messages go to clone.err.
receive() {
  printf "SET GLOBAL clone_valid_donor_list = '%s:%s';\nCLONE INSTANCE FROM 'multimed_clone'@'%s':%s IDENTIFIED BY %s;\n" \
    "$1" "$2" "$1" "$2" "$(sql_string "$clone_password")" \
    | mysql --defaults-file=/run/multimed/client.cnf 2> /run/multimed/clone.err || true
}

# clone_from HOST PORT: replaces the data directory; mysqld ends with status 16 when that has succeeded.
clone_from() {
  local status=0
  log info "event=clone donor=$1:$2"
  receive "$1" "$2"
  # A donor serves one clone at a time (error 3634): the receiver keeps its place until the other is done.
  while grep -q 'Too many concurrent clone' /run/multimed/clone.err; do
    sleep 0.5 &
    wait $! || true
    receive "$1" "$2"
  done
  # The restart cuts the connection, which is no failure; any other message is.
  if grep -vE 'Lost connection|server has gone away|ERROR 2013|ERROR 2006' /run/multimed/clone.err | grep -q ERROR; then
    failed "clone from $1:$2: $(grep -m 1 ERROR /run/multimed/clone.err)" || log warn "event=clone-failed donor=$1:$2 error=\"$reason\""
    return 1
  fi
  wait_mysqld || status=$?
  ((status == restart_after_clone)) && return 0
  failed "clone from $1:$2: mysqld ended with status $status" || log warn "event=clone-failed donor=$1:$2 status=$status"
  return 1
}

# start_empty: a mysqld on fresh system tables, reachable only by the socket, to receive the clone.
start_empty() {
  mysqld --defaults-file="$defaults" --initialize-insecure --log-error-verbosity=1 || return 1
  client_file /run/multimed/client.cnf root ''
  start_mysqld --skip-networking --log-error-verbosity=1
  await_local
}

# donors: CLONE_DONORS; without it the satellites whose sockets are beside ours, in any order, then the master. Those that come and go later
# need not be told to anybody.
donors() {
  local each name
  if [[ -n ${CLONE_DONORS:-} ]]; then
    tr , '\n' <<< "$CLONE_DONORS"
    return
  fi
  for each in "${socket%/*/*}"/satellite-*/mysqld.sock; do
    name=${each%/*}
    [[ ! -S $each || $each == "$socket" ]] || echo "${name##*/}:3306"
  done | shuf
  echo master:3306
}

# clone_from_any: the first donor of the list that suits and succeeds.
clone_from_any() {
  local donor
  need_secret clone_password "$secrets/clone_password"
  stop_on_mistakes
  (
    umask 077
    printf '[client]\nuser=multimed_clone\npassword=%s\nconnect_timeout=3\nget-server-public-key\n' \
      "$(cnf_string "$clone_password")" > /run/multimed/donor.cnf
  )
  without_donor_before=${without_donor:-} without_donor=1 unsuited=''
  for donor in $(donors); do
    donor_suits "${donor%:*}" "${donor#*:}" || continue
    without_donor=
    start_empty || failed "mysqld does not start on an empty directory" || return 1
    clone_from "${donor%:*}" "${donor#*:}" && return 0
    end_mysqld
    wipe
  done
  [[ -n $without_donor ]] || return 1
  failed "no donor to clone from: $unsuited" || true
  # Once, not at every attempt.
  [[ -n $without_donor_before ]] || log warn "event=no-donor donors=$(donors | paste -sd,) required=$required reason=\"$reason\""
  return 1
}

# start_clone: mysqld on the cloned data, with an account of this boot's own for what follows.
# The init file runs before the first connection is taken; a donor's accounts of the same names go.
start_clone() {
  local password init=/run/mysqld/local.sql
  password=$(nonce)$(nonce)
  client_file /run/multimed/client.cnf multimed_local "$password" "$socket"
  (
    umask 077
    cat > "$init" << SQL
DROP USER IF EXISTS 'multimed_applier'@'%', 'multimed_local'@'localhost';
CREATE USER 'multimed_local'@'localhost' IDENTIFIED WITH caching_sha2_password BY '$password';
GRANT ALL ON *.* TO 'multimed_local'@'localhost' WITH GRANT OPTION;
GRANT PROXY ON ''@'' TO 'multimed_local'@'localhost' WITH GRANT OPTION;
$(controlled_sql)
SQL
    chown mysql:mysql "$init"
  )
  # Only now where others may connect: before the clone, root has no password.
  start_mysqld --init-file="$init" --socket="$socket"
  await_local || return 1
  rm -f "$init"
}

# drop_all TYPE VIEW CONDITION: every trigger or event.
drop_all() { run_listed "SELECT CONCAT('DROP $1 ', $(quoted "$1_schema" "$1_name"), ';') FROM information_schema.$2 WHERE $3"; }

# open_families: the tables of foreign keys, one after the other, while nobody else is here. InnoDB reads a table's keys when it is first
# opened, in steps: a session that changes a parent while another one opens its child may leave the child as it was. Each satellite starts
# with nothing opened, under reads and writes at once.
open_families() {
  run_listed "SELECT CONCAT('SELECT 1 FROM ', $(quoted table_schema table_name), ' LIMIT 0;')
    FROM information_schema.tables WHERE (table_schema, table_name) IN (
      SELECT constraint_schema, table_name FROM information_schema.referential_constraints
      UNION SELECT unique_constraint_schema, referenced_table_name FROM information_schema.referential_constraints)
    ORDER BY table_schema, table_name"
}

# other_appliers: accounts that a login of the applier may be taken for, since MySQL looks at the most specific host first. Clients made them.
other_appliers="mysql.user WHERE user IN ('multimed_applier', '') AND host <> '%'"

drop_other_appliers() { run_listed "SELECT CONCAT('DROP USER ', QUOTE(user), '@', QUOTE(host), ';') FROM $other_appliers"; }

# roll_back_prepared: an XA transaction that the clone caught between PREPARE and COMMIT would hold its locks for ever;
# if it commits on the master, the log says `rebuild`.
roll_back_prepared() {
  local_sql 'XA RECOVER CONVERT XID' | while read -r format gtrid_length bqual_length data; do
    data=${data#0x}
    printf "XA ROLLBACK X'%s',X'%s',%s;\n" "${data:0:gtrid_length*2}" "${data:gtrid_length*2:bqual_length*2}" "$format"
  done | mysql --defaults-file=/run/multimed/client.cnf
}

# foreign_tables: tables of the user whose engine a clone copies empty.
foreign_tables() {
  local_sql "SELECT CONCAT(table_schema, '.', table_name, ' (', engine, ')') FROM information_schema.tables
    WHERE table_type = 'BASE TABLE' AND engine <> 'InnoDB'
    AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')"
}

# all_clonable: nothing of the user was copied empty.
all_clonable() {
  local foreign
  foreign=$(foreign_tables) || return 1
  [[ -z $foreign ]] || {
    echo "ERROR tables that are not InnoDB cannot be cloned: ${foreign//$'\n'/, }" >&2
    return 1
  }
}

# holds_required: what it was to clone.
holds_required() {
  [[ $(local_sql "SELECT GTID_SUBSET($(sql_string "$required"), @@global.gtid_executed)") == 1 ]] || {
    echo "ERROR the copy does not hold $required" >&2
    return 1
  }
}

make_applier() { applier_sql | mysql --defaults-file=/run/multimed/client.cnf; }

# prepare: makes the copy a satellite, and opens it. Only its applier writes: the channel that the master may have is none of a satellite's.
prepare() {
  step "looking at tables" all_clonable \
    && step "dropping triggers" drop_all TRIGGER triggers "trigger_schema <> 'sys'" \
    && step "dropping events" drop_all EVENT events TRUE \
    && step "clearing the master's channel" local_sql 'RESET REPLICA ALL' \
    && step "rolling back what was prepared" roll_back_prepared \
    && step "dropping accounts that stand before the applier's" drop_other_appliers \
    && { prepare_own_indexes || failed "its own indexes"; } \
    && step "opening tables" open_families \
    && step "comparing with what its applier asked for" holds_required \
    && step "opening it to clients" local_sql 'SET GLOBAL offline_mode = OFF' \
    && step "making the applier's account" make_applier
}

# applier_sql: the applier's account, under its name once it is complete: a session keeps the privileges that it began with, and while passwords
# are renewed (make rotate) there are two of them, of which none may be lost. .next is read first: it takes the place of the other by a rename.
# The name until then is of this boot alone: no client of the master can have made it.
applier_sql() {
  local boot making by='IDENTIFIED WITH caching_sha2_password BY' next
  next=$(cat "$secrets/applier_password.next" 2> /dev/null) || next=
  need_secret applier_password "$secrets/applier_password"
  stop_on_mistakes
  boot=$(nonce)
  making="'multimed_applier_${boot: -12}'@'%'"
  printf 'CREATE USER %s %s %s;\n' "$making" "$by" "$(sql_string "$applier_password")"
  [[ -z $next ]] || printf 'ALTER USER %s %s %s RETAIN CURRENT PASSWORD;\n' "$making" "$by" "$(sql_string "$next")"
  printf '%s;\n' "GRANT ALL ON *.* TO $making WITH GRANT OPTION" "GRANT PROXY ON ''@'' TO $making WITH GRANT OPTION" \
    "RENAME USER $making TO 'multimed_applier'@'%'"
}

bootstrap() { clone_from_any && { start_clone || failed "mysqld does not start on the copy"; } && prepare; }
