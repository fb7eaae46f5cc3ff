#!/usr/bin/env bash
# check_scripts.sh TSL FOLDER: every script in the folder parses, and its names resolve.
set -euo pipefail
failures=0
for script in "$2"/*.tsl "$2"/*/*.tsl; do
  "$1" --check "$script" || failures=$((failures + 1))
done
((failures == 0))
