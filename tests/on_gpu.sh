#!/usr/bin/env bash
# on_gpu.sh TSL COMMAND...: runs the command where there is a GPU. Elsewhere it says why not, and exits with 77, by which
# ctest knows that the test was skipped.
set -euo pipefail
if ! reason=$("$1" --device cuda -e 0 2>&1); then
  echo "skipped: $reason"
  exit 77
fi
shift
exec "$@"
