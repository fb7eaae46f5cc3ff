# Sourced by tools/test and tools/check after tools/setup.sh: builds and runs the two halves of the tests, and says how
# long each stage took.
# shellcheck shell=bash

junit_files=()
checks_passed=0
checks_failed=0
readonly stages=build/stages.txt  # of this run: name, seconds, seconds of processors

# core_seconds: the processor time of all children of this shell that have ended.
core_seconds() {
  awk -v ticks="$(getconf CLK_TCK)" '{ print ($16 + $17) / ticks }' "/proc/$$/stat"
}

# stage NAME COMMAND...: runs a command of this shell, and notes its time.
stage() {
  local name=$1 begin=$SECONDS before status=0
  before=$(core_seconds)
  shift
  "$@" || status=$?
  printf '%s\t%s\t%s\n' "$name" "$((SECONDS - begin))" "$(awk "BEGIN { print $(core_seconds) - $before }")" >>"$stages"
  say "$name: $((SECONDS - begin)) s"
  return "$status"
}

# check NAME COMMAND...: a stage that passes or fails as a whole.
check() {
  local name=$1
  if stage "$@"; then
    checks_passed=$((checks_passed + 1))
  else
    checks_failed=$((checks_failed + 1))
    say "$name: FAILED"
  fi
}

# configure_and_build PRESET HOME [cmake options...]
configure_and_build() {
  local preset=$1 home=$2
  shift 2
  lock
  local status=0
  logged "build/configure-$preset.log" cmake --preset "$preset" "-DTSL_TEST_HOME=$home" ${CI:+-DTSL_WERROR=ON} \
    ${TSL_CUDA:+"-DTSL_CUDA=$TSL_CUDA"} "$@" && build_preset "$preset" || status=$?
  unlock
  return $status
}

# build_tests PRESET HOME: with $TSL_CUDA, and in CI with warnings as errors; elsewhere with the flags of tools/tsl, whose build
# it goes on with. A failure is a failed check.
build_tests() {
  say "building the tests ($2), log in build/build-$1.log"
  if ! stage "build ($2)" configure_and_build "$@"; then
    checks_failed=$((checks_failed + 1))
    return 1
  fi
}

# ctest_run NAME BUILD [ctest options...]
ctest_run() {
  local name=$1 build=$2
  shift 2
  rm -f "build/test-$name.xml"
  ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)" \
    --output-junit "$root/build/test-$name.xml" --test-output-size-passed 1000000 "$@" 2>&1 | tee "build/test-$name.log" || true
  grep -h "to repeat it:" "$build/Testing/Temporary/LastTest.log" || true
}

# run_tests NAME BUILD [ctest options...]: runs the tests of a build folder; `count_tests` counts them.
run_tests() {
  junit_files+=("$root/build/test-$1.xml")
  stage "tests ($1)" ctest_run "$@"
}

# test_release [ctest options...]: tiers, bits, costs, whole programs, hosts.
test_release() {
  if build_tests release release; then run_tests release build/release "$@"; fi
}

# test_sanitized [ctest options...]: cases in C++ and fuzzers, under AddressSanitizer and UndefinedBehaviorSanitizer.
test_sanitized() {
  if build_tests asan sanitized; then run_tests sanitized build/asan "$@"; fi
}

# count_tests [--expect FILE]: prints the closing line, and fails if anything failed.
count_tests() {
  local -a options=("$@")
  if [[ ${TSL_CUDA:-} == OFF && $# -gt 0 ]]; then options+=(--without cuda "this build has no CUDA backend (TSL_CUDA=OFF)"); fi
  python3 tools/count_tests.py "${options[@]}" --checks "$checks_passed" "$checks_failed" "${junit_files[@]}"
}
