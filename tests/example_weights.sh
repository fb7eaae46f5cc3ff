#!/usr/bin/env bash
# example_weights.sh TSL: the examples that take a file of weights print the same with random weights and with these
# weights in a file.
set -euo pipefail
tsl=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in resnet18 gpt2; do
  "$tsl" -e "import \"./examples/$name.tsl\" as example
save(\"$folder/$name.safetensors\", example.weights)" >"$folder/random"
  "$tsl" "examples/$name.tsl" "$folder/$name.safetensors" >"$folder/loaded"
  diff "$folder/random" "$folder/loaded"
done
