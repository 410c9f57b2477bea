# What needs no stack: style, units and properties of every component. Sourced by tests/run.
# shellcheck shell=bash disable=SC2154

# shell_scripts: tracked files that are such by their name or first line.
shell_scripts() {
  git ls-files | while read -r file; do
    [[ $file == *.sh ]] || { [[ -f $file ]] && head -c 64 "$file" | head -n 1 | grep -qE '^#!.*\b(ba)?sh\b'; } || continue
    echo "$file"
  done
}

check_style() {
  check_shell
  check_python
  check_lua
  check_java
  check_docs
}

shell_layout=(-i 2 -ci -bn -sr)

check_shell() {
  need_tools shellcheck=shellcheck shfmt=shfmt
  local scripts
  mapfile -t scripts < <(shell_scripts)
  suite shell-format command 120 '' shfmt "${shell_layout[@]}" -d "${scripts[@]}"
  suite shellcheck command 300 '' shellcheck -x "${scripts[@]}"
}

check_python() {
  python_environment
  suite python-format command 120 '' "$venv/bin/ruff" format --no-cache --diff .
  suite ruff command 120 '' "$venv/bin/ruff" check --no-cache .
}

check_lua() {
  need_tools luacheck=lua-check
  lua_formatter
  suite lua-format command 120 '' "$test_state/lua-format/node_modules/.bin/stylua" --check loadgen
  suite luacheck command 120 '' luacheck --no-color --quiet loadgen
}

check_docs() {
  python_environment
  suite docs command 60 '' "$venv/bin/python" tests/lib/check_docs.py
  local pages
  mapfile -t pages < <(git ls-files '*.md')
  suite spelling command 60 '' "$venv/bin/codespell" "${pages[@]}"
}

check_java() {
  need_tools mvn=maven javac=openjdk-17-jdk-headless
  suite java-format command 600 '' mvn -B -ntp -q -f cdc-applier/pom.xml formatter:validate
  suite checkstyle command 600 '' mvn -B -ntp -q -f cdc-applier/pom.xml checkstyle:check
}

# format_sources: rewrites what the checks above would refuse for its layout.
format_sources() {
  mkdir -p "$test_state"
  need_tools mvn=maven javac=openjdk-17-jdk-headless shfmt=shfmt
  python_environment
  lua_formatter
  shell_scripts | xargs shfmt "${shell_layout[@]}" -w
  "$venv/bin/ruff" format --no-cache -q .
  "$test_state/lua-format/node_modules/.bin/stylua" loadgen
  mvn -B -ntp -q -f cdc-applier/pom.xml formatter:format
  pinned_rust
  (cd gtid-gate && cargo fmt && cd fuzz && cargo fmt)
}

gate_style() {
  pinned_rust
  suite gtid-gate-format command 120 '' env -C gtid-gate cargo fmt --check
  suite gtid-gate-clippy command 1800 '' env -C gtid-gate cargo clippy --all-targets --locked -- -D warnings
  check_fuzz_targets
  check_dependencies
}

gate_tests() { suite gtid-gate cargo 1800 '' env -C gtid-gate cargo test --locked --no-fail-fast; }

check_gate() {
  gate_style
  gate_tests
}

# check_fuzz_targets: that they compile; `make fuzz` runs them. With what was compiled for the gate, and without libFuzzer itself, for
# which a library that is not there stands: nothing is linked.
check_fuzz_targets() {
  suite gtid-gate-fuzz-format command 120 '' env -C gtid-gate/fuzz cargo fmt --check
  suite gtid-gate-fuzz-clippy command 900 '' env -C gtid-gate/fuzz CUSTOM_LIBFUZZER_PATH=/none/libFuzzer.a \
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/gtid-gate/target}" cargo clippy --locked -- -D warnings
}

# check_dependencies: where cargo-deny is; compiling it would take longer than all the rest. Advisories change without us: `make deny`.
check_dependencies() {
  if PATH=$PATH:$state/cargo-deny/bin command -v cargo-deny > /dev/null; then
    suite gtid-gate-dependencies command 300 '' gtid-gate/deny licenses bans sources
  else
    skipped gtid-gate-dependencies "no cargo-deny here, make deny installs it"
  fi
}

# maven SUITE PHASE REPORTS OPTION...: one of Maven's phases over cdc-applier.
maven() {
  need_tools mvn=maven javac=openjdk-17-jdk-headless
  rm -rf cdc-applier/target/surefire-reports cdc-applier/target/failsafe-reports
  suite "$1" junit 1800 "$3" mvn -B -ntp -f cdc-applier/pom.xml "$2" "${@:4}"
}

cdc_units() { maven cdc-applier-units test cdc-applier/target/surefire-reports; }

# cdc_tests: units, and integration tests against servers of the images that the stack is made of.
cdc_tests() {
  export MYSQL_TEST_IMAGE KAFKA_TEST_IMAGE
  MYSQL_TEST_IMAGE=multimed/mysql-master:$(setting MULTIMED_VERSION)
  KAFKA_TEST_IMAGE=$(sed -n 's/^KAFKA_IMAGE=//p' .state/images.env | grep . || setting KAFKA_IMAGE)
  local cases=()
  case ${NIGHTLY:-} in
    skip) cases=(-Dcomputed.cases=100) ;;
    run) cases=(-Dcomputed.cases=2000) ;;
  esac
  maven cdc-applier verify cdc-applier/target/surefire-reports:cdc-applier/target/failsafe-reports "${cases[@]}"
}

# check_checker: what the consistency tests judge with; it must find every broken promise in histories that are made up.
check_checker() {
  need_tools go=golang-go
  export GOFLAGS='-buildvcs=false -mod=readonly'
  suite consistency-checker-vet command 600 '' env -C tests/consistency go vet .
  suite consistency-checker go 1200 '' env -C tests/consistency go test -v -count=1 .
}

loadgen_units() { suite loadgen-units closing 300 '' loadgen/tests/run unit; }

loadgen_tests() { suite loadgen closing 900 '' env TEST_MYSQL_IMAGE="multimed/mysql-master:$(setting MULTIMED_VERSION)" loadgen/tests/run; }
