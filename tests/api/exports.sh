#!/usr/bin/env bash
# exports.sh LIBRARY HEADER: fails unless the library shows the functions that the header declares, and nothing else.
set -euo pipefail
shown=$(nm --dynamic --defined-only "$1" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort)
others=$(nm --dynamic --defined-only "$1" | awk '$2 != "T" && $2 != "A" { print $3 }')
declared=$(grep -oE '^TSL_API .*\btsl_[a-z0-9_]+\(' "$2" | grep -oE 'tsl_[a-z0-9_]+\($' | tr -d '(' | sort)
if [[ -n $others || -z $declared ]] || ! diff <(echo "$declared") <(echo "$shown"); then
  echo "the library shows other symbols than the header declares (<: header, >: library) $others"
  exit 1
fi
echo "$(echo "$shown" | wc -l) functions"
