#!/usr/bin/env bash
# Starts ProxySQL with a configuration made from proxysql.cnf.template, the settings and the secret files.
# Comes in: environment (see settings below), secret files in PROXYSQL_SECRETS_DIR. Goes out: proxysql in the foreground,
# as process 1. With `render FILE` it only writes the configuration.
# Must never show a secret: the rendered file is the only place they go, readable for its owner alone.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck disable=SC1091
. "$here/lib.sh"

declare -A value

# number NAME DEFAULT LOW HIGH: a setting that is a whole number.
number() {
  local given=${!1:-$2}
  if [[ ! $given =~ ^[0-9]{1,9}$ ]] || ((10#$given < $3 || 10#$given > $4)); then
    mistake "$1=$given is not a number from $3 to $4"
    return
  fi
  value[${1#PROXYSQL_}]=$((10#$given))
}

# server NAME DEFAULT: a setting that is HOST:PORT or the path of a Unix socket, for which ProxySQL has port 0.
server() {
  local given=${!1:-$2}
  if [[ $given =~ ^/[A-Za-z0-9_./-]+$ ]]; then
    value[${1}_HOST]=$given value[${1}_PORT]=0
    return
  fi
  if [[ ! $given =~ ^([A-Za-z0-9._-]+):([0-9]{1,5})$ ]] || ((10#${BASH_REMATCH[2]} < 1 || 10#${BASH_REMATCH[2]} > 65535)); then
    mistake "$1=$given is not HOST:PORT or an absolute path"
    return
  fi
  value[${1}_HOST]=${BASH_REMATCH[1]}
  value[${1}_PORT]=$((10#${BASH_REMATCH[2]}))
}

# matching NAME DEFAULT PATTERN WHAT: a setting that is text of a certain form.
matching() {
  local given=${!1:-$2}
  if [[ ! $given =~ $3 ]]; then
    mistake "$1=$given is not $4"
    return
  fi
  value[${1#PROXYSQL_}]=$given
}

# service_password NAME FILE: a password of the stack itself, which ProxySQL needs in a setting of its own.
service_password() {
  local password
  read_secret password "$secrets/$2" || return 0
  check_password "secret file $secrets/$2" "$password" || return 0
  # ProxySQL's settings take no quotes or backslashes, and the admin interface's separates names and passwords by : and ;
  if [[ $password == *[\"\\:\;]* ]]; then
    mistake "secret file $secrets/$2 holds one of \" \\ : ;"
    return 0
  fi
  value[$1]=$password
}

settings() {
  server MASTER master:3306
  server GATE gate:6035
  if [[ -z ${mistakes[*]-} && ${value[MASTER_HOST]}:${value[MASTER_PORT]} == "${value[GATE_HOST]}:${value[GATE_PORT]}" ]]; then
    mistake "MASTER and GATE are the same server"
  fi
  matching PROXYSQL_LISTEN 0.0.0.0:6033 '^([0-9.]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$' 'ADDRESS:PORT'
  matching PROXYSQL_SOCKET '' '^(/[A-Za-z0-9_./-]+)?$' 'an absolute path'
  matching PROXYSQL_SERVER_VERSION 8.4.0 '^[0-9]+\.[0-9]+\.[0-9]+[A-Za-z0-9._-]*$' 'a version like 8.4.6'
  matching PROXYSQL_MONITOR_USER multimed_monitor '^[A-Za-z0-9_.-]{1,32}$' 'a user name'
  matching PROXYSQL_DATADIR /run/proxysql '^/[A-Za-z0-9_./-]+$' 'an absolute path'
  number PROXYSQL_THREADS 2 1 128
  number PROXYSQL_MAX_CONNECTIONS 2048 1 1000000
  number PROXYSQL_MASTER_CONNECTIONS 500 1 100000
  number PROXYSQL_GATE_CONNECTIONS 1000 1 100000
  service_password MONITOR_PASSWORD monitor_password
  service_password ADMIN_PASSWORD proxysql_admin_password
  users
}

# users: one entry for each file in users/; what begins with a dot (.gitkeep, half-written files) is not a user.
users() {
  local file name password lines=
  for file in "$secrets"/users/*; do
    [[ -e $file ]] || continue
    name=${file##*/}
    check_user_name "$name" || continue
    read_secret password "$file" || continue
    check_password "password of user $name" "$password" || continue
    lines+="${lines:+$',\n'}    { username=\"$name\", password=\"$(cnf_string "$password")\", default_hostgroup=10, transaction_persistent=1 }"
  done
  value[USERS]=$lines
}

# render FILE: writes the configuration; all its {{NAMES}} have a value.
render() {
  local text name
  text=$(< "$here/proxysql.cnf.template")
  # The users come last: a password may look like a {{NAME}}.
  for name in "${!value[@]}"; do
    [[ $name == USERS ]] || text=${text//"{{$name}}"/"${value[$name]}"}
  done
  text=${text/"{{USERS}}"/"${value[USERS]}"}
  (
    umask 077
    rm -f "$1"
    printf '%s\n' "$text" > "$1"
  )
}

# check_port: ProxySQL would run on without a port that somebody else has.
check_port() {
  local listen=${value[LISTEN]}
  ! (connect "$listen") 2> /dev/null || {
    log error "event=start $listen is in use already"
    exit 1
  }
}

main() {
  secrets=${PROXYSQL_SECRETS_DIR:-/run/secrets}
  settings
  stop_on_mistakes
  # A further entry of ProxySQL's list.
  value[SOCKET]=${value[SOCKET]:+;${value[SOCKET]}}
  if [[ ${1:-} == render ]]; then
    render "$2"
    return
  fi
  check_port

  local datadir=${value[DATADIR]}
  (
    umask 077
    mkdir -p "$datadir"
  )
  render "$datadir/proxysql.cnf"
  log info "event=start master=${value[MASTER_HOST]}:${value[MASTER_PORT]} gate=${value[GATE_HOST]}:${value[GATE_PORT]} listen=${value[LISTEN]}${value[SOCKET]} users=$(grep -c "{ username=" "$datadir/proxysql.cnf" || true)"
  # A descriptor for each connection, at least; some engines begin containers with 1024.
  ulimit -S -n "$(ulimit -H -n)"
  # Without --initial ProxySQL reads the file only if it has no database of its own yet.
  exec proxysql -f --no-version-check --idle-threads --initial -D "$datadir" -c "$datadir/proxysql.cnf" "$@"
}

main "$@"
