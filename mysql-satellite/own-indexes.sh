# A satellite's own indexes: asked for by name in conf.d, there besides the master's, unknown to clients. Sourced by entrypoint.sh.
# Comes in: conf.d/NAME/indexes, one index a line: schema.table (column, column(length) DESC). Goes out: these indexes, named after
# their lines, and no others of such names.
# Must never: run anything of the file that is not a name, a length or a direction; make an index UNIQUE; keep readers or the applier
# waiting for longer than a second; or take the place of an index that the master has.
# shellcheck shell=bash disable=SC2154

own_prefix=multimed_own_
own_pause=10 own_longest_pause=300
# By line: as written, the table quoted, schema and table as SQL strings, key parts, the index's name.
own_lines=() own_tables=() own_schemas=() own_names=() own_parts=() own_indexes=()

# own_text QUOTED: the name that stands in backquotes, or bare.
own_text() {
  local text=$1
  if [[ $text == \`* ]]; then text=${text:1:${#text}-2} text=${text//\`\`/\`}; fi
  printf '%s' "$text"
}

# own_line TEXT: one index, or a mistake.
own_line() {
  # shellcheck disable=SC2016 # the backticks are MySQL's
  local name='(`([^`\\[:cntrl:]]|``)+`|[0-9A-Za-z_$]+)' blank='[[:blank:]]*' part pattern index
  part="${name}(${blank}[(]${blank}[1-9][0-9]*${blank}[)])?([[:blank:]]+([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc]))?"
  pattern="^${name}[.]${name}${blank}[(]${blank}(${part}(${blank},${blank}${part})*)${blank}[)]\$"
  [[ $1 =~ $pattern ]] || {
    mistake "$own_file: not an index like shop.orders (customer, created DESC): $1"
    return
  }
  index=$own_prefix$(printf '%s' "$1" | sha256sum | cut -c1-12)
  [[ " ${own_indexes[*]} " != *" $index "* ]] || {
    mistake "$own_file: twice: $1"
    return
  }
  own_lines+=("$1") own_indexes+=("$index") own_parts+=("${BASH_REMATCH[5]}")
  own_schemas+=("$(sql_string "$(own_text "${BASH_REMATCH[1]}")")") own_names+=("$(sql_string "$(own_text "${BASH_REMATCH[3]}")")")
  own_tables+=("${BASH_REMATCH[1]}.${BASH_REMATCH[3]}")
}

# read_own_indexes FILE: all lines of it, if it is there; # begins a comment.
read_own_indexes() {
  local line own_file=$1
  [[ -e $1 ]] || return 0
  [[ -f $1 && -r $1 ]] || {
    mistake "$1 is not a readable file"
    return
  }
  while IFS= read -r line || [[ -n $line ]]; do
    line=${line%%#*}
    line=${line#"${line%%[![:space:]]*}"}
    line=${line%"${line##*[![:space:]]}"}
    [[ -z $line ]] || own_line "$line"
  done < "$1"
}

# drop_unwanted: what a donor had, and this satellite should not.
drop_unwanted() {
  local i wanted="('','','')"
  for i in "${!own_lines[@]}"; do wanted+=",(${own_schemas[i]},${own_names[i]},'${own_indexes[i]}')"; done
  run_listed "
    SELECT CONCAT('ALTER TABLE ', $(quoted table_schema table_name), ' DROP INDEX ', index_name, ';') FROM information_schema.statistics
    WHERE index_name REGEXP '^${own_prefix}[0-9a-f]{12}\$' AND seq_in_index = 1
    AND (table_schema, table_name, index_name) NOT IN ($wanted)"
}

# own_states: for each line its number, whether the table is there, and whether the index is.
own_states() {
  local i query='' where
  for i in "${!own_lines[@]}"; do
    where="table_schema = ${own_schemas[i]} AND table_name = ${own_names[i]}"
    query+="${query:+ UNION ALL }SELECT $i, EXISTS (SELECT 1 FROM information_schema.tables WHERE $where AND table_type = 'BASE TABLE'),
      EXISTS (SELECT 1 FROM information_schema.statistics WHERE $where AND index_name = '${own_indexes[i]}')"
  done
  local_sql "$query"
}

# lost_keys NUMBER KEYS: indexes that MySQL made for foreign keys by itself and would throw away for this one: clients may name them in hints.
# Tried on an empty copy, since nothing tells them from others.
lost_keys() {
  local trial=${own_tables[$1]%.*}.multimed_own_trial keys
  [[ $2 != 0:* ]] || return 0
  keys=$(local_sql "CREATE TEMPORARY TABLE $trial LIKE ${own_tables[$1]}; SHOW INDEX FROM $trial;
    CREATE INDEX ${own_indexes[$1]} ON $trial (${own_parts[$1]}); SELECT 'then'; SHOW INDEX FROM $trial" 2> /dev/null) || return 0
  comm -23 <(sed '/^then$/,$d' <<< "$keys" | cut -f3 | sort -u) <(sed '1,/^then$/d' <<< "$keys" | cut -f3 | sort -u) | paste -sd,
}

# foreign_keys NUMBER: the expression that tells which ones the table has; by a checksum, since their names may hold anything.
foreign_keys() {
  printf '%s' "(SELECT CONCAT(COUNT(*), ':', SHA2(COALESCE(GROUP_CONCAT(HEX(constraint_name) ORDER BY constraint_name), ''), 256))
    FROM information_schema.referential_constraints WHERE constraint_schema = ${own_schemas[$1]} AND table_name = ${own_names[$1]})"
}

# creation NUMBER KEYS: the statements. While the applier executes one that depends on indexes, it holds the lock: afterwards the table may
# have foreign keys besides KEYS, for which the index was not tried.
creation() {
  local index="CREATE INDEX ${own_indexes[$1]} ON ${own_tables[$1]} (${own_parts[$1]}) ALGORITHM = INPLACE LOCK = NONE"
  printf '%s;\n' 'SET lock_wait_timeout = 1' "DO GET_LOCK('multimed_own_indexes', 86400)" \
    "SET @make = IF($(foreign_keys "$1") = $(sql_string "$2"), $(sql_string "$index"), $(sql_string "SELECT 'foreign keys have changed'"))" \
    'PREPARE make FROM @make' 'EXECUTE make'
}

# make_own_index NUMBER: a second's wait for the table at most; goes on stdout what is wrong.
make_own_index() {
  local lost keys began=$EPOCHREALTIME micros error
  keys=$(local_sql "SELECT $(foreign_keys "$1")")
  lost=$(lost_keys "$1" "$keys")
  if [[ -n $lost ]]; then
    echo "it would replace the index $lost, which a foreign key has by itself: create that index explicitly on the master"
    return 1
  fi
  error=$(local_sql "$(creation "$1" "$keys")" 2>&1) || true
  if [[ -n $error ]]; then
    echo "${error//$'\n'/ }"
    return 1
  fi
  micros=$((${EPOCHREALTIME/./} - ${began/./}))
  log info "event=own-index-made index=${own_indexes[$1]} line=\"${own_lines[$1]}\" seconds=$((micros / 1000000)).$(printf '%03d' $((micros / 1000 % 1000)))"
}

# own_failed NUMBER WHY: logged once for each reason. What needs another table or column is looked for at every turn, the rest less often.
own_failed() {
  if [[ $2 != "${own_said[$1]:-}" ]]; then log warn "event=own-index-missing line=\"${own_lines[$1]}\" reason=\"$2\""; fi
  own_said[$1]=$2
  [[ ! $2 =~ 'ERROR 1072 '|'no such table'|'have changed' ]] || return 0
  own_pauses[$1]=$((2 * ${own_pauses[$1]:-own_pause}))
  ((own_pauses[$1] < own_longest_pause)) || own_pauses[$1]=$own_longest_pause
  own_due[$1]=$((EPOCHSECONDS + own_pauses[$1]))
}

# make_missing: every index whose turn it is.
make_missing() {
  local i table index why states
  ((${#own_lines[@]} > 0)) || return 0
  states=$(own_states) || return 1
  while read -r i table index; do
    if ((table == 0)); then
      own_failed "$i" 'no such table'
    elif ((index == 1)); then
      own_said[i]='' own_pauses[i]=$own_pause
    elif ((EPOCHSECONDS >= ${own_due[i]:-0})); then
      why=$(make_own_index "$i") || own_failed "$i" "$why"
    fi
  done <<< "$states"
}

# keep_own_indexes: makes again what the applier had to drop, and those of tables that come later, until this mysqld ends. Then its
# connection is lost or, a moment later, its account is gone.
keep_own_indexes() {
  ((${#own_lines[@]} > 0)) || return 0
  while sleep "$own_pause" && kill -0 "$mysqld_pid" 2> /dev/null; do
    make_missing 2> >(grep -v '^ERROR \(20\|1045\)' >&2) || true
  done
}

# prepare_own_indexes: while nobody else is here. A line that cannot be had is no reason to stay away.
prepare_own_indexes() {
  own_said=() own_pauses=() own_due=()
  drop_unwanted && make_missing
}
