# Sourced by tools/format and tools/lint: says which files of the repository changed.
# shellcheck shell=bash

# Prints the commit to compare with: the one named, else the merge base with origin/main, else the one before HEAD.
base_commit() {
  if [[ -n ${1:-} ]]; then
    git rev-parse --verify --quiet "$1^{commit}" || { say "no such commit: $1"; return 1; }
    return
  fi
  local base head
  head=$(git rev-parse HEAD)
  base=$(git merge-base HEAD origin/main 2>/dev/null || echo "$head")
  if [[ $base == "$head" ]]; then base=$(git rev-parse --verify --quiet HEAD~1 || echo "$head"); fi
  echo "$base"
}

# changed_files BASE PATTERN...: prints the existing files that differ from BASE, new ones included, one a line.
changed_files() {
  local base=$1
  shift
  {
    git diff --name-only --diff-filter=d "$base" -- "$@"
    git ls-files --others --exclude-standard -- "$@"
  } | sort -u
}
