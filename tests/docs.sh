#!/usr/bin/env bash
# docs.sh TSL FOLDER [--hosts LIBRARY COMPILER] FILE-OR-FOLDER…: takes every block of TSL out of Markdown files into FOLDER
# and runs it by `tsl test`, which compares what it prints with its `# expect:` lines. The first line of a block says how:
#
#   ```tsl           a program
#   ```tsl more      the next part of the program of the block before
#   ```tsl no-run    is only checked: it needs files, or more time than a test has
#   ```cpp run       a host program, with `// expect:` lines; it runs after all of TSL, if there is --hosts
#
# Other blocks are not looked at.
set -euo pipefail
tsl=$1
folder=$2
shift 2
library="" compiler=""
if [[ $1 == --hosts ]]; then
  library=$(realpath "$2")
  compiler=$3
  shift 3
fi

# The folder is emptied, so it must be one that this script has made.
if [[ -e $folder && $(find "$folder" -mindepth 1 -maxdepth 1 ! -name run ! -name check ! -name hosts) ]]; then
  echo "docs.sh: $folder holds more than blocks" >&2
  exit 2
fi
rm -rf "$folder"
mkdir -p "$folder/run" "$folder/check" "$folder/hosts"
mapfile -t pages < <(find "$@" -name '*.md' | sort)
for page in "${pages[@]}"; do
  # Blank lines in front of a block keep the line numbers of the page.
  awk -v folder="$folder" -v page="${page//\//-}" '
    function begin(where, extension) {
      file = sprintf("%s/%s/%s-%05d.%s", folder, where, page, NR, extension)
      for (line = 1; line <= NR; ++line) print "" > file
    }
    /^```tsl$/ { begin("run", "tsl"); program = file; last = NR; next }
    /^```tsl more$/ { file = program; for (line = last; line < NR; ++line) print "" > file; last = NR; next }
    /^```tsl no-run$/ { begin("check", "tsl"); next }
    /^```cpp run$/ { begin("hosts", "cpp"); next }
    /^```/ { if (file != program) close(file); file = "" }
    file { print > file; if (file == program) last = NR + 1 }
  ' "$page"
done

# run_host BLOCK: compiles and runs a host program, and compares what it prints. Blanks at the end of a line do not count.
run_host() {
  local program=${1%.cpp}
  "$compiler" -std=c++20 -Iinclude "$1" "$library" -Wl,-rpath,"${library%/*}" -o "$program" || return
  "$program" >"$program.printed" || return
  diff <(sed -n 's|.*// expect: \?||p' "$1" | sed 's/ *$//') <(awk '{ sub(/ +$/, ""); print }' "$program.printed") ||
    { echo "$1 prints something else" >&2; return 1; }
}

failures=0
blocks=0
for block in "$folder"/check/*.tsl; do
  [[ -e $block ]] || continue
  blocks=$((blocks + 1))
  "$tsl" --check "$block" || failures=$((failures + 1))
done
for block in "$folder"/run/*.tsl; do
  [[ -e $block ]] || continue
  blocks=$((blocks + 1))
  "$tsl" test "$block" || failures=$((failures + 1))
done
for block in "$folder"/hosts/*.cpp; do
  [[ -n $library && -e $block ]] || continue
  blocks=$((blocks + 1))
  run_host "$block" || failures=$((failures + 1))
done
echo "$blocks blocks, $failures failed"
((blocks > 0 && failures == 0))
