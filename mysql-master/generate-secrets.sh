#!/usr/bin/env bash
# Generates the passwords of the stack where they are missing, one directory per service, so that a service sees
# only its own. Comes in: the directory to fill. Goes out: files of one line, and the list of accounts for Kafka. Must never replace a
# password that exists.
set -euo pipefail

# secret ACCOUNT SERVICE...: the same password for each service that needs it.
secret() {
  local name=$1 service value=
  shift
  for service in "$@"; do
    if [[ -s $root/$service/$name ]]; then
      value=$(< "$root/$service/$name")
      break
    fi
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

# password SERVICE NAME: as JAAS reads it.
password() { sed -n '1{s/[\\"]/\\&/g;s/.*/"&"/p}' "$root/$1/$2"; }

# The broker's list of accounts, made from their passwords each time.
broker_accounts() {
  local file=$root/kafka/jaas.conf
  {
    printf 'KafkaServer {\n  org.apache.kafka.common.security.plain.PlainLoginModule required\n'
    printf '  user_log_writer=%s\n' "$(password capture log_writer_password)"
    printf '  user_log_reader=%s;\n};\n' "$(password applier log_reader_password)"
  } > "$file.new"
  chmod 0444 "$file.new"
  mv "$file.new" "$file"
}

main() {
  root=$1
  mkdir -p "$root"/{master,satellite,kafka,capture,applier,gate,proxysql/users}
  chmod 0700 "$root"
  secret root_password master
  secret capture_password master capture
  secret clone_password master satellite
  secret gate_password master gate
  secret monitor_password master proxysql
  secret applier_password satellite applier
  secret proxysql_admin_password proxysql
  secret log_writer_password capture
  secret log_reader_password applier capture
  broker_accounts
}

main "$@"
