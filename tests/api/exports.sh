#!/usr/bin/env bash
# exports.sh LIBRARY HEADER: fails unless the library, libtsl.so or libtsl.a, shows the functions that the header declares,
# and nothing else.
set -euo pipefail
if [[ $1 == *.a ]]; then options=(--extern-only); else options=(--dynamic); fi
# GCC's unique symbols (u) are constants; objcopy cannot make them local.
symbols=$(nm "${options[@]}" --defined-only "$1" | awk 'NF == 3 && $2 != "u"')
shown=$(awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' <<<"$symbols" | sort)
others=$(awk '$2 != "T" && $2 != "A" { print $3 }' <<<"$symbols")
declared=$(grep -oE '^TSL_API .*\btsl_[a-z0-9_]+\(' "$2" | grep -oE 'tsl_[a-z0-9_]+\($' | tr -d '(' | sort)
if [[ -n $others || -z $declared ]] || ! diff <(echo "$declared") <(echo "$shown"); then
  echo "the library shows other symbols than the header declares (<: header, >: library) $others"
  exit 1
fi
echo "$(echo "$shown" | wc -l) functions"
