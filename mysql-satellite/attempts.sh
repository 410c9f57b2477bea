# What becomes of failed attempts to serve: why, how many in a row, when the next one comes. Sourced by entrypoint.sh.
# Comes in: failures. Goes out: the pause before the next attempt; and the file $life, which the gate's status page, its metrics and
# make doctor read.
# Must never: have a satellite clone without pause, since each clone costs the donor; or wait for long where only a donor is missing.
# shellcheck shell=bash disable=SC2034,SC2154

# One that has served for less has failed, too.
settled_s=3
longest_pause_s=300
failures=0 pause_s=1 reason=''

# failed WHY: for an attempt that ends now: one line of ASCII that fits into a log, a file of facts and a terminal.
failed() {
  local LC_ALL=C
  reason=${1//[^ -~]/?}
  reason=${reason//\"/\'}
  reason=${reason:0:300}
  return 1
}

# step WHAT COMMAND...: a failure's reason is what was to be done, and the server's own words.
step() {
  local status=0 said=/run/multimed/said
  "${@:2}" 2> "$said" || status=$?
  cat "$said" >&2
  ((status == 0)) || failed "$1: $(grep -m 1 ERROR "$said" || echo "status $status")"
}

# begin_again: the pause after a failure, 1 s at first, then twice as long each time. Who waits for a donor only asks.
begin_again() {
  local pause=1
  failures=$((failures + 1))
  if [[ -z ${without_donor:-} ]]; then
    pause=$pause_s
    pause_s=$(between 1 $((2 * pause_s)) "$longest_pause_s")
    log error "event=bootstrap-failed reason=\"$reason\" failures=$failures retry_s=$pause"
  fi
  : "${failing_since:=$EPOCHSECONDS}"
  printf 'failing=%s\nfailures=%s\nfailing_since=%s\nretry_at=%s\n' "$reason" "$failures" "$failing_since" $((EPOCHSECONDS + pause)) > "$life"
  sleep "$pause" &
  wait $! || true
}

# serves: since now; told at once, forgotten as a failure only later.
serves() {
  serving_since=$EPOCHSECONDS
  printf 'since=%s\nwhy=%s\n' "$serving_since" "$why" > "$life"
}

# settled: it has served for long enough.
settled() {
  ((EPOCHSECONDS - serving_since >= settled_s)) || return 1
  failures=0 pause_s=1 failing_since=
}
