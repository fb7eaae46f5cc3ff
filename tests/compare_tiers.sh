#!/usr/bin/env bash
# compare_tiers.sh TSL SCRIPT: the script succeeds eagerly and compiled, and prints the same bytes.
set -euo pipefail
tsl=$1
script=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$tsl" "$script" >"$folder/eager"
"$tsl" --compile "$script" >"$folder/compiled"
if ! cmp -s "$folder/eager" "$folder/compiled"; then
  echo "$script prints something else with --compile:"
  diff "$folder/eager" "$folder/compiled" || true
  exit 1
fi
