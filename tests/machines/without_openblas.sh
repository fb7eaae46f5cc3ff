#!/usr/bin/env bash
# without_openblas.sh TSL FILE...: with TSL, built without OpenBLAS, a script of tests either passes or fails for want of LAPACK,
# and most pass.
set -euo pipefail
tsl=$1
shift
passed=0 refused=0
for file in "$@"; do
  if out=$("$tsl" test "$file" 2>&1); then
    passed=$((passed + 1))
  elif grep -q 'TSL was built without OpenBLAS' <<<"$out" && ! grep 'error\[' <<<"$out" | grep -qv 'without OpenBLAS'; then
    refused=$((refused + 1))
  else
    echo "$out"
    echo "$file fails for another reason"
    exit 1
  fi
done
echo "$passed passed, $refused need LAPACK"
((passed > 4 * refused))
