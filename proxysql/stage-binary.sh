#!/usr/bin/env bash
# stage-binary.sh PATH_TO_PROXYSQL OUTDIR: collects what Dockerfile.packages copies into an image.
# Comes in: a ProxySQL that runs on this machine. Goes out: OUTDIR/proxysql and OUTDIR/lib with the libraries it needs.
# Must never take the C library: it has to fit the image's own loader.
set -euo pipefail

main() {
  if (($# != 2)) || [[ ! -x $1 ]]; then
    echo "usage: ${0##*/} PATH_TO_PROXYSQL OUTDIR" >&2
    exit 64
  fi
  local libraries library
  libraries=$(ldd "$1")
  if grep 'not found' <<< "$libraries" >&2; then exit 1; fi
  mkdir -p "$2/lib"
  cp -L "$1" "$2/proxysql"
  while read -r library; do
    case ${library##*/} in
      libc.so* | libm.so* | libpthread.so* | libdl.so* | librt.so* | libresolv.so* | ld-linux*) ;;
      *) cp -L "$library" "$2/lib/" ;;
    esac
  done < <(awk '$2 == "=>" { print $3 }' <<< "$libraries")
}

main "$@"
