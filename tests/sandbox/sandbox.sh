#!/usr/bin/env bash
# sandbox.sh HOST: fails if scripts without capabilities make the host program open a file, a socket or a process. Needs
# strace, and the right to trace: exit code 77 without them.
set -uo pipefail
host=$1
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT
if ! strace -o /dev/null true 2> "$trace"; then
  echo "skipped: strace is missing, or may not trace here: $(head -1 "$trace")"
  exit 77
fi
strace -f -o "$trace" "$host" || exit 1
between=$(sed -n '\#/tsl-sandbox-begin#,\#/tsl-sandbox-end#p' "$trace")
if [[ -z $between || $between != *"/tsl-sandbox-end"* ]]; then
  echo "the host program did not reach its end"
  exit 1
fi
# All calls that take a path or make a descriptor or a process; threads are processes for the kernel.
refused='(open|openat|openat2|creat|socket|socketpair|connect|bind|accept4?|pipe2?|execve|execveat|fork|vfork|clone3?)'
refused+='|(unlink|unlinkat|rename[a-z0-9]*|link|linkat|symlink|symlinkat|mkdir|mkdirat|rmdir|truncate|chdir|mknod|mknodat)'
refused+='|(stat|lstat|newfstatat|statx|access|faccessat2?|readlink|readlinkat|getdents64|memfd_create|ptrace|kill|tgkill)'
found=$(grep -E "^[0-9]+ +($refused)\(" <<< "$between" | grep -vE '/tsl-sandbox-(begin|end)|clone3?\(.*CLONE_THREAD')
if [[ -n $found ]]; then
  echo "scripts without capabilities made these system calls:"
  echo "$found" | head -20
  exit 1
fi
echo "$(wc -l <<< "$between") system calls, none that opens anything"
