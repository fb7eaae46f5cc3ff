#!/usr/bin/env bash
# in_root.sh TREE SOURCE BUILD COMMAND...: runs a command with TREE as the root folder, SOURCE as /source and BUILD as
# /build. To be called in a mount namespace of its own, as by unshare --mount: what is mounted goes with it.
set -euo pipefail
tree=$1 source=$2 build=$3
shift 3
mkdir -p "$tree"/{source,build,proc,dev} "$build"
mount --bind "$source" "$tree/source"
mount --bind "$build" "$tree/build"
mount -t proc proc "$tree/proc"
mount --rbind /dev "$tree/dev"
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  chroot "$tree" "$@"
