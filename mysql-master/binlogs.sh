# A bound in bytes for the master's binlogs, which MySQL keeps by time alone. Sourced by the master's entrypoint.
# Comes in: lib.sh, /run/multimed/client.cnf. Goes out: PURGE BINARY LOGS, and a line in the log for each.
# Must never purge: what somebody reads, and the file before it, of which capture may have something to write yet; the two newest files, of
# which capture compares the newest transaction at its start; anything while capture is away for a moment. While Kafka is away capture reads
# on, so what the log lacks is not kept: whoever followed capture has it. And a capture that stays away does
# not keep them: then satellites clone, where the master would stop for want of room.
# shellcheck shell=bash

binlogs_every_s=10
# Capture is back sooner after all that it mends by itself.
binlogs_patience_s=60

# How many captures read, and the oldest file that anybody has open; and each file with its size, the oldest first.
binlogs_query="SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_user = 'multimed_capture' AND processlist_command LIKE 'Binlog Dump%';
  SELECT SUBSTRING_INDEX(MIN(file_name), '/', -1) FROM performance_schema.file_instances
    WHERE event_name = 'wait/io/file/sql/binlog' AND open_count > 0;
  SHOW BINARY LOGS;"

# purge_to BOUND OPEN < FILES: the oldest file to keep so that all are not more than BOUND; nothing where none is to go. FILES: name, size.
# Fails where what must stay is more than BOUND.
purge_to() {
  local names=() sizes=() total=0 name size i
  while read -r name size _; do
    names+=("$name") sizes+=("$size") total=$((total + size))
  done
  for ((i = 0; i + 2 < ${#names[@]} && total > $1; i++)); do
    [[ ${names[i]} != "$2" && ${names[i + 1]} != "$2" ]] || break
    total=$((total - sizes[i]))
  done
  ((i == 0)) || printf '%s' "${names[i]}"
  ((total <= $1))
}

# bound_binlogs BOUND: for ever.
bound_binlogs() {
  local client=(mysql --defaults-file=/run/multimed/client.cnf --batch --skip-column-names) found to away=0 beyond=''
  while sleep "$binlogs_every_s"; do
    mapfile -t found < <("${client[@]}" <<< "$binlogs_query" 2> /dev/null)
    ((${#found[@]} > 2)) || continue
    away=$((found[0] > 0 ? 0 : away + binlogs_every_s))
    if to=$(printf '%s\n' "${found[@]:2}" | purge_to "$1" "${found[1]}"); then
      beyond=''
    elif [[ -z $beyond ]]; then
      beyond=yes
      log warn "event=binlogs-beyond-bound bound=$1 oldest_in_use=${found[1]} reason=\"somebody reads old ones, or the two newest are larger\""
    fi
    if [[ -z $to ]] || ((away > 0 && away <= binlogs_patience_s)); then continue; fi
    if ! "${client[@]}" <<< "PURGE BINARY LOGS TO '$to'"; then
      log warn "event=binlogs-not-purged to=$to next=again"
    elif ((away == 0)); then
      log info "event=binlogs-purged to=$to bound=$1"
    else
      log warn "event=binlogs-purged to=$to bound=$1 capture=away consequence=\"what it has not read makes satellites clone again\""
    fi
  done
}
