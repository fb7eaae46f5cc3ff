# Sourced by tools/test, .ci/run and tools/check after tools/setup.sh: builds and runs the tests.
# shellcheck shell=bash

# The sanitizers run what they are for: parser, interpreter, memory, tensors, graphs, both backends' host code. What only
# compares output, runs the same code on more data, or runs the standard library, which is written in TSL, is left to the
# release build and to tools/check --long asan.
readonly left_by_sanitizers='^(random_programs|op_matrix|plan_files|threads|lang/bits/.*|lang/tensors_(factorisations.*|special|random|unsigned|dtypes|checks|errors|order|range)|lang/(nn|optim|std_|random_|linalg|arrays|vmap).*|lang/(science|signals|complex|fourier|kinks|transforms|autodiff)|oracle|killed_saves|docs|benchmarks|messages_.*|errors_page|program_limits|null_driver|examples/.*|cuda[_/].*|tests/tiers/(large_reductions|rows_of_halves|element_writes|long_rows|short_rows|rows_beyond_caches))$'

junit_files=()
checks_passed=0
checks_failed=0

# check NAME COMMAND...: a stage that passes or fails as a whole.
check() {
  local name=$1 begin=$SECONDS
  shift
  if "$@"; then
    checks_passed=$((checks_passed + 1))
    say "$name: passed, $((SECONDS - begin)) s"
  else
    checks_failed=$((checks_failed + 1))
    say "$name: FAILED, $((SECONDS - begin)) s"
  fi
}

# build_tests PRESET [cmake options...]: with $TSL_CUDA, and in CI with warnings as errors; elsewhere with the flags of
# tools/tsl, whose build it goes on with. A failure is a failed check.
build_tests() {
  local preset=$1 begin=$SECONDS status=0
  shift
  lock
  install_missing
  if [[ ${TSL_CUDA:-} != OFF ]]; then provide_cuda || say "NVRTC and CUDA's headers cannot be installed"; fi
  say "building the tests ($preset), log in build/build-$preset.log"
  logged "build/configure-$preset.log" cmake --preset "$preset" ${CI:+-DTSL_WERROR=ON} ${TSL_CUDA:+"-DTSL_CUDA=$TSL_CUDA"} "$@" && build_preset "$preset" || status=$?
  unlock
  say "build ($preset): $((SECONDS - begin)) s"
  if ((status)); then checks_failed=$((checks_failed + 1)); fi
  return $status
}

# run_tests NAME BUILD [ctest options...]: runs the tests of a build folder; `count_tests` counts them.
run_tests() {
  local name=$1 build=$2 begin=$SECONDS
  shift 2
  say "testing ($name)"
  junit_files+=("$root/build/test-$name.xml")
  rm -f "build/test-$name.xml"
  ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)" \
    --output-junit "$root/build/test-$name.xml" --test-output-size-passed 1000000 "$@" 2>&1 | tee "build/test-$name.log" || true
  grep -h "to repeat it:" "$build/Testing/Temporary/LastTest.log" || true
  say "tests ($name): $((SECONDS - begin)) s"
}

test_release() {
  if build_tests release; then run_tests release build/release "$@"; fi
}

# The whole suite of the sanitizers' build has the rest, and more of each: tools/check --long asan.
test_sanitized() {
  if build_tests asan; then run_tests asan build/asan --exclude-regex "$left_by_sanitizers" "$@"; fi
}

# count_tests [--expect FILE]: prints the closing line, and fails if anything failed.
count_tests() {
  local -a options=("$@")
  if [[ ${TSL_CUDA:-} == OFF && $# -gt 0 ]]; then options+=(--without-cuda); fi
  python3 tools/count_tests.py "${options[@]}" --checks "$checks_passed" "$checks_failed" "${junit_files[@]}"
}
