#!/usr/bin/env bash
# Generates the passwords of the stack where they are missing, one directory per service, so that a service sees
# only its own. Comes in: the directory to fill. Goes out: files of one line. Must never replace a file that exists.
set -euo pipefail

# secret ACCOUNT SERVICE...: the same password for each service that needs it.
secret() {
  local name=$1 service value=
  shift
  for service in "$@"; do
    if [[ -s $root/$service/$name ]]; then value=$(<"$root/$service/$name"); break; fi
  done
  [[ -n $value ]] || value=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
  for service in "$@"; do
    [[ -s $root/$service/$name ]] && continue
    printf '%s\n' "$value" > "$root/$service/.$name"
    # Readable for a service's own user; on the host the closed directory above guards it.
    chmod 0444 "$root/$service/.$name"
    mv "$root/$service/.$name" "$root/$service/$name"
  done
}

main() {
  root=$1
  mkdir -p "$root"/{master,satellite,capture,applier,gate,proxysql/users}
  chmod 0700 "$root"
  secret root_password master
  secret capture_password master capture
  secret clone_password master satellite
  secret gate_password master gate
  secret monitor_password master proxysql
  secret applier_password satellite applier
  secret proxysql_admin_password proxysql
}

main "$@"
