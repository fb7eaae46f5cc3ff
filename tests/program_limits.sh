#!/usr/bin/env bash
# program_limits.sh TSL FOLDER: tests behaviour of the program that only a whole process shows.
set -uo pipefail
tsl=$1 folder=$2
failures=0
export TSL_CACHE_DIR=$folder
expect() {  # expect CODE TEXT COMMAND…: the exit code, and how what it says on standard error begins
  local message code
  message=$("${@:3}" 2>&1 >/dev/full)
  code=$?
  [[ $code == "$1" && $message == "$2"* ]] && return
  echo "${*:3}: exit code $code, not $1: $message"
  failures=$((failures + 1))
}

# A full disk makes every program that prints fail.
full="error[io]: cannot write to standard output"
for arguments in --help --version cache "test tests/lang/loops.tsl"; do
  expect 1 "$full" "$tsl" $arguments
done

# So little memory that a long script cannot be parsed: no line of it runs yet. (OpenBLAS's threads would wait for memory.)
mkdir -p "$folder"
yes 'let x = [1, 2, 3]' | head -400000 >"$folder/long.tsl"
in_memory_of() { (ulimit -v "$1" && OPENBLAS_NUM_THREADS=1 "${@:2}"); }
for kilobytes in 350000 400000 420000; do  # it runs out in other places
  [[ ${TSL_SANITIZE:-} ]] || expect 1 "error[memory]: out of memory" in_memory_of $kilobytes "$tsl" "$folder/long.tsl"
done

((failures == 0))
