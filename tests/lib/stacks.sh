# The test stacks: `main`, `faults` for tests that read all of the log and all tables time and again, which are small there, `operators` for
# those that change the stack itself and mostly wait, and `plain`, which Compose alone brings up. Sourced by tests/run.
# shellcheck shell=bash disable=SC2154

# make_images: all of them, once. The gate without lto, which makes it quicker and takes minutes.
make_images() {
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
  suite images command 2400 '' env COMPOSE_PROFILES=observability bin/images
}

# use_stack NAME: from here on, in this process.
use_stack() {
  export TEST_STACK=$1
  # shellcheck source-path=SCRIPTDIR source=../env.sh
  . "$root/tests/env.sh"
}

# on_stack NAME ARGUMENT...: brings that stack up and runs pytest over tests/ there; its lines are shown as they come.
on_stack() {
  local name=stack-$1 log=$logs/stack-$1.log status=0 began
  use_stack "$1"
  shift
  export UP_IMAGES=keep
  suite "up-$name" command 900 '' bin/up
  began=$(elapsed)
  progress "$name ..."
  launch "$log" "${TESTS_LIMIT:-5100}" env -C tests "$venv/bin/python" -m pytest -v --junit-xml="$test_state/reports/$name/pytest.xml" "$@"
  tail -n +1 -f --pid="$launched" "$log" | grep --line-buffered -E '(PASSED|FAILED|ERROR|SKIPPED) +\[' | sed -u "s/^/$name:   /" &
  # Its lines are progress enough. (Not by a redirection: what the traps say at the end would be lost with it.)
  quiet=yes await "$launched" "$name" "$log" || status=$?
  tail_lines=200 record "$name" junit "$status" "$log" "$(($(elapsed) - began))" "$test_state/reports/$name"
}

# What needs a stack. Each is compared with its master at its end; those beside `main` are removed then.
of_operators=(stack/test_adopt.py stack/test_rotate.py stack/test_scale.py)
most_tests() { on_stack main -m 'not whole_log' "${of_operators[@]/#/--ignore=}" "$@"; }
tests_of_the_whole_log() {
  on_stack faults -m 'whole_log or final'
  remove_stack faults
}
tests_of_operators() {
  on_stack operators "${of_operators[@]}" stack/test_all_is_equal.py
  remove_stack operators
}

# remove_stack NAME: also when only half of it came up.
remove_stack() (
  use_stack "$1"
  [[ -n $(docker ps -aq --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME") || -d $SECRETS_DIR ]] || exit 0
  mkdir -p "$TEST_STATE"
  echo 'services: {}' > "$LAYOUT_FILE"
  docker compose --profile '*' down --volumes --remove-orphans --timeout 20 > "$logs/down-$1.log" 2>&1 \
    || {
      progress "removing the stack failed:"
      tail -n 20 "$logs/down-$1.log"
      exit 1
    }
  rm -rf "$SECRETS_DIR"
)

# remove_stacks: of this run or an earlier one, or of `run pytest`.
remove_stacks() {
  docker info > /dev/null 2>&1 || return 0
  local name status=0
  for name in plain operators faults main; do remove_stack "$name" || status=1; done
  return "$status"
}
