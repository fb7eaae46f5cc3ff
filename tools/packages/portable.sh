# Sourced by tools/package: a folder with the program and libtsl.so that brings the libraries which both need.
# shellcheck shell=bash

# What every Linux with glibc has, and libstdc++ with its runtime.
readonly system_libraries='/(ld-linux[^/]*|libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)\.so[^/]*$'

# private_libraries FILE...: prints the paths of the libraries that come along.
private_libraries() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -vE "$system_libraries|/libtsl\.so$"
}

# private_name NAME: the name under which a library comes along: programs may use another version of the same library.
private_name() {
  echo "libtsl-${1#lib}"
}

# add_licences FOLDER LIBRARY...: copies the licence of each library's Debian package, and of the headers TSL is built with.
add_licences() {
  local folder=$1 library package
  mkdir -p "$folder"
  for library in "${@:2}"; do
    package=$(dpkg-query -S "*/$(basename "$(realpath "$library")")" | head -n 1 | cut -d: -f1)  # /lib or /usr/lib
    cp -L "/usr/share/doc/$package/copyright" "$folder/$package.txt"
  done
  for package in nlohmann-json3-dev libcli11-dev; do cp -L "/usr/share/doc/$package/copyright" "$folder/$package.txt"; done
  cat >"$folder/README.txt" <<'END'
The licences of the libraries in lib/tsl/, of OpenBLAS, if the program and libtsl.so contain it, and of headers that TSL was
built with, as Debian records them for the sources.
Paragraphs about Debian's packaging, tests and programs concern files that are not included here. No file here is under
the GPL alone: of libzip and libbz2 only the libraries are, and of OpenSSL only libcrypto.
END
}

# make_portable BUILD FOLDER [WHOLE]: installs a build in FOLDER and adds its libraries in lib/tsl/, which are found from there.
# WHOLE is a folder of another program and library, which take the place of the build's.
make_portable() {
  local build=$1 folder=$2 whole=${3:-} library file
  rm -rf "$folder"
  cmake --install "$build" --prefix "$folder" --strip >"$folder.log"
  rm -f "$folder/lib/libtsl.a"  # its other libraries would have to be those of this distribution
  local shared executable=$folder/bin/tsl
  shared=$(realpath "$folder/lib/libtsl.so")
  if [[ -n $whole ]]; then
    strip -o "$executable" "$whole/tsl"
    strip -o "$shared" "$whole/libtsl.so"
  fi
  mkdir -p "$folder/lib/tsl"
  local -a libraries
  mapfile -t libraries < <(private_libraries "$executable" "$shared")
  local openblas
  openblas=$(sed -n 's/^TSL_OPENBLAS_ARCHIVE:FILEPATH=//p' "$build/CMakeCache.txt")  # none in a build without it
  add_licences "$folder/share/doc/tsl/licences" "${libraries[@]}" ${openblas:+"$openblas"}
  for library in "${libraries[@]}"; do
    file=$folder/lib/tsl/$(private_name "$(basename "$library")")
    cp -L "$library" "$file"
    chmod u+w "$file"
    patchelf --set-soname "$(basename "$file")" "$file"
  done
  local -a replacements=()
  for library in "${libraries[@]}"; do
    replacements+=(--replace-needed "$(basename "$library")" "$(private_name "$(basename "$library")")")
  done
  patchelf "${replacements[@]}" "$folder"/lib/tsl/* "$shared" "$executable"
  # In calls of their own: in one call with the names, patchelf 0.14 sets another path.
  # shellcheck disable=SC2016
  {
    patchelf --set-rpath '$ORIGIN' "$folder"/lib/tsl/*
    patchelf --set-rpath '$ORIGIN/tsl' "$shared"
    patchelf --set-rpath '$ORIGIN/../lib/tsl:$ORIGIN/../lib' "$executable"
  }
  if ldd "$executable" "$shared" | grep 'not found'; then return 1; fi
}
