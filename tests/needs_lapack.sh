#!/usr/bin/env bash
# needs_lapack.sh COMMAND...: runs a test. In a build without OpenBLAS one that fails for want of LAPACK, and for no other
# reason, is skipped: exit code 77.
set -uo pipefail
output=$("$@" 2>&1)
status=$?
echo "$output"
errors=$(grep -E 'error\[|^ +raised at ' <<<"$output")  # as programs and `tsl test` print them
if ((status != 0)) && [[ -n $errors ]] && ! grep -qv 'TSL was built without OpenBLAS' <<<"$errors"; then
  echo "skipped: TSL was built without OpenBLAS"
  exit 77
fi
exit "$status"
