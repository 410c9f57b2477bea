#!/usr/bin/env bash
# Generates the passwords of the stack (and the token for the gate's HTTP port), one directory per service, so that a service sees only its own; and replaces them in steps.
# usage: generate-secrets.sh DIRECTORY              those that are missing
#        generate-secrets.sh DIRECTORY next         makes next/, with a new one for each, unless it is there
#        generate-secrets.sh DIRECTORY offer        satellites give the applier's account the new password beside the old one
#        generate-secrets.sh DIRECTORY take NAME... services get the new ones of next/ instead; only satellites keep the applier's old one, too
#        generate-secrets.sh DIRECTORY settle       satellites no longer have it
#        generate-secrets.sh DIRECTORY end          removes next/
# Comes in: the directory. Goes out: files of one line, and the list of accounts for Kafka. All steps may be repeated (make rotate).
# Must never: replace a password that exists, but by that of next/; or return before what it wrote is on the disk.
set -euo pipefail

# Each password, and the services that have it.
passwords='root_password master
capture_password master capture
clone_password master satellite
gate_password master gate
admin_token gate
monitor_password master proxysql
applier_password satellite applier
proxysql_admin_password proxysql
log_writer_password capture
log_reader_password applier capture'

# to_disk: all that is here.
to_disk() { find "$root" -exec sync {} +; }

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# write FILE VALUE: at once, in place of what was there.
write() {
  local temporary=${1%/*}/.${1##*/}
  printf '%s\n' "$2" > "$temporary"
  # Readable for a service's own user; on the host the closed directory above guards it.
  chmod 0444 "$temporary"
  mv -f "$temporary" "$1"
}

# fill NAME SERVICE...: the same password for each service that needs it.
fill() {
  local name=$1 service value=
  shift
  for service in "$@"; do
    if [[ -s $root/$service/$name ]]; then
      value=$(< "$root/$service/$name")
      break
    fi
  done
  [[ -n $value ]] || value=$(random)
  for service in "$@"; do
    [[ -s $root/$service/$name ]] || write "$root/$service/$name" "$value"
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

generate() {
  local name services
  mkdir -p "$root"/{master,satellite,kafka,capture,applier,gate,proxysql/users}
  chmod 0700 "$root"
  while read -r name services; do
    # shellcheck disable=SC2086 # several words
    fill "$name" $services
  done <<< "$passwords"
  broker_accounts
}

next() {
  local name
  rm -rf "$root"/.next "$root"/.ended
  [[ ! -e $root/next ]] || return 0
  mkdir -m 0700 "$root/.next"
  while read -r name _; do write "$root/.next/$name" "$(random)"; done <<< "$passwords"
  # All of them, or none.
  to_disk
  mv "$root/.next" "$root/next"
}

# Whoever reads the satellite's two files in the order .next, the other one, misses neither password: a rename makes the one of the other.
offer() {
  local file=$root/satellite/applier_password
  cmp -s "$file" "$root/next/applier_password" || write "$file.next" "$(< "$root/next/applier_password")"
}

settle() {
  local file=$root/satellite/applier_password
  [[ ! -e $file.next ]] || mv -f "$file.next" "$file"
}

# take NAME...
take() {
  local name services service
  while read -r name services; do
    [[ " $* " == *" $name "* ]] || continue
    for service in $services; do
      [[ $name/$service == applier_password/satellite ]] || write "$root/$service/$name" "$(< "$root/next/$name")"
    done
  done <<< "$passwords"
  broker_accounts
}

end() {
  mv "$root/next" "$root/.ended"
  rm -rf "$root/.ended"
}

main() {
  root=$1
  case ${2:-generate} in
    generate | next | offer | take | settle | end) "${2:-generate}" "${@:3}" ;;
    *)
      sed -n '3,8s/^# //p' "$0" >&2
      exit 64
      ;;
  esac
  to_disk
}

main "$@"
