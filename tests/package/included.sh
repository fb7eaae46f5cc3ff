#!/usr/bin/env bash
# included.sh WAY SOURCE FOLDER [CMAKE-OPTION…]: a project that includes TSL (WAY: add_subdirectory or FetchContent) is
# configured: it can build its programs, and gets no tests, no program and no installed files of TSL. With
# TSL_BUILD_INCLUDED=yes (tools/check --long packages) all of it is built and run, too.
set -euo pipefail
way=$1 source=$2 folder=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$folder"
mkdir -p "$folder"
cmake -G Ninja -S "$here/included" -B "$folder/build" -DWAY="$way" -DTSL="$source" "${@:4}" >"$folder/configure.log" 2>&1 ||
  { cat "$folder/configure.log"; exit 1; }

built=$(ninja -C "$folder/build" -t inputs all)
for file in libtsl.so libtsl.a libtsl_api.a; do grep -q "/$file\$" <<<"$built"; done
if grep -E 'tsl_cli|/test_|catch' <<<"$built"; then
  echo "the program or tests of TSL are built unasked"
  exit 1
fi
tests=$(ctest --test-dir "$folder/build" -N | sed -n 's/^ *Test *#[0-9]*: //p' | sort | tr '\n' ' ')
[[ $tests == "static tsl " ]] || { echo "tests of the project: $tests"; exit 1; }
cmake --install "$folder/build" --prefix "$folder/prefix" >>"$folder/configure.log"
[[ ! -e $folder/prefix ]] || { echo "files of TSL are installed unasked"; exit 1; }

if [[ ${TSL_BUILD_INCLUDED:-} == yes ]]; then
  ninja -C "$folder/build"
  ctest --test-dir "$folder/build" --output-on-failure
fi
