#!/usr/bin/env bash
# archive.sh BUILD FOLDER: makes the .tar.gz of tools/package, unpacks it in FOLDER, moves it there, and uses it: the program
# runs, a project finds it by CMake and by pkg-config, its libraries are those that it brings, and no file names BUILD.
set -euo pipefail
build=$1 folder=$2
if ! command -v patchelf >/dev/null; then
  echo "skipped: there is no patchelf"
  exit 77
fi
rm -rf "$folder"
tools/package --from "$build" --to "$folder/made" tar.gz
archive=$(echo "$folder"/made/*.tar.gz)
rm -rf "${archive%.tar.gz}"  # what was packed
tests/api/installed.sh "$archive" "$folder/used" "$PWD/examples/embed"

mv "$folder/used/prefix" "$folder/moved"
[[ $(env -i "$folder/moved/bin/tsl" -e 'print(matmul(ones([64, 64]), ones([64, 64]))[0, 0])') == "f32[] 64.0" ]]
factorised='\[1.0, 2.0]' openblas=libopenblas
if grep -q '^TSL_OPENBLAS:BOOL=OFF$' "$build/CMakeCache.txt"; then
  factorised='*TSL was built without OpenBLAS*' openblas=
fi
# shellcheck disable=SC2053  # a pattern
[[ $(env -i "$folder/moved/bin/tsl" -e 'print(eigh(tensor([[2.0, 0.0], [0.0, 1.0]]))[0].tolist())' 2>&1) == $factorised ]]
system='linux-vdso|ld-linux|/(libc|libm|libstdc\+\+|libgcc_s)\.so'
others=$(ldd "$folder/moved/bin/tsl" "$folder/moved/lib/libtsl.so" "$folder"/moved/lib/tsl/* | grep '=>' | grep -vE "$system" |
  grep -v "$folder/moved/" || true)
[[ -z $others ]] || { echo "libraries of this machine are used: $others"; exit 1; }
if grep -rlF "$build" "$folder/moved"; then
  echo "files name the folder in which they were built"
  exit 1
fi
for licence in libfmt libre2 libutf8proc libzip libpng libjpeg libssl libantlr4 $openblas nlohmann; do
  compgen -G "$folder/moved/share/doc/tsl/licences/$licence*" >/dev/null
done
echo "$(stat -c %s "$archive") bytes"
