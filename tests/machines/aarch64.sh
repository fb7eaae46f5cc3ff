#!/usr/bin/env bash
# aarch64.sh TSL FOLDER SYSROOT: the program and the tests in FOLDER, built for aarch64, run under qemu and give the bits of
# TSL, the program of this machine.
set -euo pipefail
tsl=$1 folder=$2
export QEMU_LD_PREFIX=$3 TSL_CACHE_DIR=$2/cache
emulate() { qemu-aarch64-static "$@"; }

file=$(head -c 20 "$folder/tsl" | od -An -tx1 | tr -d ' \n')
[[ ${file:36:2} == b7 ]] || { echo "$folder/tsl is not for aarch64"; exit 1; }

emulate "$folder/tsl" tests/machines/bits.tsl "$folder/bits.safetensors"
"$tsl" --device cpu tests/machines/bits.tsl "$folder/bits_here.safetensors"
emulate "$folder/tsl" tests/machines/same_bits.tsl "$folder/bits.safetensors" "$folder/bits_here.safetensors"

for room in base syntax tensor graph exec backend_cpu value io bytecode vm autodiff builtins; do
  echo "test_$room"
  emulate "$folder/tests/test_$room" "~[random]~[matrix]~[corpus]~[threads]~[cuda]~[fill]"
done
emulate "$folder/tsl" test --threads 2 tests/lang
