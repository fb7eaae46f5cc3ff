# Sourced by the other tools, after they have set `root`, the folder of the project: installs what a build needs
# (Debian, Ubuntu and their like) and builds a preset. All but program_is_current expects to run in that folder.
# shellcheck shell=bash

readonly program=${root:?}/build/release/tsl
readonly stamp=$root/build/release/.built  # as old as the newest sources the program is made of
readonly needed_commands=(cmake ninja c++ antlr4 java)
readonly command_packages=(cmake ninja-build g++ antlr4 default-jre-headless)
# uuid-dev is for the ANTLR runtime, and libcairo2 for plots in .png files.
readonly needed_libraries=(catch2 libantlr4-runtime-dev libcairo2 libcli11-dev libedit-dev libfmt-dev libgloo-dev libjpeg-dev
  libopenblas-serial-dev libpng-dev libre2-dev libutf8proc-dev libzip-dev nlohmann-json3-dev uuid-dev)

# NVIDIA's packages of PyPI that a build and tests without a GPU need.
readonly cuda_packages=("nvidia-cuda-runtime==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-cuda-cccl==13.0.*"
  "nvidia-cuda-nvrtc==13.0.*" "nvidia-cublas==13.0.*" "nvidia-nvtx==13.0.*")

say() {
  printf 'tsl: %s\n' "$*" >&2
}

# Whether the program is there and no source is newer. Runs at every start of TSL, so it has to be quick.
program_is_current() {
  [[ -x $program && -f $stamp ]] || return 1
  [[ -z $(find "$root"/{src,grammar,stdlib,cmake,CMakeLists.txt,CMakePresets.json} -newer "$stamp" -print -quit) ]]
}

# Runs a command with its output in a log, which is shown if the command fails.
logged() {
  local log=$1
  shift
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 60 "$log" >&2
    say "failed: $* (the whole log: $log)"
    return 1
  fi
}

# missing_packages [PACKAGE...]: prints what a build needs, and which of these packages, are not there, one a line.
missing_packages() {
  local i
  for i in "${!needed_commands[@]}"; do
    if [[ ${needed_commands[i]} == c++ && -n ${CXX:-} ]]; then continue; fi
    command -v "${needed_commands[i]}" >/dev/null || echo "${command_packages[i]}"
  done
  for i in "${needed_libraries[@]}" "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$i" 2>/dev/null) == installed ]] || echo "$i"
  done
}

# install_missing [PACKAGE...]: installs what a build needs and does not have, and these packages.
install_missing() {
  command -v dpkg-query >/dev/null || return 0
  local -a missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

# install_packages PACKAGE...: does nothing on systems without apt-get; there, the caller says what it misses.
install_packages() {
  command -v apt-get >/dev/null || return 0
  local -a as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      say "please install as root: apt-get install $*"
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing: $*"
  mkdir -p build
  [[ -n $(find /var/lib/apt/lists -name '*_Packages*' -mmin -60 -print -quit 2>/dev/null) ]] ||
    logged build/install.log "${as_root[@]}" apt-get update
  logged build/install.log "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends "$@"
}

# has_cuda_file NAME: whether the toolkit has a header or a library where the build and the program look for it.
has_cuda_file() {
  local home
  for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
    [[ -z $home || -z $(find -L "$home" -maxdepth 4 -name "$1" -print -quit 2>/dev/null) ]] || return 0
  done
  [[ -e /usr/include/$1 ]] || ldconfig -p 2>/dev/null | grep -q "^\s*${1%\*}"
}

# Installs NVIDIA's packages of PyPI into build/cuda where there is no CUDA Toolkit, and exports where they are: so kernels
# compile on any machine. No driver comes with them. Says what failed, and fails.
provide_cuda() {
  local folder=${root:?}/build/cuda
  if [[ ! -e $folder/complete ]]; then
    if has_cuda_file cuda.h && has_cuda_file nvrtc.h && has_cuda_file cublasLt.h && has_cuda_file 'libnvrtc.so*'; then
      return 0
    fi
    say "installing NVRTC and CUDA's headers in build/cuda (420 MB)"
    rm -rf "$folder"
    install_missing python3-venv || return
    logged build/cuda.log python3 -m venv "$folder" || return
    logged build/cuda.log "$folder/bin/python" -m pip install --no-cache-dir "${cuda_packages[@]}" || return
    touch "$folder/complete"
  fi
  export VIRTUAL_ENV=$folder  # where the program looks for libraries, too
}

# build_preset PRESET [cmake --build options...]
# Configures the preset (again: new files are found by globs) and builds it.
build_preset() {
  local preset=$1
  shift
  if [[ ! -f build/$preset/build.ninja ]]; then
    logged "build/configure-$preset.log" cmake --preset "$preset" || return
  fi
  touch "build/$preset/.started"  # what changes from now on may not be in this build
  logged "build/build-$preset.log" cmake --build "build/$preset" "$@" || return
  mv "build/$preset/.started" "build/$preset/.built"
}

# Waits until no other tool installs or builds in this tree. Held until `unlock` or exit.
lock() {
  mkdir -p build
  exec 9>build/.lock
  if ! flock --nonblock 9; then
    say "waiting for another build"
    flock 9
  fi
}

unlock() {
  exec 9>&-
}

# show_progress LOG: shows which step of a build is the last in its log, until it is killed, or the tool ends: in one line of
# a terminal, elsewhere in a line every twenty seconds.
show_progress() {
  local log=$1 step pause=20 begin='' end='\n'
  if [[ -t 2 ]]; then pause=1 begin='\r' end=''; fi
  while sleep $pause >/dev/null 2>&1 </dev/null && kill -0 $$ 2>/dev/null; do
    step=$(tail -c 1000 "$log" 2>/dev/null | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1 | tr -d '[]') || continue
    printf "${begin}tsl: building, step %s$end" "${step/\// of }" >&2
  done
}

# Builds the program itself.
build_program() {
  lock
  if ! program_is_current; then
    install_missing
    local first='' status=0
    [[ -x $program ]] || first='; the first time it takes some minutes'
    say "building, log in build/build-release.log$first"
    show_progress build/build-release.log 9>&- &
    build_preset release --target tsl || status=$?
    kill $!
    if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
    ((status == 0)) || return "$status"
  fi
  unlock
}
