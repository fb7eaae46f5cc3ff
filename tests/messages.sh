#!/bin/bash
# Compares what mistakes print with the expected texts: messages.sh TSL FOLDER [--update]
# Each FOLDER/NAME.tsl holds programs, parted by lines of "#---"; FOLDER/NAME.txt what they print, under their last lines.
# So does each NAME.programs, whose programs do not parse: no tool formats it.
set -u
tsl=$(realpath "$1")
folder=$(realpath "$2")
update=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# Prints what the programs of a file print, each under its number.
run_programs() {
  rm -f ./*.tsl
  csplit --quiet --suppress-matched --prefix=program --suffix-format=%03d.tsl "$1" '/^#---$/' '{*}'
  for program in program*.tsl; do
    mv "$program" t.tsl
    echo "#--- $(tail -n 1 t.tsl)"
    "$tsl" t.tsl 2>&1 && echo "it passes"
  done
}

failed=0
shopt -s nullglob
for file in "$folder"/*.tsl "$folder"/*.programs; do
  expected=${file%.*}.txt
  run_programs "$file" >printed.txt
  if [ "$update" = --update ]; then
    cp printed.txt "$expected"
  elif ! diff -u "$expected" printed.txt; then
    failed=1
  fi
  if grep -q '^it passes$' printed.txt; then
    echo "$file: a program that should fail passes"
    failed=1
  fi
done
exit $failed
