#!/usr/bin/env bash
# compare_tiers.sh TSL SCRIPT: the script succeeds, and prints the same bytes, interpreted, with its annotated functions
# compiled, and with everything compiled.
set -euo pipefail
tsl=$1
script=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$tsl" --no-compile "$script" >"$folder/eager"
"$tsl" "$script" >"$folder/annotated"
"$tsl" --compile "$script" >"$folder/compiled"
for tier in annotated compiled; do
  if ! cmp -s "$folder/eager" "$folder/$tier"; then
    echo "$script prints something else $tier:"
    diff "$folder/eager" "$folder/$tier" || true
    exit 1
  fi
done
