# Functions that the host scripts share. Sourced; expects `me` to name the script.
# Comes in: .env, .env.example, multimed.yml, this machine's apt sources. Goes out: exported settings, installed Debian packages, messages on stderr.
# shellcheck shell=bash disable=SC2034,SC2154

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
state=$root/.state

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() {
  say "$*"
  exit 1
}
need_root() { [[ $(id -u) == 0 ]] || die "cannot $1 without root"; }

# load_env: what the environment does not say comes from .env, then from multimed.yml, then from their defaults. COMPOSE_FILE of .env is left
# to Compose. Mistakes in these files end the script, unless it collects them in `mistakes_declared`.
load_env() {
  local name value declared
  mistakes_declared=()
  read_declared
  while IFS='=' read -r name value; do
    [[ $name =~ ^[A-Z][A-Z0-9_]*$ && $name != COMPOSE_FILE ]] || continue
    [[ -n ${!name+set} ]] || export "$name=$value"
  done < <(
    [[ ! -e $root/.env ]] || awk 1 "$root/.env"
    printf '%s\n' "$declared"
    sed -n 's/^#\([A-Z]\)/\1/p' "$root/.env.example"
  )
  # As Compose has it: from the repository's root.
  [[ $SECRETS_DIR == /* ]] || SECRETS_DIR=$root/${SECRETS_DIR#./}
  [[ -z ${collect_mistakes:-} && ${#mistakes_declared[@]} != 0 ]] || return 0
  for name in "${mistakes_declared[@]}"; do say "$name"; done
  exit 64
}

# of_satellite NUMBER WHAT: what one satellite has of its own, or what holds for all.
of_satellite() {
  local one=SATELLITE_$1_$2 all=SATELLITE_$2
  printf '%s' "${!one:-${!all:-}}"
}

# read_declared: `declared`, the settings of multimed.yml (MULTIMED_FILE), or the defaults; and the mistakes.
read_declared() {
  local file=${MULTIMED_FILE-$root/multimed.yml} python=python3 said name
  need_tools python3=python3
  if [[ -e $file ]]; then python=$(yaml_python); fi
  said=$(mktemp)
  declared=$("$python" "$root/mysql-satellite/declared.py" "$file" 2> "$said") || mapfile -t mistakes_declared < "$said"
  rm -f "$said"
  [[ -e $root/.env ]] || return 0
  while IFS= read -r name; do
    mistakes_declared+=(".env: $name is not read there: multimed.yml says it (see multimed.example.yml)")
  done < <(grep -oE '^(SATELLITES|SATELLITE_[A-Z0-9_]+|GATE_SATELLITES|MASTER_(CPUS|MEMORY|BUFFER_POOL)|(LAYOUT|LOG|GATE)_CPUS)=' "$root/.env" | tr -d =)
}

# alone: ends the script while another one changes this stack. Whatever it starts has its lock as descriptor 8, and is let in.
alone() {
  local folder
  folder=$(collect_mistakes=yes setting LAYOUT_DIR)
  [[ $folder == /* ]] || folder=$root/${folder#./}
  mkdir -p "$folder"
  [[ $folder/lock -ef /dev/fd/8 ]] || exec 8>> "$folder/lock"
  # What a run that was ended has begun may take a moment.
  flock -w 5 8 || die "another make up (or scale, resize, rotate) runs"
}

# yaml_python [MODULE=PACKAGE...]: a Python that reads YAML and checks it against a schema, and has these; Debian's where there is none.
yaml_python() {
  local each wanted=(jsonschema=python3-jsonschema yaml=python3-yaml "$@")
  for each in python3 /usr/bin/python3; do
    "$each" -c "import $(printf '%s, ' "${wanted[@]%%=*}" | sed 's/, $//')" 2> /dev/null || continue
    echo "$each"
    return
  done
  install_packages "${wanted[@]#*=}"
  echo /usr/bin/python3
}

# redeclare SERVER KEY=VALUE...: writes them into multimed.yml (declare.py), and makes the stack so (up); or says what is wrong, changes nothing,
# and ends with status 64.
redeclare() {
  local file=${MULTIMED_FILE-$root/multimed.yml} new python
  if [[ -z $file ]]; then
    say "MULTIMED_FILE is empty: there is no file to declare it in"
    exit 64
  fi
  alone
  python=$(yaml_python ruamel.yaml=python3-ruamel.yaml)
  new=$(mktemp -d)
  # Under this name mistakes are reported.
  if ! "$python" "$root/mysql-satellite/declare.py" "$file" "$@" > "$new/multimed.yml" \
    || ! MULTIMED_FILE=$new/multimed.yml "$root/mysql-satellite/layout" --draft /dev/null > /dev/null; then
    rm -r "$new"
    exit 64
  fi
  # A link stays one.
  file=$(realpath -m "$file")
  cat "$new/multimed.yml" > "$file.new" && mv "$file.new" "$file" && rm -r "$new"
  UP_IMAGES=keep "$root/bin/up"
}

# image_inputs: a line for each of our images: a hash of the settings and sources that it is made of, its name, and who runs on it.
image_inputs() (
  cd "$root" || exit
  hash_of MYSQL_IMAGE -- mysql-{master,satellite}/{Dockerfile,*.cnf,*.sh} bin/packages/mysql.Dockerfile
  echo "mysql: master, satellites"
  hash_of KAFKA_IMAGE -- bin/packages/kafka bin/packages/java.Dockerfile
  echo "kafka: kafka"
  hash_of JAVA_IMAGE MAVEN_IMAGE -- cdc-applier bin/packages/cdc-applier.Dockerfile bin/packages/java.Dockerfile
  echo "cdc-applier: capture, appliers"
  hash_of RUST_IMAGE DEBIAN_IMAGE GATE_FEATURES GATE_PROFILE -- gtid-gate bin/packages/gtid-gate.Dockerfile
  echo "gtid-gate: gate-port, gate"
  hash_of PROXYSQL_IMAGE PROXYSQL_BINARY -- proxysql bin/packages/proxysql.Dockerfile bin/packages/stage-proxysql
  echo "proxysql: proxysql"
)

# hash_of SETTING... -- PATH...
hash_of() {
  local name settings=(MULTIMED_VERSION)
  while [[ $1 != -- ]]; do settings+=("$1") && shift; done
  {
    for name in "${settings[@]}"; do printf '%s=%s\n' "$name" "${!name:-}"; done
    { find "${@:2}" -name target -prune -o -type f -print0 2> /dev/null || true; } | sort -z | xargs -0r sha256sum
  } | sha256sum | tr '-' ' ' | tr -d '\n'
}

# stale_images: those that bin/images has made of something else, with who runs on them; fails where it is not known.
stale_images() {
  [[ -e $state/images.inputs ]] || return 1
  image_inputs | { grep -vxFf "$state/images.inputs" || true; } | sed 's/^[0-9a-f]* *//'
}

# setting NAME: its value; .env.example lists them.
setting() (
  load_env
  printf '%s\n' "${!1:-}"
)

# apt_get ARGUMENT...: one at a time, since `make test` installs in the background too; waits for whoever else installs.
# A mirror can be older than its index's own expiry date, hence that option.
apt_get() {
  DEBIAN_FRONTEND=noninteractive flock "${TMPDIR:-/tmp}" apt-get -qq -o Acquire::Check-Valid-Until=false -o DPkg::Lock::Timeout=300 "$@"
}

# refresh_packages: what packages there are. apt-get doesn't wait for another's lock here, such as a fresh machine's own update.
refresh_packages() {
  local end=$((SECONDS + 120))
  until apt_get update >&2; do
    ((SECONDS < end)) || return 1
    sleep 2
  done
}

# install_packages PACKAGE...; with LOOK_ONLY set (make doctor), what is missing is an error.
install_packages() {
  [[ -z ${LOOK_ONLY:-} ]] || die "not here: $* (make up installs what is missing)"
  need_root "install $*"
  command -v apt-get > /dev/null || die "no apt-get here: install $* yourself"
  say "installing $* (Debian packages)"
  [[ -n ${apt_updated:-} ]] || refresh_packages
  apt_updated=1
  apt_get install -y --no-install-recommends "$@" > /dev/null
}

# need_tools TOOL=PACKAGE...: installs Debian's package where the tool is missing.
need_tools() {
  local each missing=()
  for each in "$@"; do command -v "${each%%=*}" > /dev/null || missing+=("${each#*=}"); done
  ((${#missing[@]} == 0)) && return 0
  install_packages "${missing[@]}"
}

# mirror: the Debian mirror that this machine already uses.
mirror() {
  # shellcheck disable=SC2016 # apt expands these
  apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' \
    | awk '$2 == "main" && $1 !~ /security/ { print $1; exit }'
}

# pinned_rust: gtid-gate's compiler is the one that rust-toolchain.toml names. rustup fetches what it does not know by that name; where it
# cannot, a default of the same version will do.
pinned_rust() {
  local pinned
  command -v rustup > /dev/null || return 0
  pinned=$(sed -n 's/^channel = "\(.*\)"/\1/p' "$root/gtid-gate/rust-toolchain.toml")
  (cd "$root/gtid-gate" && cargo --version > /dev/null 2>&1) && return 0
  [[ $(cd / && rustc --version) == "rustc $pinned "* ]] || die "gtid-gate is built with Rust $pinned: rustup toolchain install $pinned"
  RUSTUP_TOOLCHAIN=$(cd / && rustup show active-toolchain | cut -d ' ' -f 1)
  export RUSTUP_TOOLCHAIN
}
