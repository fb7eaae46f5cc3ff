#!/usr/bin/env bash
# check_parts.sh PART [OPTION...]: one part of tools/check --long. Exit code 77: it cannot be run here, as the last line says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
# shellcheck source=tools/setup.sh
source tools/setup.sh
# shellcheck source=tools/programs.sh
source tools/programs.sh

# need COMMAND PACKAGE: installs the package if there is no such command.
need() {
  command -v "$1" >/dev/null || install_packages "$2"
}

# build FOLDER CMAKE-OPTIONS... -- TARGETS...: configures build/FOLDER and builds the targets (none: all).
build() {
  local folder=build/$1 options=()
  shift
  while (($#)) && [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  if (($#)); then shift; fi
  install_missing
  cmake -G Ninja -B "$folder" -DTSL_WERROR=ON -DTSL_TEST_HOME=all "${options[@]}"
  ninja -C "$folder" "$@"
}

suite() {
  ctest --test-dir "build/$1" --output-on-failure --no-tests=error --parallel "$(nproc)" "${@:2}"
}

# copy_commit FOLDER: makes FOLDER/source a copy of the last commit; FOLDER/build is kept between runs.
copy_commit() {
  install_missing
  rm -rf "$1/source"
  git worktree prune
  git worktree add --force --detach "$1/source" HEAD
}

random_seed() {
  echo $((RANDOM * 32768 + RANDOM))
}

# attack: 2,000 programs of builtins with long arguments end at their deadlines and at interrupts
part_attack() {
  build release -- test_api
  TSL_ATTACK_PROGRAMS=1000 build/release/tests/test_api "[attack]"
}

# soak: eight threads make, use, interrupt and destroy engines for 50 minutes (TSL_SOAK_SECONDS); memory is flat to 1 MiB
part_soak() {
  build release -- soak
  build/release/tests/soak "${TSL_SOAK_SECONDS:-3000}"
}

# texts: 100,000 different texts through one engine, a third of them compiled, a third with errors; memory is flat to 1 MiB
part_texts() {
  build release -- test_api
  TSL_TEXTS=100000 build/release/tests/test_api "[texts]"
}

# saves: programs that save are killed at 200 moments for each format, and lose their power at each call, 50 times
part_saves() {
  build release -- tsl power_cut
  python3 tests/files/killed_saves.py build/release/tsl --moments 200
  python3 tests/files/power_cuts.py build/release/tsl build/release/tests/libpower_cut.so --seeds 50
}

# clang: the suite, built with Clang, each file by itself
part_clang() {
  need clang++-14 clang-14
  build clang -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=Release -DTSL_UNITY=OFF
  suite clang --exclude-regex '^cuda_corpus$'
}

# catch: the test programs, built with the generation of Catch2 that this distribution does not have
part_catch() {
  local apt=$root/build/check/catch prefix=$root/build/check/catch/installed
  if grep -qs '"3\.' /usr/lib/*/cmake/Catch2/*Version.cmake /usr/share/cmake/Catch2/*Version.cmake; then
    echo "the distribution has Catch2 3; tools/check on Debian 12 tests both"
    return 77
  fi
  mkdir -p "$apt/lists/partial"
  if [[ ! -d $prefix ]]; then  # the sources of the next Debian, by apt: signed, and of one version for years
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb-src [signed-by=$keys] http://deb.debian.org/debian trixie main" >"$apt/sources.list"
    local options=(-o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$apt/lists")
    if ! { apt-get "${options[@]}" update && (cd "$apt" && apt-get "${options[@]}" source --tar-only catch2); }; then
      echo "the sources of Catch2 3 cannot be fetched from Debian"
      return 77
    fi
    mkdir -p "$apt/sources"
    tar -xf "$apt"/catch2_3*.orig.tar.* -C "$apt/sources" --strip-components=1
    cmake -G Ninja -S "$apt/sources" -B "$apt/build" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_CXX_STANDARD=20 \
      -DCATCH_INSTALL_DOCS=OFF -DCMAKE_BUILD_TYPE=Release
    ninja -C "$apt/build" install
  fi
  build catch -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
  grep -q 'Catch2_DIR:PATH=.*check/catch' build/catch/CMakeCache.txt
  suite catch --exclude-regex '^(cuda_corpus|random_programs|op_matrix|lang/.*|tests/.*|examples/.*)$'
}

# release: the whole suite optimised: also the half that CI runs under the sanitizers alone
part_release() {
  provide_cuda
  build all -DCMAKE_BUILD_TYPE=Release
  suite all
}

# asan: the whole suite under AddressSanitizer and UndefinedBehaviorSanitizer
part_asan() {
  install_missing
  cmake --preset asan -B build/asan-all -DTSL_WERROR=ON -DTSL_TEST_HOME=all -DTSL_GENERIC_KERNELS=OFF -DTSL_ALL_CHECKS=ON  # CI has fewer of both
  ninja -C build/asan-all
  suite asan-all
  build/asan-all/tests/$heavy_tests "[matrix]~[cuda]"  # ctest has a third of it
}

# tsan: threads under ThreadSanitizer: the CPU backend's, tensors made and freed in several, eight engines in eight threads, and
# ten minutes of the soak
part_tsan() {
  # CMake's own flags of RelWithDebInfo take twice as long to compile.
  build tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-Og -g1" -DTSL_SANITIZE=thread \
    -- $cpu_tests test_tensor $heavy_tests test_api soak
  export TSAN_OPTIONS=halt_on_error=1
  build/tsan/tests/test_tensor
  build/tsan/tests/$cpu_tests
  TSL_RANDOM_PROGRAMS=200 build/tsan/tests/$heavy_tests "random programs agree on all tiers"  # an engine a thread
  build/tsan/tests/test_api "eight engines in eight threads compute as one does,an interrupt ends an op on all threads*"
  build/tsan/tests/soak 600
}

# ranks: 2,000 random programs of two and three ranks, or TSL_RANDOM_PROGRAMS, 200 faults and 50 kills while ranks save, from
# a new seed on
part_ranks() {
  build release -DCMAKE_BUILD_TYPE=Release -- tsl
  python3 tests/ranks/random_programs.py build/release "${TSL_RANDOM_PROGRAMS:-2000}" "${TSL_RANDOM_FIRST:-$((RANDOM * 32768 + RANDOM))}"
  python3 tests/ranks/faults.py build/release --count 200 --seed "${TSL_RANDOM_FIRST:-$((RANDOM * 32768 + RANDOM))}"
  python3 tests/ranks/checkpoints.py build/release --count 50 --seed "${TSL_RANDOM_FIRST:-$((RANDOM * 32768 + RANDOM))}"
}

# run_random PART CASE COUNT: runs so many random programs, or TSL_RANDOM_PROGRAMS, from a new seed on, or TSL_RANDOM_FIRST;
# goes on where the part was stopped.
run_random() {
  local all=${TSL_RANDOM_PROGRAMS:-$3} state=build/check/$1 first done=0 now
  build release -- $heavy_tests
  mkdir -p build/check
  first=${TSL_RANDOM_FIRST:-$(random_seed)000000}
  if [[ -z ${TSL_RANDOM_FIRST:-} && -f $state ]]; then read -r first done <"$state"; fi
  while ((done < all)); do
    now=$((all - done < 2000 ? all - done : 2000))
    TSL_RANDOM_FIRST=$((first + done)) TSL_RANDOM_PROGRAMS=$now build/release/tests/$heavy_tests "$2"
    done=$((done + now))
    echo "$first $done" >"$state"
  done
  rm -f "$state"
  ran="$all random programs from $first on"
}

# fuzz: 100,000 random programs (TSL_RANDOM_PROGRAMS), from a new seed on (TSL_RANDOM_FIRST); goes on where it was stopped
part_fuzz() {
  local ran
  run_random fuzz "random programs agree on all tiers" 100000
  TSL_RANDOM_CALLS=400 TSL_WRAPPING_CALLS=1000 build/release/tests/$heavy_tests "[random_calls]"
  echo "$ran"
}

# programs: 200,000 random functions of many lets (TSL_RANDOM_PROGRAMS, TSL_RANDOM_FIRST), all tiers on five threads, more
# than this machine has cores or a program has rows, against the interpreter on one; goes on where it was stopped
part_programs() {
  export TSL_TEST_THREADS=5
  local ran
  run_random programs "random functions of many lets agree on all tiers" 200000
  echo "$ran"
}

# types: what editors say of types is so in the runs of all scripts and of 2,000 random programs (TSL_RANDOM_PROGRAMS), and the same
# after 3,000 random edits of a text of 2,000 lines as of the text alone
part_types() {
  build release -- tsl test_inference
  TSL_TYPE_SCRIPTS=1000 TSL_RANDOM_PROGRAMS=${TSL_RANDOM_PROGRAMS:-2000} TSL_RANDOM_FIRST=${TSL_RANDOM_FIRST:-$(random_seed)} \
    build/release/tests/test_inference "types that are known*"
  python3 tests/lsp/test_edits.py build/release/tsl 3000
}

# sharing: chapters, examples, tiers, documents, the op matrix, the oracle's cases and random programs run each plan a
# second time with every buffer in memory of its own, and find the same bits after each launch (TSL_CHECK_SHARING=1)
part_sharing() {
  build release -DCMAKE_BUILD_TYPE=Release -- tsl $heavy_tests test_builtins
  export TSL_CHECK_SHARING=1
  suite release --tests-regex '^(lang/.*|tests/.*|examples/.*|docs|op_matrix|oracle)$' --exclude-regex '^lang/counters$'
  TSL_RANDOM_PROGRAMS=3000 build/release/tests/$heavy_tests "random functions of many lets agree on all tiers"
  TSL_RANDOM_PROGRAMS=2000 build/release/tests/$heavy_tests "random programs agree on all tiers"
}

# fuzzers: any source, text that is run, well-formed program, file, and sequence of API calls, by libFuzzer under
# AddressSanitizer, ten minutes each (FUZZER_SECONDS; FUZZERS: some of them)
part_fuzzers() {
  need clang++-14 clang-14
  local fuzzer folder=$root/build/fuzz
  build release -- tsl
  build fuzz -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTSL_FUZZ=ON \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
    -DCMAKE_CXX_FLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined" -DTSL_CUDA=OFF \
    -- fuzz_parser fuzz_texts fuzz_programs fuzz_loaders fuzz_calls
  tests/fuzz/corpus.sh build/release/tsl "$folder/corpus"
  for fuzzer in ${FUZZERS:-parser texts programs loaders calls}; do
    mkdir -p "$folder/found/$fuzzer"  # what earlier runs have found is kept
    (cd "$folder" && tests/fuzz_$fuzzer -seed="$(random_seed)" -max_total_time="${FUZZER_SECONDS:-600}" -max_len=4096 -timeout=60 \
      -rss_limit_mb=6000 -jobs="$(nproc)" -workers="$(nproc)" "found/$fuzzer" "corpus/$fuzzer" && tail -n 2 fuzz-0.log)
  done
  (cd "$folder" && TSL_CHECK_SHARING=1 tests/fuzz_programs -seed="$(random_seed)" -max_total_time="${FUZZER_SECONDS:-600}" \
    -max_len=4096 -timeout=60 -rss_limit_mb=6000 -jobs="$(nproc)" -workers="$(nproc)" found/programs corpus/programs)
}

# allocations: the program and a host of the API, when one of their allocations fails: another one in each of some
# thousand runs; under AddressSanitizer, every one of the three scripts that allocate least, and 200 drawn ones of 27 more
part_allocations() {
  local host=tests/allocations_host
  build release -- tsl allocations_host
  mkdir -p build/check
  "${CXX:-c++}" -O1 -shared -fPIC -o build/check/failing_new.so tests/allocations/failing_new.cpp
  TSL_CACHE_DIR=$root/build/check/cache python3 tests/allocations/run.py build/release/tsl build/check/failing_new.so \
    tests/tiers/guarded_loop.tsl tests/tiers/failed_steps.tsl tests/tiers/symbolic_sizes.tsl tests/tiers/made_in_place.tsl
  python3 tests/allocations/run.py --host build/release/$host tests/tiers/*.tsl
  cmake --preset asan -DTSL_WERROR=ON -DTSL_TEST_HOME=sanitized
  ninja -C build/asan allocations_host
  TSL_SCRIPTS=3 TSL_ALLOCATIONS=all python3 tests/allocations/run.py --host build/asan/$host tests/tiers/*.tsl
  TSL_SCRIPTS=30 python3 tests/allocations/run.py --host build/asan/$host tests/tiers/*.tsl
}

# packages: what tools/package makes, each installed and used in an empty folder; a project that includes TSL, built
part_packages() {
  local folder=$root/build/check/packages made=$root/build/packages way
  tools/package
  tests/package/archive.sh "$root/build/release" "$folder/archive"
  dpkg-deb --extract "$made"/*.deb "$folder/deb"
  tests/api/installed.sh "$folder/deb/usr" "$folder/used_deb" "$root/examples/embed"
  PYTHONPATH=python TSL_LIBRARY=$folder/deb/usr/lib/libtsl.so python3 tests/python/test_tsl.py
  for way in add_subdirectory FetchContent; do
    TSL_BUILD_INCLUDED=yes tests/package/included.sh $way "$root" "$folder/$way" -DCMAKE_BUILD_TYPE=Release
  done
  tests/package/wheel.sh "$made" "$folder/wheel"
  echo "$(cd "$made" && du -h --apparent-size ./*.tar.gz ./*.deb ./*.whl | tr '\n\t' ', ')"
}

# editors: Neovim edits a text with the server; 500 random edits of 2,000 lines, and 10,000 malformed messages
part_editors() {
  command -v nvim >/dev/null || install_packages neovim || true
  if ! command -v nvim >/dev/null; then
    echo "there is no Neovim (Debian: neovim)"
    return 77
  fi
  build release -- tsl
  tests/editors/neovim.sh build/release/tsl
  python3 tests/lsp/test_edits.py build/release/tsl 500
  python3 tests/lsp/test_fuzz.py build/release/tsl 10000
}

# notebook: real clients of Jupyter ask the kernel, and the example becomes a page (build/check/notebook)
part_notebook() {
  need chromium chromium
  build release -- tsl tsl_shared
  local folder=$root/build/notebook
  if [[ ! -e $folder/complete ]]; then
    python3 -m venv --clear "$folder"
    if ! logged "$folder/pip.log" "$folder/bin/pip" install --no-cache-dir ipykernel nbclient nbconvert; then
      echo "ipykernel cannot be installed from PyPI"
      return 77
    fi
    touch "$folder/complete"
  fi
  export PYTHONPATH=$root/python TSL_LIBRARY=$root/build/release/libtsl.so
  "$folder/bin/python" -m tsl.notebook install --sys-prefix
  PATH=$folder/bin:$PATH "$folder/bin/python" tests/notebook/test_notebook.py
  chromium --headless --no-sandbox --disable-gpu --window-size=1000,4200 \
    --screenshot="$root/build/check/notebook/notebook.png" "$root/build/check/notebook/notebook.html" 2>/dev/null
}

# mutants: the mistakes of tests/mutants/, 95 % of which a test must notice; goes on where it was stopped (three hours)
part_mutants() {
  build mutants -DTSL_MUTANTS=ON -DTSL_CUDA=OFF -DCMAKE_BUILD_TYPE=Release
  python3 tests/mutants/run.py --minutes "$((${PART_MINUTES:-180} - SECONDS / 60 - 1))"
}

# costs: instructions on the host, kernels and generated code are as tests/costs/expected.txt has them
part_costs() {
  need valgrind valgrind
  provide_cuda
  build release -DCMAKE_BUILD_TYPE=Release -- tsl null_libraries
  python3 tests/costs/run.py --build build/release "$@"
}

# predictions: of the sweep's long cases, as many are within 30 % of what the cost model predicts as on the day it was fitted,
# less what another machine may differ in; sorts are not predicted
part_predictions() {
  build release -DCMAKE_BUILD_TYPE=Release -- tsl
  python3 benchmarks/sweep/predict.py --seed 3 --least 0.45
}

# browser: the page of tsl explain --html, in headless Chromium: its keys, its layout, light and dark
part_browser() {
  need chromium chromium
  build release -DCMAKE_BUILD_TYPE=Release -- tsl
  python3 tests/report/browser.py --tsl build/release/tsl --screenshots build/check/browser
}

# site: the documents as a site (tools/site): no dead link, and in headless Chromium its search, on wide and narrow screens
part_site() {
  need mkdocs mkdocs
  need chromium chromium
  build release -DCMAKE_BUILD_TYPE=Release -- tsl
  tools/site
  python3 tests/report/site.py --screenshots build/check/site build/site
}

# recipes: the patches of tests/recipes/, all in one copy, which is built and tested
part_recipes() {
  local copy=$root/build/check/recipes lint
  copy_commit "$copy"
  cat "$copy"/source/tests/recipes/*.patch | git -C "$copy/source" apply --index -
  for lint in words links layers; do "$copy/source/tools/lint" $lint; done
  "$copy/source/tools/format" --check --all
  cmake -G Ninja -S "$copy/source" -B "$copy/build" -DCMAKE_BUILD_TYPE=Release -DTSL_WERROR=ON
  ninja -C "$copy/build"
  suite check/recipes/build --exclude-regex '^(cuda_corpus|random_programs|examples/.*)$'
  git worktree remove --force "$copy/source"
  echo "a copy with all recipes passes the suite"
}

# generic: the suite without the kernels of AVX2 and AVX-512, as on a processor that has neither
part_generic() {
  build generic -DCMAKE_BUILD_TYPE=Release -DTSL_GENERIC_KERNELS=ON
  suite generic --exclude-regex '^(cuda[_/].*|random_programs)$'
}

# debian13: the suite on Debian 13: its compilers and libraries, Catch2 3 (as root, in a chroot)
part_debian13() {
  local folder=$root/build/check/debian13
  local tree=$folder/root
  if ((EUID != 0)); then
    echo "only root may change the root folder"
    return 77
  fi
  need debootstrap debootstrap
  if [[ ! -e $folder/complete ]]; then
    rm -rf "$tree"
    mkdir -p "$folder"
    if ! debootstrap --variant=minbase --include="$(IFS=, && echo "${command_packages[*]},${needed_libraries[*]},python3")" \
      trixie "$tree" http://deb.debian.org/debian; then
      echo "the packages of Debian 13 cannot be fetched"
      return 77
    fi
    touch "$folder/complete"
  fi
  copy_commit "$folder"
  unshare --mount bash tools/in_root.sh "$tree" "$folder/source" "$folder/build" bash -c '
    cmake -G Ninja -S /source -B /build -DCMAKE_BUILD_TYPE=Release -DTSL_WERROR=ON &&
    ninja -C /build &&
    ctest --test-dir /build --output-on-failure --no-tests=error --parallel "$(nproc)" \
      --exclude-regex "^(cuda_corpus|random_programs)$"'
  git worktree remove --force "$folder/source"
}

# fetch_for_aarch64 FOLDER: unpacks the libraries that a build for aarch64 needs in FOLDER/root, from Debian's packages.
fetch_for_aarch64() {
  local folder=$1 package
  if [[ -e $folder/complete ]]; then return 0; fi
  mkdir -p "$folder"/{root,lists/partial,archives/partial}
  : >"$folder/status"
  local release
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $release main" \
    >"$folder/sources.list"
  local options=(-o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Install-Recommends=false
    -o APT::Sandbox::User=root -o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$folder/lists" -o "Dir::State::status=$folder/status" -o "Dir::Cache::archives=$folder/archives"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
  apt-get "${options[@]}" update &&
    apt-get "${options[@]}" --yes --download-only install "${needed_libraries[@]}" libc6-dev libstdc++-12-dev || return
  for package in "$folder"/archives/*.deb; do dpkg-deb -x "$package" "$folder/root" || return; done
  touch "$folder/complete"
}

# aarch64: built for another architecture, with kernels of NEON; tests, the language and the bits of results, under qemu
part_aarch64() {
  local folder=$root/build/check/aarch64
  local rooms=(base syntax tensor graph exec backend_cpu value io bytecode vm autodiff builtins)
  need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
  need qemu-aarch64-static qemu-user-static
  if ! fetch_for_aarch64 "$folder"; then
    echo "the libraries for aarch64 cannot be fetched from Debian"
    return 77
  fi
  build release -- tsl
  build aarch64 -DCMAKE_TOOLCHAIN_FILE="$root/cmake/Aarch64.cmake" -DTSL_SYSROOT="$folder/root" -DCMAKE_BUILD_TYPE=Release \
    -DTSL_CUDA=OFF -- tsl "${rooms[@]/#/test_}"
  tests/machines/aarch64.sh build/release/tsl build/aarch64/tsl "$folder/root"
  suite aarch64 --timeout 3000 --tests-regex "^($(IFS='|' && echo "${rooms[*]}")|lang/.*)\$"
}

# plain: a build without OpenBLAS, CUDA, Gloo and libedit passes the suite; what needs LAPACK is skipped, and says so
part_plain() {
  local results=$root/build/check/plain.xml
  build plain -DCMAKE_BUILD_TYPE=Release -DTSL_OPENBLAS=OFF -DTSL_CUDA=OFF -DTSL_GLOO=OFF -DTSL_LIBEDIT=OFF
  suite plain --output-junit "$results" --exclude-regex '^random_programs$' || true  # count_tests.py says what failed
  python3 tools/count_tests.py "$results"
}

# pypi: kernels compile where there is no CUDA Toolkit, with NVIDIA's packages of PyPI (as root, which hides the toolkit)
part_pypi() {
  if ((EUID != 0)); then
    echo "only root may hide the toolkit"
    return 77
  fi
  # shellcheck disable=SC2016
  unshare --mount env -u CUDA_HOME -u CUDA_PATH bash -c 'for folder in /usr/local/cuda /usr/local/cuda-* /opt/cuda; do
      [[ ! -d $folder ]] || mount -t tmpfs none "$folder"
    done
    exec "$@"' hidden bash tools/check_parts.sh with_pypi
}

# Not a part of its own: what part_pypi runs.
part_with_pypi() {
  if ! provide_cuda; then
    echo "NVIDIA's packages cannot be installed from PyPI"
    return 77
  fi
  build pypi -DCMAKE_BUILD_TYPE=Release -DTSL_CUDA=ON -- tsl null_driver test_backend_cuda
  grep -q 'TSL_cuda_h_FOLDER:PATH=.*/build/cuda/' build/pypi/CMakeCache.txt
  TSL_TEST_NEEDS_NVRTC=yes build/pypi/tests/test_backend_cuda "~[cuda]"
  tests/null_driver.sh build/pypi/tsl build/pypi/tests/null_driver
}

# corpus: every kernel of the corpus for sm_75 and sm_90, as TSL compiles them
part_corpus() {
  build release -- $heavy_tests
  TSL_TEST_NEEDS_NVRTC=yes TSL_CORPUS=all build/release/tests/$heavy_tests "every kernel of the corpus*"
}

"part_$1" "${@:2}"
