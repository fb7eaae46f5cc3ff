#!/usr/bin/env bash
# neovim.sh TSL: Neovim, without a screen, opens a text with the files of editors/vim; its client shows what the server says.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf 'let numbers = [1, 2]\nprint( lenn(numbers) )\n' >"$folder/a.tsl"
cd "$folder"
XDG_STATE_HOME=$folder XDG_DATA_HOME=$folder XDG_CACHE_HOME=$folder TSL_PROGRAM=$program timeout 120 \
  nvim --headless -u NONE -i NONE --cmd "set runtimepath^=$root/editors/vim" --cmd 'filetype plugin on' --cmd 'syntax on' \
  --cmd 'let g:tsl_path = $TSL_PROGRAM' -S "$root/tests/editors/neovim.lua" a.tsl >"$folder/said" 2>&1 || true
cat "$folder/said"
grep -q 'all of it works' "$folder/said"
! grep -q 'Error' "$folder/said"
