# Shell functions of the front door's container.
# Comes in: settings and secret files. Goes out: messages on stderr, checked values, literals.
# Must never put a secret on a command line or in a message.
# shellcheck shell=bash

# Names and passwords are bytes here: no locale may change what a pattern means.
LC_ALL=C

# log LEVEL MESSAGE: one line on stderr.
log() { printf '%s level=%s component=proxysql %s\n' "$(date -u +%FT%TZ)" "$1" "$2" >&2; }

# connect ADDRESS:PORT: a connection as descriptor 3; where ProxySQL listens on all addresses, by the loopback one. No fork.
connect() {
  local address=${1%:*}
  address=${address//[\[\]]/}
  case $address in 0.0.0.0) address=127.0.0.1 ;; ::) address=::1 ;; esac
  exec 3<> "/dev/tcp/$address/${1##*:}"
}

# Mistakes are collected, so that all are reported at once.
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

# read_secret VARIABLE FILE: the content of FILE without its last newline, or a mistake and a failure.
read_secret() {
  local value
  if [[ ! -f $2 || ! -r $2 ]]; then
    mistake "secret file $2 is missing or not readable"
    return 1
  fi
  # read stops at a NUL byte with success, at the end of the file with failure.
  if IFS= read -r -d '' value < "$2"; then
    mistake "secret file $2 holds a NUL byte"
    return 1
  fi
  printf -v "$1" '%s' "${value%$'\n'}"
}

# check_password WHAT PASSWORD: notes a mistake and fails if ProxySQL could not take it.
check_password() {
  local wrong=
  case $2 in
    '') wrong='is empty' ;;
    *[[:cntrl:]]*) wrong='holds control characters or several lines' ;;
    # ProxySQL puts the value between single quotes into SQL as it stands.
    *\'*) wrong='holds a single quote, which ProxySQL cannot take' ;;
    # These two it would take for a hash.
    \*[0-9A-Fa-f]*) [[ $2 =~ ^\*[0-9A-Fa-f]{40}$ ]] && wrong='looks like the hash of a password' ;;
    \$A\$0*) wrong='looks like the hash of a password' ;;
  esac
  [[ -z $wrong ]] && return 0
  mistake "$1 $wrong"
  return 1
}

# check_user_name NAME: notes a mistake and fails unless NAME can be a file name and a MySQL user.
check_user_name() {
  [[ $1 =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$ ]] && return 0
  mistake "user name '${1//[^[:print:]]/?}': 1 to 32 letters, digits, or _ . - are possible, beginning with a letter, a digit or _"
  return 1
}

# sql_string TEXT: an SQL string literal as SQLite (ProxySQL's admin interface) reads it.
sql_string() { printf "'%s'" "${1//\'/\'\'}"; }
# cnf_string TEXT: TEXT as it stands between double quotes in ProxySQL's configuration file.
cnf_string() {
  local text=${1//\\/\\\\}
  printf '%s' "${text//\"/\\\"}"
}
