#!/usr/bin/env bash
# compare_tiers.sh TSL SCRIPT [OPTION...]: the script succeeds, and prints the same bytes, interpreted, with its annotated
# functions compiled, and with everything compiled. $TSL_SCRIPT_ARGUMENTS are the script's own arguments.
set -euo pipefail
tsl=$1
script=$2
options=("${@:3}")
read -ra arguments <<<"${TSL_SCRIPT_ARGUMENTS:-}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$tsl" "${options[@]}" --no-compile "$script" "${arguments[@]}" >"$folder/eager"
"$tsl" "${options[@]}" "$script" "${arguments[@]}" >"$folder/annotated"
"$tsl" "${options[@]}" --compile "$script" "${arguments[@]}" >"$folder/compiled"
for tier in annotated compiled; do
  if ! cmp -s "$folder/eager" "$folder/$tier"; then
    echo "$script prints something else $tier:"
    diff "$folder/eager" "$folder/$tier" || true
    exit 1
  fi
done
