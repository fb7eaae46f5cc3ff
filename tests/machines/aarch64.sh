#!/usr/bin/env bash
# aarch64.sh TSL OTHER SYSROOT: the program OTHER, built for aarch64, computes the bits of TSL, the program of this machine,
# under qemu. Products and convolutions are among them: those of NEON round once, as those of AVX2 do, and plain ones twice.
set -euo pipefail
tsl=$1 other=$2
emulate() { qemu-aarch64-static -L "$sysroot" "$@"; }
sysroot=$3

file=$(head -c 20 "$other" | od -An -tx1 | tr -d ' \n')
[[ ${file:36:2} == b7 ]] || { echo "$other is not for aarch64"; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
emulate "$other" tests/machines/bits.tsl "$folder/bits.safetensors"
"$tsl" --device cpu tests/machines/bits.tsl "$folder/bits_here.safetensors"
emulate "$other" tests/machines/same_bits.tsl "$folder/bits.safetensors" "$folder/bits_here.safetensors"
