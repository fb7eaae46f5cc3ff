#!/usr/bin/env bash
# docs.sh TSL FOLDER FILE-OR-FOLDER…: takes every block of TSL out of Markdown files into FOLDER and runs it by
# `tsl test`, which compares what it prints with its `# expect:` lines. A block opened by "```tsl no-run" is
# only checked: it needs files, or more time than a test has.
set -euo pipefail
tsl=$1
folder=$2
shift 2

# The folder is emptied, so it must be one that this script has made.
if [[ -e $folder && $(find "$folder" -mindepth 1 -maxdepth 1 ! -name run ! -name check) ]]; then
  echo "docs.sh: $folder holds more than blocks" >&2
  exit 2
fi
rm -rf "$folder"
mkdir -p "$folder/run" "$folder/check"
mapfile -t pages < <(find "$@" -name '*.md' | sort)
for page in "${pages[@]}"; do
  # Blank lines in front of a block keep the line numbers of the page.
  awk -v folder="$folder" -v page="${page//\//-}" '
    /^```tsl( no-run)?$/ {
      file = folder "/" (/no-run/ ? "check" : "run") "/" page "-" NR ".tsl"
      for (line = 1; line <= NR; ++line) print "" > file
      next
    }
    /^```/ { if (file) close(file); file = "" }
    file { print > file }
  ' "$page"
done

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
echo "$blocks blocks, $failures failed"
((blocks > 0 && failures == 0))
