#!/usr/bin/env bash
# program_limits.sh TSL FOLDER: tests behaviour of the program that only a whole process shows.
set -uo pipefail
tsl=$1 folder=$2
failures=0
export TSL_CACHE_DIR=$folder
expect() {  # expect CODE TEXT COMMAND…: the exit code, and how what it says on standard error begins
  local message code
  message=$("${@:3}" 2>&1 >/dev/full)
  code=$?
  [[ $code == "$1" && $message == "$2"* ]] && return
  echo "${*:3}: exit code $code, not $1: $message"
  failures=$((failures + 1))
}

# A full disk makes every program that prints fail.
full="error[io]: cannot write to standard output"
for arguments in --help --version cache "test tests/lang/loops.tsl"; do
  expect 1 "$full" "$tsl" $arguments
done

# So little memory that a long script cannot be parsed: no line of it runs yet.
mkdir -p "$folder"
yes 'let x = [1, 2, 3]' | head -400000 >"$folder/long.tsl"
in_memory_of() { (ulimit -v "$1" && "${@:2}"); }
for kilobytes in 350000 400000 420000; do  # it runs out in other places
  [[ ${TSL_SANITIZE:-} ]] || expect 1 "error[memory]: out of memory" in_memory_of $kilobytes "$tsl" "$folder/long.tsl"
done

# check_threads COUNT COMMAND…: the threads of the program after a product and a parallel loop, while it waits for who reads
# its output.
check_threads() {
  local wanted=$1 pid count
  shift
  rm -f "$folder/pipe"
  mkfifo "$folder/pipe"
  "$@" --device cpu -e 'let x = rand([600, 600]); print(sum(exp(x @ x) + x) > 0); for i in range(100000) { print(i) }' \
    >"$folder/pipe" &
  pid=$!
  {
    read -r -u 7
    count=$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)
    cat <&7 >/dev/null
  } 7<"$folder/pipe"
  wait "$pid" && [[ $count == "$wanted" || ${TSL_SANITIZE:-} ]] && return  # a sanitizer may have threads of its own
  echo "$*: $count threads, not $wanted"
  failures=$((failures + 1))
}
first_cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
check_threads 1 taskset -c "$first_cpu" "$tsl"
check_threads 1 "$tsl" --threads 1
check_threads 3 "$tsl" --threads 3

# As in a container of one CPU and 2 GiB: what the program reads of its cgroup says so. (In a mount namespace, as root.)
# shellcheck disable=SC2016
container=(unshare --mount bash -c 'echo 0::/ >"$0/cgroup" && mount -t tmpfs none /sys/fs/cgroup &&
  echo 2147483648 >/sys/fs/cgroup/memory.max && echo 100000 100000 >/sys/fs/cgroup/cpu.max &&
  mount --bind "$0/cgroup" /proc/$$/cgroup && exec "$@"' "$folder")
if "${container[@]}" true 2>"$folder/unshare.txt"; then
  for script in 'zeros([3, 1024, 1024, 1024], dtype: u8)' 'let x = zeros([1024, 1024, 1024], dtype: u8); let y = x + 1; print(x[0, 0, 0])'; do
    expect 1 "error[memory]: " "${container[@]}" "$tsl" --device cpu -e "$script"
  done
  expect 0 "" "${container[@]}" "$tsl" --device cpu -e 'let x = zeros([1024, 1024, 100], dtype: u8); let y = x + 1; assert(y[0, 0, 0] > x[0, 0, 0])'
  check_threads 1 "${container[@]}" "$tsl"
  check_threads 3 "${container[@]}" "$tsl" --threads 3
else
  echo "not as in a container, which takes root: $(tail -n 1 "$folder/unshare.txt")"
fi

((failures == 0))
