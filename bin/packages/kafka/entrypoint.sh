#!/usr/bin/env bash
# Runs one Kafka broker from plain jars with the environment of the apache/kafka image. Comes in: KAFKA_* variables, CLUSTER_ID.
# Goes out: server.properties, a log directory formatted on first start, then the broker itself as this process.
# Must never format a directory that holds data.
set -euo pipefail

readonly properties=/tmp/server.properties

# Variables with this prefix that steer the JVM or the image, not the broker.
readonly not_settings='^KAFKA_(HEAP_OPTS|JVM_PERFORMANCE_OPTS|OPTS|JMX_OPTS|JMX_PORT|LOG4J_OPTS|LOG4J_.*|TOOLS_LOG4J_.*|GC_LOG_OPTS|VERSION)$'

# write_properties: KAFKA_A_B__C=v becomes a.b_c=v (___ becomes -).
write_properties() {
  local name key
  : > "$properties"
  while IFS= read -r name; do
    [[ $name =~ $not_settings ]] && continue
    key=${name#KAFKA_}
    key=${key,,}
    key=${key//___/-}
    key=${key//__/$'\x01'}
    key=${key//_/.}
    key=${key//$'\x01'/_}
    printf '%s=%s\n' "$key" "${!name}" >> "$properties"
  done < <(compgen -e KAFKA_)
}

# require NAME...: all mistakes at once.
require() {
  local name bad=0
  for name in "$@"; do
    if [[ -z ${!name:-} ]]; then
      echo "configuration: $name is missing" >&2
      bad=1
    fi
  done
  ((bad == 0)) || exit 64
}

# run_java MAIN_CLASS ARGS...: JVM options are word lists on purpose.
run_java() {
  # shellcheck disable=SC2086
  "${exec_with[@]}" java ${KAFKA_HEAP_OPTS:--Xms256m -Xmx512m} ${KAFKA_JVM_PERFORMANCE_OPTS:--XX:+UseSerialGC} ${KAFKA_OPTS:-} \
    -Dorg.slf4j.simpleLogger.defaultLogLevel="${KAFKA_LOG_LEVEL:-warn}" -cp '/opt/kafka/lib/*' "$@"
}

main() {
  require KAFKA_NODE_ID KAFKA_PROCESS_ROLES KAFKA_LISTENERS KAFKA_LOG_DIRS CLUSTER_ID
  write_properties
  exec_with=()
  local how=()
  # Without a fixed list of voters the first controller makes itself the only one.
  [[ -n ${KAFKA_CONTROLLER_QUORUM_VOTERS:-} ]] || how=(--standalone)
  run_java kafka.tools.StorageTool format --ignore-formatted --cluster-id "$CLUSTER_ID" --config "$properties" "${how[@]}"
  exec_with=(exec)
  run_java kafka.Kafka "$properties"
}

main "$@"
