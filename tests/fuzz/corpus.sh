#!/usr/bin/env bash
# corpus.sh TSL FOLDER: fills FOLDER/{parser,texts,programs,loaders,calls} with inputs for the fuzzers to begin with.
set -euo pipefail
tsl=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"/{parser,texts,programs,loaders,calls,files}
cp tests/lang/*.tsl examples/*.tsl tests/tiers/*.tsl "$folder/parser/"
find tests/lang tests/tiers -maxdepth 1 -name '*.tsl' -size -4k -exec cp {} "$folder/texts/" \;
"$tsl" --device cpu -e "
let folder = \"$folder/files/\"
save(folder + \"0.npy\", reshape(arange(6), [2, 3]))
save(folder + \"1.npz\", {a: f32(arange(3)), b: ones([2, 2]), c: c128([1i, 2.0])})
save(folder + \"2.safetensors\", {a: f16(arange(3)), b: ones([2, 2]), c: c64([1i]), d: [c128([1i]), 2i]})
save(folder + \"3.json\", {a: [1, 2.5, nil, true], b: \"text\"})
save(folder + \"4.csv\", {a: [1, nil], b: [0.5, 2.0], c: [\"x\", \"y, \\\"z\\\"\"], d: [true, false]})
save(folder + \"5.png\", u8(reshape(arange(36), [4, 3, 3])))
save(folder + \"6.jpg\", u8(reshape(arange(64), [8, 8])))"
for file in "$folder"/files/*; do  # the first byte names the format
  { printf '%b' "\\x0$(basename "${file%.*}")" && cat "$file"; } >"$folder/loaders/$(basename "$file")"
done
for seed in 1 2 3 4; do head -c 300 <(seq "$((seed * 1000))" 2000 9000000) >"$folder/calls/$seed"; done
for seed in $(seq 40); do  # bytes without a pattern, the same each time
  head -c $((seed * 40)) <(seq "$((seed * 1000))" "$((seed + 7))" 100000 | gzip -nc | tail -c +100) >"$folder/programs/$seed"
done
