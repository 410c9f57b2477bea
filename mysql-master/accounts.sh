# The stack's own accounts on the master. Sourced by the master's entrypoint; bin/up sends it to a master that runs.
# Comes in: lib.sh, secret files in $secrets. Goes out: accounts that only who has SYSTEM_USER can change: a client with CREATE USER
# otherwise changes them here, or by the log those of the same names on satellites, which may do everything there.
# Must never: change an account that is whole; tell satellites of those that they make themselves; show a secret.
# shellcheck shell=bash disable=SC2154

# Who logs in at the master: the privileges, and the secret file NAME_password. Satellites get these by clone or by the log.
declare -A stack_privileges=(
  # SESSION_VARIABLES_ADMIN: for gtid_next, under which it commits the marks of a history, and checks. CONNECTION_ADMIN: an event may be larger
  # than what a session may take (connection_memory_limit).
  [capture]='CONNECTION_ADMIN, SELECT, SHOW DATABASES, SHOW VIEW, REPLICATION SLAVE, REPLICATION CLIENT, SESSION_VARIABLES_ADMIN'
  [clone]='BACKUP_ADMIN'
  # PROCESS: whether a session has temporary tables. Not CONNECTION_ADMIN: it would reach satellites that are not open yet (offline_mode).
  [gate]='PROCESS'
  [monitor]='REPLICATION CLIENT'
)
# Who logs in at satellites only. Here nobody can, and the names are taken.
satellite_accounts=("'multimed_applier'@'%'" "'multimed_local'@'localhost'")

# read_passwords: NAME_password of each account, or a mistake.
read_passwords() {
  local name
  for name in "${!stack_privileges[@]}"; do need_secret "${name}_password" "$secrets/${name}_password"; done
}

# accounts_sql: one statement a line: mysqld's init file wants it so.
accounts_sql() {
  local name password each by='IDENTIFIED WITH caching_sha2_password BY'
  for name in "${!stack_privileges[@]}"; do
    password=${name}_password
    printf "CREATE USER IF NOT EXISTS 'multimed_%s'@'%%' %s %s;\n" "$name" "$by" "$(sql_string "${!password}")"
    printf "GRANT %s, SYSTEM_USER ON *.* TO 'multimed_%s'@'%%';\n" "${stack_privileges[$name]}" "$name"
  done
  # Which statement of a routine failed.
  echo "GRANT SELECT ON performance_schema.* TO 'multimed_gate'@'%';"
  # Anew, since a client may have made them before us.
  echo 'SET SESSION sql_log_bin = 0;'
  for each in "${satellite_accounts[@]}"; do
    printf '%s;\n' "DROP USER IF EXISTS $each" "CREATE USER $each $by '$(nonce)$(nonce)' ACCOUNT LOCK" "GRANT SYSTEM_USER ON *.* TO $each"
  done
}

# accounts_whole: the question whether all are there and protected, and have what was granted last.
accounts_whole() {
  local name each wanted=''
  for name in "${!stack_privileges[@]}"; do wanted+="OR (u.user, u.host) = ('multimed_$name', '%') "; done
  for each in "${satellite_accounts[@]}"; do wanted+="OR (u.user, u.host) = (${each/@/, }) AND account_locked = 'Y' "; done
  printf "SELECT COUNT(*) = %d FROM mysql.user u JOIN mysql.global_grants g USING (user, host)
    WHERE (user, priv) IN (('multimed_capture', 'SESSION_VARIABLES_ADMIN'), ('multimed_capture', 'CONNECTION_ADMIN'))
      OR priv = 'SYSTEM_USER' AND (%s);\n" \
    $((${#stack_privileges[@]} + ${#satellite_accounts[@]} + 2)) "${wanted#OR }"
}

# make_accounts: what lacks of them, on a master that runs.
make_accounts() {
  local whole client=(mysql --defaults-file=/run/multimed/client.cnf --batch --skip-column-names)
  whole=$(accounts_whole | "${client[@]}") || return 1
  [[ $whole != 1 ]] || return 0
  read_passwords
  stop_on_mistakes
  accounts_sql | "${client[@]}" || return 1
  log info "event=accounts-made"
}
