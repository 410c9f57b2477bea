#!/usr/bin/env bash
# add-user NAME: makes an application user known to the running ProxySQL, or changes its password; no connection is cut.
# Comes in: the user's name, its password on stdin. Goes out: nothing but an exit status.
# The next start reads users/NAME among the secret files: whoever calls this writes that file too.
# Must never change anything when the name or the password is not fit for ProxySQL (exit status 64).
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck disable=SC1091
. "$here/lib.sh"
# shellcheck disable=SC1091
. "$here/admin.sh"

main() {
  local name=${1:-} password admin_password
  IFS= read -r -d '' password || true
  password=${password%$'\n'}
  check_user_name "$name" || true
  check_password "password of user ${name//[^[:print:]]/?}" "$password" || true
  read_secret admin_password "${PROXYSQL_SECRETS_DIR:-/run/secrets}/proxysql_admin_password" || true
  stop_on_mistakes
  admin_connect "${PROXYSQL_DATADIR:-/run/proxysql}/admin.sock" "$admin_password"
  admin_execute "REPLACE INTO mysql_users (username, password, default_hostgroup, transaction_persistent) VALUES ($(sql_string "$name"), $(sql_string "$password"), 10, 1)"
  admin_execute 'LOAD MYSQL USERS TO RUNTIME'
  log info "event=user name=$name"
}

main "$@"
