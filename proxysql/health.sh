#!/usr/bin/env bash
# Healthy when ProxySQL greets. Comes in: PROXYSQL_LISTEN, as for the entrypoint. Goes out: exit status 0 or 1. Must never fork: it runs for ever.
# shellcheck disable=SC1091
. "${BASH_SOURCE[0]%/*}/lib.sh"
# The greeting's first byte after its header is the protocol version, 10, which is also a newline: read ends there.
connect "${PROXYSQL_LISTEN:-0.0.0.0:6033}" && IFS= read -r -t 3 -u 3 _
