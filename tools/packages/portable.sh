# Sourced by tools/package: a folder with the program and libtsl.so that brings the libraries which both need.
# shellcheck shell=bash

# What every Linux with glibc has, and libstdc++ with its runtime.
readonly system_libraries='/(ld-linux[^/]*|libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)\.so[^/]*$'
# The LAPACK of OpenBLAS needs these; the small OpenBLAS does without.
readonly fortran_libraries='/lib(gfortran|quadmath)\.so[^/]*$'

# private_libraries FILE...: prints the paths of the libraries that come along.
private_libraries() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -vE "$system_libraries|$fortran_libraries"
}

# private_name NAME: the name under which a library comes along: programs may use another version of the same library.
private_name() {
  echo "libtsl-${1#lib}"
}

# make_small_blas OUTPUT FILE...: links the functions of OpenBLAS and its LAPACK that the files use to a library of their
# own, which is smaller. Of the runtime of Fortran they need one function, which is written here.
make_small_blas() {
  local output=$1 archive
  archive=$("${CC:-cc}" -print-file-name=libopenblas.a)
  if [[ ! -e $archive ]]; then
    say "libopenblas.a is missing (Debian: apt-get install libopenblas-dev)"
    return 1
  fi
  local -a functions
  mapfile -t functions < <(nm --dynamic --undefined-only "${@:2}" | awk '$2 ~ /blas_|^d(potrf|syevd)_$/ { print $2 }' | sort -u)
  printf '{ global: %s local: *; };\n' "$(printf '%s; ' "${functions[@]}")" >"$output.map"
  "${CC:-cc}" -shared -s -Wl,--no-undefined -Wl,--version-script="$output.map" "${functions[@]/#/-Wl,--undefined=}" \
    -o "$output" -x c - -x none "$archive" -lpthread -lm <<'END'
#include <string.h>
/* Concatenates two strings of Fortran, as gfortran's code calls it: the result is cut, or filled with blanks. */
void _gfortran_concat_string(size_t size, char* to, size_t a_size, const char* a, size_t b_size, const char* b) {
  memset(to, ' ', size);
  memcpy(to, a, a_size < size ? a_size : size);
  if (a_size < size) memcpy(to + a_size, b, b_size < size - a_size ? b_size : size - a_size);
}
END
  rm "$output.map"
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
The licences of the libraries in lib/tsl/ and of headers that TSL was built with, as Debian records them for the sources.
Paragraphs about Debian's packaging, tests and programs concern files that are not included here. No file here is under
the GPL alone: of libzip and libbz2 only the libraries are, and of OpenSSL only libcrypto.
END
}

# make_portable BUILD FOLDER: installs a build in FOLDER and adds its libraries in lib/tsl/, which are found from there.
make_portable() {
  local build=$1 folder=$2 library file
  rm -rf "$folder"
  cmake --install "$build" --prefix "$folder" --strip >"$folder.log"
  rm -f "$folder/lib/libtsl.a"  # its other libraries would have to be those of this distribution
  local shared executable=$folder/bin/tsl
  shared=$(realpath "$folder/lib/libtsl.so")
  mkdir -p "$folder/lib/tsl"
  local -a libraries
  mapfile -t libraries < <(private_libraries "$executable" "$shared")
  add_licences "$folder/share/doc/tsl/licences" "${libraries[@]}"
  for library in "${libraries[@]}"; do
    file=$folder/lib/tsl/$(private_name "$(basename "$library")")
    if [[ $library == *openblas* ]]; then
      make_small_blas "$file" "$executable" "$shared"
    else
      cp -L "$library" "$file"
      chmod u+w "$file"
    fi
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
    patchelf --set-rpath '$ORIGIN/../lib/tsl' "$executable"
  }
  if ldd "$executable" "$shared" | grep 'not found'; then return 1; fi
}
