# A test stack's own names, ports, secrets and sizes, apart from an operator's stack on the same machine. Sourced.
# Comes in: TEST_STACK: main (default), faults, operators or plain (see lib/stacks.sh). Goes out: exported settings, which win over .env.
# shellcheck shell=bash

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
test_state=$repository/.state/test

export COMPOSE_PROJECT_NAME=${TEST_PROJECT_NAME:-multimed-test}
export TEST_STATE=$test_state
test_port_offset=0
if [[ ${TEST_STACK:-main} != main ]]; then
  COMPOSE_PROJECT_NAME+=-$TEST_STACK
  TEST_STATE+=/$TEST_STACK
  test_port_offset=100
  if [[ $TEST_STACK == plain ]]; then test_port_offset=200; fi
  if [[ $TEST_STACK == operators ]]; then test_port_offset=300; fi
fi
export SECRETS_DIR=$TEST_STATE/secrets
export LAYOUT_FILE=$TEST_STATE/layout.yml LAYOUT_DIR=$TEST_STATE/layout
export COMPOSE_FILE=$repository/docker-compose.yml:$LAYOUT_FILE:$repository/tests/compose.yml
# What MySQL is told beside: see the files in there.
export TEST_MYSQL_CONF=$repository/tests/mysql-conf.d/main
[[ ${TEST_STACK:-} != faults ]] || TEST_MYSQL_CONF=$repository/tests/mysql-conf.d/faults
export BIND_ADDRESS=127.0.0.1
export FRONT_PORT=$((${TEST_FRONT_PORT:-16033} + test_port_offset))
export GATE_PORT=$((${TEST_GATE_PORT:-16034} + test_port_offset))
export STATUS_PORT=$((${TEST_STATUS_PORT:-18080} + test_port_offset))
export PROMETHEUS_PORT=$((${TEST_PROMETHEUS_PORT:-19090} + test_port_offset))
export GRAFANA_PORT=$((${TEST_GRAFANA_PORT:-13000} + test_port_offset))
# Only tests of Prometheus start it.
export COMPOSE_PROFILES=''
# A short path: a socket's takes 107 bytes at most.
export SOCKET_DIR=/run/$COMPOSE_PROJECT_NAME
export SATELLITES=2 SATELLITE_TMPFS=1g SATELLITE_BUFFER_POOL=128m SATELLITE_MEMORY=4g
export MASTER_BUFFER_POOL=256m MASTER_MEMORY=2g
# An operator's pinning of cores, and declaration of servers, is not the test stack's.
export MULTIMED_FILE='' LAYOUT_CPUS='' MASTER_CPUS='' LOG_CPUS='' GATE_CPUS='' SATELLITE_1_CPUS='' SATELLITE_2_CPUS=''
# The gate of tests/compose.yml; production's is not built.
export GATE_FEATURES=test-break
# Of tests that are not about it, no result may depend on what the gate has found.
export GATE_SERVER_RUNNING=fixed:64 GATE_HEAVY_MS=0
# What satellites do is what is tested: the master answers only what they can't.
export GATE_MASTER_READS=fallback
# Tests count transactions: only those that are about it compare tables meanwhile.
export COMPARE_HOURS=0
export GATE_TEST_BREAK='' APPLIER_TEST_DELAY_MS='' APPLIER_TEST_SKIP_ROW_EVERY='' CAPTURE_TEST_FAULT=''
export PYTEST_ADDOPTS="-o cache_dir=$TEST_STATE/pytest_cache" PYTHONDONTWRITEBYTECODE=1
