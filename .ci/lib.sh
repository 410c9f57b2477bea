# Functions that the host scripts share. Sourced; expects `me` to name the script.
# Comes in: .env, this machine's apt sources. Goes out: exported settings, installed Debian packages, messages on stderr.
# shellcheck shell=bash disable=SC2034,SC2154

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
state=$root/.state

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "$*"; exit 1; }
need_root() { [[ $(id -u) == 0 ]] || die "cannot $1 without root"; }

# load_env: the settings of .env, without overriding what the environment says.
load_env() {
  local name value
  while IFS='=' read -r name value; do
    [[ $name =~ ^[A-Z][A-Z0-9_]*$ ]] || continue
    [[ -n ${!name+set} ]] || export "$name=$value"
  done < "$root/.env"
}

# need_tools TOOL=PACKAGE...: installs Debian's package where the tool is missing.
# A mirror can be older than its index's own expiry date, hence the option.
need_tools() {
  local each missing=()
  for each in "$@"; do command -v "${each%%=*}" > /dev/null || missing+=("${each#*=}"); done
  (( ${#missing[@]} == 0 )) && return 0
  need_root "install ${missing[*]}"
  command -v apt-get > /dev/null || die "no apt-get here: install ${missing[*]} yourself"
  say "installing ${missing[*]} (Debian packages)"
  [[ -n ${apt_updated:-} ]] || apt-get -qq -o Acquire::Check-Valid-Until=false update >&2
  apt_updated=1
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" > /dev/null
}

# mirror: the Debian mirror that this machine already uses.
mirror() {
  # shellcheck disable=SC2016 # apt expands these
  apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' \
    | awk '$2 == "main" && $1 !~ /security/ { print $1; exit }'
}
