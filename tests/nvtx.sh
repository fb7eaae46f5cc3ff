#!/usr/bin/env bash
# nvtx.sh TSL PROFILER DRIVER_FOLDER: the ranges that a profiler of another maker sees, on the CPU, and on a GPU whose driver
# computes nothing.
set -uo pipefail
tsl=$1 profiler=$2 driver=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TSL_CACHE_DIR=$folder/cache RANGES=$folder/ranges
failures=0

cat > "$folder/script.tsl" <<'END'
@compile
fn step(x) = x * 2.0 + 1.0
let x = ones([8])
with_range("warm-up", fn() = step(x))
for i in 0..5 { step(x) }
print("done")
END

# run [OPTION...]: the ranges of a run, each as "OUTER / INNER", once.
run() {
  rm -f "$RANGES"
  NVTX_INJECTION64_PATH=$profiler "$tsl" "$@" "$folder/script.tsl" > "$folder/out" 2>&1 || cat "$folder/out"
  awk '/^>/ { at[depth++] = substr($0, 3); path = at[0]; for (i = 1; i < depth; ++i) path = path " / " at[i]; print path }
       /^</ { if (--depth < 0) { print "an end without a begin"; exit } }
       END { if (depth > 0) print "a begin without an end" }' "$RANGES" | sort -u
}
expect() {  # expect PATTERN TEXT: a line of the text matches
  grep -qE "^$1\$" <<< "$2" && return
  printf 'expected: %s\ngot:\n%s\n' "$1" "$2"
  failures=$((failures + 1))
}
refuse() {  # refuse PATTERN TEXT: no line matches
  grep -qE "^$1\$" <<< "$2" || return
  printf 'not expected: %s\ngot:\n%s\n' "$1" "$2"
  failures=$((failures + 1))
}

ranges=$(run --device cpu)
expect 'warm-up / step:2( / .*)?' "$ranges"
expect 'step:2 / k_mul_add__[0-9a-f]+' "$ranges"
expect 'warm-up / step:2 / tracing( / .*)?|warm-up / tracing( / .*)?' "$ranges"
refuse 'an end.*|a begin.*' "$ranges"
expect 'step:2 / k_mul_add__[0-9a-f]+' "$(run --device cpu --profile)"  # a profile of ours shows the same ranges

# Without a profiler no range is made.
rm -f "$RANGES"
"$tsl" --device cpu "$folder/script.tsl" > "$folder/out" || failures=$((failures + 1))
[[ ! -e $RANGES ]] || { echo 'ranges without a profiler'; failures=$((failures + 1)); }

if LD_LIBRARY_PATH=$driver NULL_DRIVER_COMPUTE=90 "$tsl" --device cuda -e 0 > /dev/null 2>&1; then
  export LD_LIBRARY_PATH=$driver NULL_DRIVER_COMPUTE=90
  ranges=$(run --device cuda)
  expect '.*step:2 / .*k_mul_add__[0-9a-f]+' "$ranges"
  expect '.*step:2 / .*the graph of step:2#0' "$ranges"
  refuse 'an end.*|a begin.*' "$ranges"
  expect '.*the graph of step:2#0' "$(TSL_CUPTI=off run --device cuda)"  # kernels are not timed one by one
fi

((failures == 0)) && echo passed
