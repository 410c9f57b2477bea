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

# bytes_of SIZE: 512m, 2g, 1048576 -> bytes; fails on anything else, and on more than a PiB, of which a sum could be more than 64 bits hold.
bytes_of() {
  local number shift=0
  [[ $1 =~ ^0*([0-9]{1,16})([kKmMgG]?)[bB]?$ ]] || return 1
  number=$((10#${BASH_REMATCH[1]}))
  case ${BASH_REMATCH[2],,} in k) shift=10 ;; m) shift=20 ;; g) shift=30 ;; esac
  ((number <= 1 << (50 - shift))) || return 1
  printf '%s' "$((number << shift))"
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
      "$2" "$(cnf_string "$3")" "${4:-/run/mysqld/mysqld.sock}" > "$1.new"
  )
  mv "$1.new" "$1"
}

# pool_now BYTES: the buffer pool that this server has got while it ran (bin/sizes.py), else that which it was made with.
pool_now() { cat /var/lib/multimed/buffer_pool 2> /dev/null || printf '%s' "$1"; }

# What a mysqld needs at least beside its buffer pool and its data.
# shellcheck disable=SC2034
overhead=$((400 << 20))
# Of 9.7, measured: a mysqld without sessions, beside a sixteenth of the buffer pool that manages it; the kernel's part of a container.
mysqld_base=$((464 << 20))
kernel_base=$((32 << 20))
# A session that has asked for nothing yet: its stack, which a deep statement fills (MySQL's default up to 8.0.26); its place in the
# performance schema and its buffers; the kernel's part of it.
thread_stack=$((280 << 10))
session_base=$((208 << 10))
session_kernel=$((40 << 10))

# memory_limit: of this container, in bytes, or max.
memory_limit() {
  cat /sys/fs/cgroup/memory.max 2> /dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null || echo max
}

# tmpfs_size DIRECTORY: in bytes; 0: it is on disk.
tmpfs_size() { if [[ $(stat -f -c %T "$1") == tmpfs ]]; then df -B1 --output=size "$1" | tail -n 1 | tr -d ' '; else echo 0; fi; }

# between LEAST NUMBER MOST
between() { printf '%d' $(($2 < $1 ? $1 : $2 > $3 ? $3 : $2)); }

# sized_settings POOL DATADIR: as an option file, what MySQL otherwise takes from the whole machine, by MySQL's own rules, but from this
# server's own cores and memory. 9.7 sees its cores, and no container's memory; 8.4 counts the machine's cores.
sized_settings() {
  local cores pool=$1 hint
  cores=$(nproc)
  hint=$((pool >> 28 < cores / 4 ? pool >> 28 : cores / 4))
  echo '[mysqld]'
  printf 'innodb_read_io_threads=%d\n' "$(between 4 $((cores / 2)) 64)"
  printf 'innodb_parallel_read_threads=%d\n' "$(between 4 $((cores / 8)) 256)"
  printf 'innodb_purge_threads=%d\n' $((cores > 16 ? 4 : 1))
  printf 'innodb_buffer_pool_instances=%d\n' "$((pool > 1 << 30 ? $(between 1 "$hint" 64) : 1))"
  printf 'thread_stack=%d\n' "$thread_stack"
  memory_bounds "$pool" "$2"
}

# limited: whether this container has a limit of memory.
limited() { [[ $(memory_limit) != max ]] && (($(memory_limit) <= 1 << 50)); }

# memory_bounds POOL DATADIR: the settings that keep all that sessions may take within the container's memory, if that has a limit.
# Of what pool, data and mysqld itself leave, a third at most is for idle sessions. Of the rest an eighth is for temporary tables, five for what
# sessions ask for; a quarter is left, since MySQL ends a session only after it has got what was too much (heap_limit).
memory_bounds() {
  local pool=$1 each=$((thread_stack + session_base + session_kernel)) spare sessions rest
  if ! limited; then
    echo max_connections=2000
    return
  fi
  spare=$(($(memory_limit) - pool - pool / 16 - $(tmpfs_size "$2") - mysqld_base - kernel_base))
  sessions=$(between 100 $((spare / 3 / each)) 2000)
  rest=$((spare - sessions * each))
  printf 'max_connections=%d\n' "$sessions"
  # Beyond that temporary tables go to the temporary tablespace.
  printf 'temptable_max_ram=%d\n' "$(between $((16 << 20)) $((rest / 8)) $((4 << 30)))"
  printf 'global_connection_memory_limit=%d\n' "$(between $((32 << 20)) $((rest * 5 / 8)) $((1 << 50)))"
  # Less, so that who takes all that one may does not make the next request of anybody else fail.
  printf 'connection_memory_limit=%d\n' "$(between $((24 << 20)) $((rest / 2)) $((1 << 50)))"
}

# heap_limit POOL DATADIR: how much mysqld may ask of malloc, in bytes: all that is left for it. MySQL counts a session's memory after it was
# given, and one statement may ask thousands of times before it is ended; what does not fit is refused when it is asked for. That is the second
# line only: MySQL does not bear everywhere to be refused (a large hexadecimal literal ends it). User variables, which it never counts, can get there.
heap_limit() {
  local fits needed=$((mysqld_base + 100 * session_base + (96 << 20)))
  fits=$(($(memory_limit) - $(tmpfs_size "$2") - kernel_base - $(bound max_connections "$@") * session_kernel - $(beside_heap "$@")))
  echo $((fits > needed ? fits : needed))
}

# data_limit POOL DATADIR: the same as the system counts it, in bytes.
data_limit() { echo $(($(heap_limit "$@") + $(beside_heap "$@"))); }

# bound NAME POOL DATADIR: one of the settings.
bound() { memory_bounds "$2" "$3" | sed -n "s/^$1=//p"; }

# beside_heap POOL DATADIR: what mysqld takes without malloc: its buffer pool, stacks, and memory of temporary tables (libnuma).
beside_heap() { echo $(($1 + $1 / 16 + $(bound max_connections "$@") * thread_stack + $(limited && bound temptable_max_ram "$@" || echo 0))); }

# bound_memory POOL DATADIR: for the mysqld that this process becomes. The file `bounded` names what refuses it more, and the heap's limit.
bound_memory() {
  local by=tcmalloc arenas
  rm -f /run/multimed/bounded
  limited || return 0
  # Debian's mysqld has tcmalloc, which gives memory back, but never its addresses: the system's limit would stay reached.
  if [[ $(ldd "$(command -v mysqld)") == *tcmalloc* ]]; then
    export TCMALLOC_HEAP_LIMIT_MB=$(($(heap_limit "$@") >> 20))
  else
    by=system
    # Threads of InnoDB's have the system's stack, of 8 MiB, which counts whether it is used or not.
    ulimit -S -s 2048
    ulimit -S -d $(($(data_limit "$@") >> 10))
    # What malloc keeps for itself counts, too: it has few arenas where there is little memory, and gives back at once what is large.
    arenas=$(between 2 $(($(heap_limit "$@") >> 28)) $((8 * $(nproc))))
    export MALLOC_MMAP_THRESHOLD_=$((4 << 20)) MALLOC_TRIM_THRESHOLD_=$((8 << 20)) MALLOC_ARENA_MAX=$arenas
  fi
  echo "$by $(heap_limit "$@")" > /run/multimed/bounded
}

# controlled_sql: MySQL by itself counts only some of what a session takes, and no strings, packets or log events. Nothing is here that sessions
# share; nor variables, whose memory MySQL asks for under the lock that it needs to end the session: that session would hang for ever.
controlled_sql() {
  local names
  printf -v names "'memory/%s', " sql/{String::value,NET::buff,NET::compress_packet,Log_event,Row_data_memory::memory,JSON,JOIN_CACHE} \
    sql/{Geometry::ptr_and_wkb_data,write_set_extraction} mysys/IO_CACHE
  printf "UPDATE performance_schema.setup_instruments SET FLAGS = 'controlled' WHERE NAME IN (%s);\n" "${names%, }"
}

# facts DATADIR: what the gate's status page shows of this container: cores, CPU time, memory without what the system may drop at once, and
# the fill of the data's file system.
facts() {
  local name value group=/sys/fs/cgroup kind block blocks free left cpu='' memory='' limit='' droppable=0
  printf 'at=%s\n' "$EPOCHSECONDS"
  while read -r name value; do
    if [[ $name == Cpus_allowed_list: ]]; then printf 'cores=%s\n' "$value"; fi
  done < /proc/self/status
  if [[ -r $group/memory.current ]]; then
    read -r memory < "$group/memory.current"
    read -r limit < "$group/memory.max"
    read -r _ cpu < "$group/cpu.stat"
  elif [[ -r $group/memory/memory.usage_in_bytes ]]; then
    group+=/memory
    read -r memory < "$group/memory.usage_in_bytes"
    read -r limit < "$group/memory.limit_in_bytes"
    read -r cpu < /sys/fs/cgroup/cpuacct/cpuacct.usage
    cpu=$((cpu / 1000))
  fi
  if [[ -n $memory ]]; then
    while read -r name value; do
      if [[ $name == inactive_file || $name == total_inactive_file ]]; then droppable=$value; fi
    done < "$group/memory.stat"
    printf 'cpu_us=%s\nmemory=%s\n' "$cpu" $((memory - droppable))
    # Nearly all that 64 bits can say: no limit.
    [[ $limit == max ]] || ((limit > 1 << 50)) || printf 'memory_limit=%s\n' "$limit"
  fi
  read -r kind block blocks free left < <(stat -f -c '%T %S %b %f %a' "$1")
  [[ $kind == tmpfs ]] || kind=disk
  printf 'data=%s\ndata_size=%s\ndata_kind=%s\n' $(((blocks - free) * block)) $(((blocks - free + left) * block)) "$kind"
}

# tell_facts FILE DATADIR [MORE]: for ever, while somebody looks: the gate touches the file `watched` beside FILE. With what is in the file MORE.
# For everybody who sees the volume, whatever the umask here. While nobody looks, no process is started.
tell_facts() {
  local watched=${1%/*}/watched never
  umask 022
  exec {never}<> <(:)
  while :; do
    if [[ $watched -nt $1 ]] && { facts "$2" && { [[ ! -e ${3:-} ]] || cat "$3"; }; } > "$1.new"; then mv "$1.new" "$1"; fi
    read -rt 1 -u "$never" || true
  done
}

# own DIRECTORY...: makes directories that mysqld may write to.
own() { mkdir -p "$@" && chown mysql:mysql "$@"; }

# own_socket SOCKET NUMBER: its directory, where no other server that shares the volume can put one of its own: mysqld's user has this number,
# which no other server's has. What somebody else has put there goes.
own_socket() {
  local home=${1%/*}
  sed -i -E "s/^(mysql:[^:]*:)[0-9]+:/\1$2:/" /etc/passwd
  [[ ! -e $home && ! -L $home || $(stat -c %u "$home") == "$2" ]] || rm -rf "$home"
  own "$home"
}
