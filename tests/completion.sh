#!/usr/bin/env bash
# completion.sh TSL FOLDER: what TSL generates in FOLDER is correct for the shells and the formatter that are installed,
# and bash completes with it.
set -euo pipefail
tsl=$1 folder=$2 failures=0
mkdir -p "$folder"
for kind in bash zsh fish man; do "$tsl" generate "$kind" >"$folder/$kind"; done
for shell in bash zsh fish; do
  if command -v "$shell" >/dev/null && ! "$shell" -n "$folder/$shell"; then failures=$((failures + 1)); fi
done
if command -v groff >/dev/null && [[ -n $(groff -man -Tascii -ww -z "$folder/man" 2>&1) ]]; then
  echo "groff warns of $folder/man"
  failures=$((failures + 1))
fi

# completes EXPECTED WORD...: what bash offers for the last word.
completes() {
  COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
  _tsl
  if [[ ${COMPREPLY[*]} != "$1" ]]; then
    printf 'bash completes %s to:\n%s\n' "${*:2}" "${COMPREPLY[*]}"
    failures=$((failures + 1))
  fi
}
# shellcheck source=/dev/null
source "$folder/bash"
completes "--numerics" tsl --num
completes "exact fast" tsl --numerics ""
completes "fast" tsl --numerics = f
completes "explain" tsl ex
completes "--filter" tsl test --fi
completes "cap" tsl cache ca
completes "" tsl fmt ""
((failures == 0))
