# An existing MySQL that is to come to Multimed, as `make precheck` and `make adopt` reach it. Sourced, after bin/lib.sh and mysql-master/lib.sh.
# Comes in: MYSQL=host:port or [IPv6 address]:port, NAME, PASSWORD_FILE or a terminal. Goes out: functions that run MySQL's own clients against it.
# Must never put a password on a command line, in the environment or in a message.
# shellcheck shell=bash disable=SC2154

client_image() { printf 'multimed/mysql-master:%s' "$MULTIMED_VERSION"; }

# host_and_port VARIABLE EXAMPLE: sets host and port (empty if there is none) from HOST, HOST:PORT or [IPv6]:PORT, or notes a mistake.
host_and_port() {
  host='' port=''
  if [[ ${!1:-} =~ ^\[([0-9A-Fa-f:.]+)\](:([0-9]{1,5}))?$ || ${!1:-} =~ ^([A-Za-z0-9._-]+)(:([0-9]{1,5}))?$ ]]; then
    host=${BASH_REMATCH[1]} port=${BASH_REMATCH[3]}
    [[ -z $port ]] || ((10#$port > 0 && 10#$port < 65536)) || mistake "$1=${!1}: $port is no port"
  elif [[ ${!1:-} == *:*:* ]]; then
    # Whether its last part is a port, nobody can tell.
    mistake "$1=${!1}: an IPv6 address stands in brackets, as in $1=[2001:db8::5]:3306"
  else
    mistake "$1=${!1:-} is not HOST:PORT ($2)"
  fi
}

# check_source: notes mistakes; sets source_host, source_port, source_password.
check_source() {
  local host port
  host_and_port MYSQL "make $me MYSQL=db.example:3306"
  source_host=$host source_port=${port:-3306} source_password=''
  : "${NAME:=root}"
  [[ $NAME != *[[:cntrl:]]* ]] || mistake "NAME holds control characters"
  if [[ -n ${PASSWORD_FILE:-} ]]; then
    need_secret source_password "$PASSWORD_FILE"
  elif [[ ! -t 0 ]]; then
    mistake "PASSWORD_FILE is empty, and there is no terminal to ask for the password of $NAME"
  fi
}

ask_password() {
  [[ -n ${PASSWORD_FILE:-} ]] || {
    IFS= read -r -s -p "Password of $NAME at $MYSQL: " source_password || true
    printf '\n' >&2
    # As with PASSWORD_FILE.
    [[ -n $source_password ]] || {
      say "the password is empty: nothing was done"
      exit 64
    }
  }
}

need_client_image() {
  docker info > /dev/null 2>&1 || die "no Docker engine runs: make images"
  docker image inspect "$(client_image)" > /dev/null 2>&1 || die "there is no image $(client_image), which has MySQL's clients: make images"
}

# source_options: how to log in, and an empty line as the end. A server that has TLS is spoken to by TLS.
source_options() {
  printf '[client]\nhost=%s\nport=%s\nprotocol=tcp\nuser=%s\npassword=%s\nget-server-public-key\n\n' \
    "$source_host" "$source_port" "$(cnf_string "$NAME")" "$(cnf_string "$source_password")"
}

# with_client SCRIPT [ARGUMENT...]: bash in a container that has MySQL's clients, in the host's network. It reads the options from stdin
# into the file $options; what follows on stdin is the script's. The operator's own settings of the master are there, too.
with_client() {
  # shellcheck disable=SC2016 # the container's
  docker run --rm -i --network host --label multimed.adopt=yes -v "$root/mysql-master/conf.d:/etc/multimed/conf.d:ro" \
    --entrypoint bash "$(client_image)" -c '
      umask 077
      options=$(mktemp)
      while IFS= read -r line && [[ -n $line ]]; do printf "%s\n" "$line"; done > "$options"
      '"$1" "$me" "${@:2}"
}
