#!/usr/bin/env bash
# Keeps the master's loaded data directory, and puts a copy of it back: every contender begins with the same files.
# usage: copy.sh keep|fresh
# Comes in: the volumes of compose.yml. Must never: run while a server has the data directory open, or copy one that is not whole.
set -euo pipefail

# replace FROM TO
replace() {
  [[ -d $1/mysql ]] || {
    echo "copy: there is no data directory in $1" >&2
    exit 1
  }
  find "$2" -mindepth 1 -delete
  cp -a --reflink=auto "$1/." "$2/"
  sync
}

case ${1:-} in
  keep) replace /var/lib/mysql /seed ;;
  fresh) replace /seed /var/lib/mysql ;;
  *)
    echo 'usage: copy.sh keep|fresh' >&2
    exit 64
    ;;
esac
