# The pinned packages that tests and linters need. Sourced by tests/run; lanes may ask for the same at once.
# shellcheck shell=bash disable=SC2154

# python_environment: the packages of requirements.txt, installed once.
python_environment() {
  need_tools python3=python3
  (
    flock 9
    cmp -s tests/requirements.txt "$venv/installed" && exit 0
    python3 -c 'import ensurepip, venv' 2> /dev/null || install_packages python3-venv
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r tests/requirements.txt
    cp tests/requirements.txt "$venv/installed"
  ) 9> "$test_state/python.lock"
}

# node_environment: the pinned drivers of Node, installed once.
node_environment() { npm_packages tests/stack/clients/node "$test_state/node"; }

# lua_formatter: stylua, which npm has as a binary, installed once.
lua_formatter() { npm_packages tests/lib/lua-format "$test_state/lua-format"; }

# browser: a Chromium without a window, for the tests of the status page; Debian's smallest where there is none.
browser() {
  local each
  for each in chromium-headless-shell chromium chromium-browser google-chrome; do
    if command -v "$each" > /dev/null; then return; fi
  done
  install_packages chromium-headless-shell fonts-dejavu-core
}

# npm_packages LOCK PLACE: what the package-lock.json in folder LOCK names, installed in folder PLACE.
npm_packages() {
  need_tools node=nodejs npm=npm
  cmp -s "$1/package-lock.json" "$2/installed" && return 0
  rm -rf "$2"
  mkdir -p "$2"
  cp "$1/package.json" "$1/package-lock.json" "$2"
  # A request that got lost is made again at once: npm's own defaults wait minutes.
  timeout 300 npm ci --prefix "$2" --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-timeout=30000 --fetch-retries=5 \
    --fetch-retry-mintimeout=500 --fetch-retry-maxtimeout=5000
  cp "$1/package-lock.json" "$2/installed"
}
