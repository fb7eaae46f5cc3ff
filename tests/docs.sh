#!/usr/bin/env bash
# docs.sh TSL FOLDER [--hosts LIBRARY COMPILER] FILE-OR-FOLDER…: takes every block of TSL out of Markdown files into FOLDER
# and runs it by `tsl test`, which compares what it prints with its `# expect:` lines. The first line of a block says how:
#
#   ```tsl           a program
#   ```tsl more      the next part of the program of the block before
#   ```tsl no-run    is only checked: it needs files, or more time than a test has
#   ```sh run        commands, in an empty folder, where `tsl` is the program; `# expect:` lines, also of standard error
#   ```cpp run       a host program, with `// expect:` lines; it runs if there is --hosts
#   ```python run    a host program, with `# expect:` lines, likewise
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
if [[ -e $folder && $(find "$folder" -mindepth 1 -maxdepth 1 ! -name run ! -name check ! -name hosts ! -name program ! -name empty) ]]; then
  echo "docs.sh: $folder holds more than blocks" >&2
  exit 2
fi
rm -rf "$folder"
mkdir -p "$folder"/{run,check,hosts,program}
ln -s "$(realpath "$tsl")" "$folder/program/tsl"
folder=$(realpath "$folder")
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
    /^```(sh|cpp|python) run$/ { begin("hosts", substr($1, 4)); next }
    /^```/ { if (file != program) close(file); file = "" }
    file { print > file; if (file == program) last = NR + 1 }
  ' "$page"
done

# compare BLOCK: compares what a block has printed with its comments. Blanks at the ends of a line do not count. Commands may
# write scripts that have such comments: their own stand at the beginning of a line.
compare() {
  local before='.*\(\/\/\|#\)'
  if [[ $1 == *.sh ]]; then before='^#'; fi
  diff <(sed -n "s/$before expect: \\?//p" "$1" | sed 's/^ *//; s/ *$//') <(awk '{ gsub(/^ +| +$/, ""); print }' "$1.printed") ||
    { echo "$1 prints something else" >&2; return 1; }
}

# run_sh BLOCK, run_cpp BLOCK, run_python BLOCK: run what is no script of TSL.
run_sh() {
  rm -rf "$folder/empty"
  mkdir "$folder/empty"
  (cd "$folder/empty" && PATH=$folder/program:$PATH bash "$1" >"$1.printed" 2>&1) || true  # commands may be to fail
  compare "$1"
}

run_cpp() {
  "$compiler" -std=c++20 -Iinclude "$1" "$library" -Wl,-rpath,"${library%/*}" -o "${1%.cpp}" || return
  "${1%.cpp}" >"$1.printed" || return
  compare "$1"
}

run_python() {
  PYTHONPATH=python TSL_LIBRARY=$library PYTHONDONTWRITEBYTECODE=1 python3 "$1" >"$1.printed" || return
  compare "$1"
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
for block in "$folder"/hosts/*.{sh,cpp,python}; do
  [[ -e $block && (-n $library || $block == *.sh) ]] || continue
  blocks=$((blocks + 1))
  "run_${block##*.}" "$block" || failures=$((failures + 1))
done
echo "$blocks blocks, $failures failed"
((blocks > 0 && failures == 0))
