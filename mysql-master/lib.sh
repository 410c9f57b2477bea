# Shell functions that the containers of this stack share.
# Comes in: settings and secret files. Goes out: messages on stderr, SQL and option-file literals.
# Must never put a secret on a command line or in a message.
# shellcheck shell=bash

# log LEVEL MESSAGE: one line on stderr.
log() { printf '%s level=%s component=%s %s\n' "$(date -u +%FT%TZ)" "$1" "${COMPONENT:-entrypoint}" "$2" >&2; }

# Mistakes in the settings are collected, so that all are reported at once.
mistakes=()
# mistake MESSAGE
mistake() { mistakes+=("$1"); }
# stop_on_mistakes: reports all mistakes and ends with EX_USAGE (64).
stop_on_mistakes() {
  local each
  ((${#mistakes[@]} == 0)) && return 0
  for each in "${mistakes[@]}"; do log error "setting: $each"; done
  exit 64
}

# need_secret VARIABLE FILE: reads FILE (one line, printable) into VARIABLE, or notes a mistake.
need_secret() {
  local value
  if [[ ! -r $2 ]]; then
    mistake "secret file $2 is missing or not readable"
    return
  fi
  value=$(< "$2")
  [[ -n $value ]] || mistake "secret file $2 is empty"
  [[ $value != *[[:cntrl:]]* ]] || mistake "secret file $2 holds control characters or several lines"
  printf -v "$1" '%s' "$value"
}

# bytes_of SIZE: 512m, 2g, 1048576 -> bytes; fails on anything else.
bytes_of() {
  local number unit
  [[ $1 =~ ^([0-9]+)([kKmMgG]?)[bB]?$ ]] || return 1
  number=${BASH_REMATCH[1]} unit=${BASH_REMATCH[2],,}
  case $unit in k) number=$((number << 10)) ;; m) number=$((number << 20)) ;; g) number=$((number << 30)) ;; esac
  printf '%s' "$number"
}

# sql_string TEXT: a quoted SQL string literal.
sql_string() {
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\'\'}"
}
# cnf_string TEXT: a quoted value for a MySQL option file.
cnf_string() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

# nonce: a random name of this boot; the gate reads it as @@global.report_host.
nonce() { printf 'boot-%s' "$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')"; }

# client_file FILE USER PASSWORD [SOCKET]: an option file for mysql and mysqldump inside this container.
client_file() {
  (
    umask 077
    printf '[client]\nuser=%s\npassword=%s\nsocket=%s\n' \
      "$2" "$(cnf_string "$3")" "${4:-/run/mysqld/mysqld.sock}" > "$1"
  )
}

# own DIRECTORY...: makes directories that mysqld may write to.
own() { mkdir -p "$@" && chown mysql:mysql "$@"; }
