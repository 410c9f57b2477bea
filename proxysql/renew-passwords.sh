#!/usr/bin/env bash
# renew-passwords: the running ProxySQL takes its own passwords, for the monitor and for its admin interface, from the secret files as they
# are now; no connection is cut. May be repeated.
# Comes in: secret files and settings, as for the entrypoint; the rendered configuration, which has the passwords of before. Goes out: a new
# rendered configuration, an exit status. Must never put a password on a command line or in a message.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck disable=SC1091
. "$here/lib.sh"
# shellcheck disable=SC1091
. "$here/admin.sh"

datadir=${PROXYSQL_DATADIR:-/run/proxysql}
config=$datadir/proxysql.cnf

# value NAME FILE: of a setting without quotes in it.
value() { sed -n "s/^ *$1=\"\(.*\)\"\$/\1/p" "$2"; }

# put VARIABLE VALUE
put() { admin_execute "UPDATE global_variables SET variable_value = $(sql_string "$2") WHERE variable_name = $(sql_string "$1")"; }

# tell CREDENTIALS: in a process of its own, as each connection needs.
tell() (
  admin_connect "$datadir/admin.sock" "${1#admin:}" \
    && put mysql-monitor_password "$(value monitor_password "$config.new")" \
    && put admin-admin_credentials "$(value admin_credentials "$config.new")" \
    && admin_execute 'LOAD MYSQL VARIABLES TO RUNTIME' \
    && admin_execute 'LOAD ADMIN VARIABLES TO RUNTIME'
)

main() {
  "$here/entrypoint.sh" render "$config.new"
  # The new one, if the last attempt came so far.
  tell "$(value admin_credentials "$config")" 2> /dev/null || tell "$(value admin_credentials "$config.new")"
  mv "$config.new" "$config"
  log info "event=passwords-renewed"
}

main "$@"
