#!/usr/bin/env bash
# static_objects.sh ARCHIVE...: fails if code of the rooms registers a static object to be destroyed as the process exits: threads
# may use it then. Not for syntax, where the ANTLR runtime has such objects, and closes as the process exits.
set -euo pipefail
found=$(nm -A --undefined-only "$@" | grep '__cxa_atexit$' || true)
[[ -z $found ]] || { echo "static objects that are destroyed at exit: $found"; exit 1; }
echo "$# libraries"
