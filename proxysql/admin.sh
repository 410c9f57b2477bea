# A client for ProxySQL's admin interface in bash, with Debian's basic perl for its Unix socket: an image of ProxySQL need not hold a MySQL client.
# Comes in: statements that return no rows. Goes out: a failure and the server's message on stderr.
# Must never put a password on a command line: bytes travel through pipes only.
# Protocol: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html (packets are hexadecimal text here)
# shellcheck shell=bash

hex() { od -An -v -tx1 | tr -d ' \n'; }
# unhex DIGITS: the bytes.
unhex() {
  local digits=$1 at format=
  for ((at = 0; at < ${#digits}; at += 2)); do format+="\\x${digits:at:2}"; done
  # shellcheck disable=SC2059
  printf "$format"
}
# text_hex TEXT
text_hex() { printf '%s' "$1" | hex; }
# sha1_hex: of the bytes on stdin.
sha1_hex() {
  local sum
  sum=$(sha1sum)
  printf '%s' "${sum%% *}"
}
# xor_hex A B
xor_hex() {
  local at
  for ((at = 0; at < ${#1}; at += 2)); do printf '%02x' $((0x${1:at:2} ^ 0x${2:at:2})); done
}

# bytes between stdin, stdout and the Unix socket that the argument names
# shellcheck disable=SC2016 # perl's variables
relay='
  my $server = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 1;
  my $both = IO::Select->new($server, \*STDIN);
  for (;;) {
    for my $from ($both->can_read) {
      sysread($from, my $bytes, 65536) or exit;
      syswrite($from == $server ? \*STDOUT : $server, $bytes);
    }
  }'

# receive: the next packet into $packet.
receive() {
  local header
  header=$(head -c 4 <&"$from_admin" | hex)
  if ((${#header} != 8)); then
    log error "admin interface closed the connection"
    return 1
  fi
  packet=$(head -c $((0x${header:4:2}${header:2:2}${header:0:2})) <&"$from_admin" | hex)
}

# transmit SEQUENCE DIGITS
transmit() {
  local length=$((${#2} / 2))
  unhex "$(printf '%02x%02x%02x%02x' $((length & 255)) $((length >> 8 & 255)) $((length >> 16)) "$1")$2" >&"$to_admin"
}

# is_ok: whether $packet is an OK.
is_ok() {
  case $packet in
    00*) return 0 ;;
    ff*) log error "admin interface: $(unhex "${packet:18}" | tr -c '[:print:]' ' ')" ;;
    *) log error "admin interface: unexpected packet" ;;
  esac
  return 1
}

# native_answer PASSWORD SALT: the answer of mysql_native_password.
native_answer() {
  local once twice
  once=$(printf '%s' "$1" | sha1_hex)
  twice=$(unhex "$once" | sha1_hex)
  xor_hex "$once" "$(unhex "$2$twice" | sha1_hex)"
}

# admin_connect SOCKET PASSWORD: logs in as admin on this machine.
admin_connect() {
  local rest salt
  coproc perl -MIO::Socket::UNIX -MIO::Select -e "$relay" "$1"
  # Subshells have no descriptors of a coprocess, but copies of them.
  exec {from_admin}<&"${COPROC[0]}" {to_admin}>&"${COPROC[1]}"
  receive || {
    log error "admin interface does not listen on $1"
    return 1
  }
  rest=${packet#0a}
  # The server's version ends with a zero byte: the first one at an even place.
  while [[ -n $rest && ${rest:0:2} != 00 ]]; do rest=${rest:2}; done
  # 00, connection id (4), salt (8), filler and capabilities (19), salt (12)
  salt=${rest:10:16}${rest:64:24}
  # Protocol 4.1, secure connection, plugin names; 16 MiB; utf8mb4; 23 zeros; admin; answer; plugin.
  transmit 1 "0182080000000001$(printf '2d%046d' 0)$(text_hex admin)0014$(native_answer "$2" "$salt")$(text_hex mysql_native_password)00"
  receive || return 1
  if [[ $packet == fe* ]]; then
    # Sessions use another plugin by default, so this one is asked for again, with another salt: 20 bytes before a zero.
    transmit 3 "$(native_answer "$2" "${packet: -42:40}")"
    receive || return 1
  fi
  is_ok
}

# admin_execute STATEMENT
admin_execute() { transmit 0 "03$(text_hex "$1")" && receive && is_ok; }
