#!/usr/bin/env bash
# Starts the master. On an empty data directory it creates the system tables and the accounts of the stack first.
# Comes in: secret files in /run/secrets, MASTER_BUFFER_POOL, MASTER_SOCKET (where the Unix socket is to be),
# BINLOG_RETENTION_SIZE. Goes out: mysqld in the foreground, as process 1.
# Must never touch data that it did not create itself, nor show a secret.
# shellcheck disable=SC1091,SC2034,SC2154
set -euo pipefail
COMPONENT=master
. /usr/local/lib/multimed/lib.sh
. /usr/local/lib/multimed/accounts.sh
. /usr/local/lib/multimed/binlogs.sh

datadir=/var/lib/mysql
# Present while the data directory is being created: what lies beside it then is half-made and holds no data.
creating=$datadir/.multimed-creating
secrets=/run/secrets
defaults=/run/multimed/my.cnf
socket=${MASTER_SOCKET:-/run/mysqld/mysqld.sock}

check_settings() {
  need_secret root_password "$secrets/root_password"
  read_passwords
  bytes_of "${MASTER_BUFFER_POOL:=512m}" > /dev/null || mistake "MASTER_BUFFER_POOL=$MASTER_BUFFER_POOL is not a size like 512m"
  bytes_of "${BINLOG_RETENTION_SIZE:=10g}" > /dev/null || mistake "BINLOG_RETENTION_SIZE=$BINLOG_RETENTION_SIZE is not a size like 10g"
  [[ -d ${socket%/*/*}/ || -z ${MASTER_SOCKET:-} ]] || mistake "MASTER_SOCKET=$MASTER_SOCKET: the directory of its directory is not there"
  stop_on_mistakes
}

create_data() {
  log info "event=create datadir=$datadir"
  find "$datadir" -mindepth 1 -delete
  touch "$creating" && sync "$datadir"
  local init=/run/mysqld/accounts.sql
  (
    umask 077
    # While the system tables are made, before there is a binlog: satellites get the accounts by clone.
    {
      printf "ALTER USER 'root'@'localhost' IDENTIFIED WITH caching_sha2_password BY %s;\n" "$(sql_string "$root_password")"
      accounts_sql
    } > "$init"
    chown mysql:mysql "$init"
  )
  mysqld --defaults-file="$defaults" --initialize-insecure --init-file="$init"
  rm -f "$init"
  sync && rm "$creating" && sync "$datadir"
}

# keep_accounts: a stack of an older version gets those that it lacks, once mysqld answers and can be written.
keep_accounts() {
  until mysqladmin --defaults-file=/run/multimed/client.cnf ping > /dev/null 2>&1; do sleep 1; done
  make_accounts || log warn "event=accounts-not-made next=again consequence=\"who may CREATE USER can change the stack's accounts\""
  until make_accounts 2> /dev/null; do sleep 10; done
}

main() {
  local pool bound
  check_settings
  pool=$(pool_now "$(bytes_of "$MASTER_BUFFER_POOL")")
  [[ -z ${MASTER_SOCKET:-} ]] || own_socket "$socket" "$(id -u mysql)"
  own "$datadir" /run/mysqld
  mkdir -p /run/multimed && chmod 0700 /run/multimed
  sized_settings "$pool" "$datadir" > "$defaults"
  echo '!include /etc/multimed/my.cnf' >> "$defaults"
  if [[ -z $(ls -A "$datadir") || -e $creating ]]; then create_data; fi
  client_file /run/multimed/client.cnf root "$root_password" "$socket"
  # A volume outlives the process that the lock file names.
  rm -f "$socket" "$socket.lock"
  bound_memory "$pool" "$datadir"
  (umask 022 && controlled_sql > /run/mysqld/controlled.sql)
  log info "event=start version=\"$(mysqld --version | sed 's/.*Ver //')\""
  if [[ -n ${MASTER_SOCKET:-} ]]; then tell_facts "${socket%/*}.facts" "$datadir" & fi
  keep_accounts &
  bound=$(bytes_of "$BINLOG_RETENTION_SIZE")
  ((bound == 0)) || bound_binlogs "$bound" &
  exec mysqld --defaults-file="$defaults" --report-host="$(nonce)" --socket="$socket" \
    --init-file=/run/mysqld/controlled.sql --innodb-buffer-pool-size="$pool" "$@"
}

main "$@"
