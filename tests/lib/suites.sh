# Runs suites, side by side where they are told to, and counts what they did. Sourced by tests/run.
# Comes in: `logs`, `counts`. Goes out: progress on stdout, full logs in $logs, one line per suite in $counts:
# NAME, passed, failed, skipped, seconds, separated by tabs.
# shellcheck shell=bash disable=SC2154

# Process groups that run in the background, for the end.
declare -A groups=()
# Lanes begin later than the run whose clock they show.
export TESTS_BEGAN=${TESTS_BEGAN:-$(date +%s)}

elapsed() { echo $(($(date +%s) - TESTS_BEGAN)); }
progress() {
  local s
  s=$(elapsed)
  printf 'tests: [%02d:%02d] %s\n' $((s / 60)) $((s % 60)) "$*"
}

# launch LOG SECONDS COMMAND...: in a process group of its own, so that all of it can be ended; sets `launched`. Whatever hangs ends in time
# for the whole run to stay within 90 minutes; the nightly one sets TESTS_LIMIT, in seconds.
launch() {
  local log=$1 seconds=$2 left=$((${TESTS_LIMIT:-5100} - $(elapsed)))
  shift 2
  ((seconds < left)) || seconds=$((left > 1 ? left : 1))
  setsid timeout --kill-after=30 "$seconds" "$@" > "$log" 2>&1 < /dev/null &
  launched=$!
  groups[$launched]=yes
}

# runs PID: asked of the shell: the number of one that has ended may be another process's or thread's by now.
runs() { [[ $'\n'$(jobs -pr)$'\n' == *$'\n'"$1"$'\n'* ]]; }

# await PID LABEL LOG: its exit status; a sign of life every minute. `wait` alone would hold signals back no longer
# than this loop does, but say nothing for half an hour.
await() {
  local pid=$1 label=$2 log=$3 since=$SECONDS status=0
  while runs "$pid"; do
    if ((SECONDS - since >= 60)) && [[ -z ${quiet:-} ]]; then
      since=$SECONDS
      progress "$label: $(tail -n 1 "$log" | cut -c 1-150)"
    fi
    sleep 0.5
  done
  wait "$pid" || status=$?
  unset "groups[$pid]"
  return "$status"
}

# record NAME KIND STATUS LOG SECONDS [REPORTS]: counts what a suite did; says which tests failed, with the end of the log.
record() {
  local name=$1 kind=$2 status=$3 log=$4 seconds=$5 line
  line=$(python3 tests/count.py suite "$name" "$kind" "$status" "$log" "${6:-}" 2> "$logs/$name.failed") || {
    line=$name$'\t0\t1\t0'
    status=1
  }
  printf '%s\t%s\n' "$line" "$seconds" >> "$counts"
  progress "$(awk -F '\t' '{ printf "%s: %d passed, %d failed, %d skipped", $1, $2, $3, $4 }' <<< "$line")"
  if [[ -s $logs/$name.failed || $status != 0 ]]; then
    sed 's/^/tests:   failed: /' "$logs/$name.failed"
    tail -n "${tail_lines:-40}" "$log" | sed 's/^/    | /'
  fi
}

# suite NAME KIND SECONDS REPORTS COMMAND...: runs it, waits for it, records it. KIND: see count.py.
suite() {
  local name=$1 kind=$2 seconds=$3 reports=$4 status=0 began
  shift 4
  began=$(elapsed)
  progress "$name ..."
  launch "$logs/$name.log" "$seconds" "$@"
  await "$launched" "$name" "$logs/$name.log" || status=$?
  record "$name" "$kind" "$status" "$logs/$name.log" "$(($(elapsed) - began))" "$reports"
}

# skipped NAME REASON: what cannot run here is said and counted.
skipped() {
  printf '%s\t0\t0\t1\t0\n' "$1" >> "$counts"
  progress "$1: 0 passed, 0 failed, 1 skipped: $2"
}

# failed NAME: what is no suite, but has failed.
failed() {
  printf '%s\t0\t1\t0\t0\n' "$1" >> "$counts"
  echo "did not end well" >> "$logs/$1.failed"
}

# lane FUNCTION...: runs them one after the other in a process beside this one; sets `launched`.
lane() {
  setsid "$root/tests/run" lane "$@" < /dev/null &
  launched=$!
  groups[$launched]=yes
}

# join PID...: waits for lanes; one that broke off is a failure.
join() {
  local pid
  for pid in "$@"; do
    quiet=yes await "$pid" lane /dev/null || {
      progress "a lane broke off"
      failed lane
    }
  done
}

# end_groups: whatever still runs in the background.
end_groups() {
  local each
  for each in "${!groups[@]}"; do kill -TERM -- "-$each" 2> /dev/null || true; done
  for each in "${!groups[@]}"; do wait "$each" 2> /dev/null || true; done
}
