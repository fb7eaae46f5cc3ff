#!/usr/bin/env bash
# on_gpu.sh TSL COMMAND...: runs the command if there is a GPU. Otherwise it prints why not, and exits with 77, which
# ctest reports as a skipped test.
set -euo pipefail
if ! reason=$("$1" --device cuda -e 0 2>&1); then
  echo "skipped: $reason"
  exit 77
fi
shift
exec "$@"
