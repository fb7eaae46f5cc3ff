#!/usr/bin/env bash
# installed.sh BUILD FOLDER EXAMPLES: installs a build in FOLDER/prefix; there a project of its own finds it by CMake and
# a program by pkg-config, builds the examples, and runs them. BUILD may be the .tar.gz of tools/package, which is unpacked
# there, or a folder that has been installed.
set -euo pipefail
build=$1 folder=$2 examples=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$folder"
mkdir -p "$folder"
if [[ -f $build ]]; then
  mkdir "$folder/prefix"
  tar -xf "$build" -C "$folder/prefix" --strip-components=1
elif [[ -f $build/CMakeCache.txt ]]; then
  cmake --install "$build" --prefix "$folder/prefix" >"$folder/install.log"
  # A build of the program alone, as the tools make: what is missing is built, which finds nothing to do here.
  sed -E "s|NOT EXISTS \"[^\"]*/libtsl.so[^\"]*\"|NOT EXISTS \"$folder/none\"|" "$build/cmake_install.cmake" >"$folder/partial.cmake"
  cmake -DCMAKE_INSTALL_PREFIX="$folder/partial" -P "$folder/partial.cmake" >"$folder/partial.log"
  grep -q 'Building libtsl first' "$folder/partial.log"
  [[ -n $(find "$folder/partial" -name libtsl.so) ]]
else
  ln -s "$build" "$folder/prefix"
fi
cmake -G Ninja -S "$here/project" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" -DEXAMPLES="$examples" >"$folder/build.log"
cmake --build "$folder/build" >>"$folder/build.log" || { cat "$folder/build.log"; exit 1; }

expect() {
  if [[ $2 != "$3" ]]; then
    printf '%s printed:\n%s\nand not:\n%s\n' "$1" "$2" "$3"
    exit 1
  fi
}
for page in man/man1/tsl.1 bash-completion/completions/tsl zsh/site-functions/_tsl fish/vendor_completions.d/tsl.fish; do
  [[ -s $folder/prefix/share/$page ]] || { echo "there is no share/$page"; exit 1; }
done
expect minimal "$("$folder/build/minimal")" "0 0 6 2 0 "
if [[ -n $(find "$folder/prefix/" -name libtsl.a) ]]; then
  expect "minimal with tsl::static" "$("$folder/build/minimal_static")" "0 0 6 2 0 "
  if ldd "$folder/build/minimal_static" | grep libtsl; then exit 1; fi
fi
"$folder/build/editor" | tee "$folder/editor.log"
for part in "\"did you mean 'factor'?\"" '"severity": "warning"' '{"text":"factor: ","kind":"argument"' 'more lines follow: yes' \
            'format: let y = scaled(ones([3]), factor: 3.0)' 'display: f32[3] on cpu'; do
  grep -qF "$part" "$folder/editor.log" || { echo "editor does not print $part"; exit 1; }
done
"$folder/build/particles" "$examples/particles.tsl" "$folder/particles.pgm" 50 | tee "$folder/particles.log"
grep -q '^50 steps' "$folder/particles.log"
[[ $(head -c 2 "$folder/particles.pgm") == P5 ]]
expect game "$("$folder/build/game" 60)" "60 ticks, 1 of them ended, 9 hits, ships at 6 and -7"
expect plugins "$("$folder/build/plugins")" "Broken: add: cannot broadcast f32[6] with f32[3]
Curious: the host program does not allow files
Echo: done
Louder: done
nameless is left out: unknown name 'sampels'
1 0 0.25 0 1 0 "
"$folder/build/server" 22 | tee "$folder/server.log"
grep -q '^176 requests in 8 threads, 0 not as expected' "$folder/server.log"
"$folder/build/infer" "$folder/model.safetensors" 200 2000 | tee "$folder/infer.log"
grep -q 'add up to 1.000$' "$folder/infer.log"

if command -v pkg-config >/dev/null; then
  libraries=$(dirname "$(find "$folder/prefix/" -name libtsl.so)")
  export PKG_CONFIG_PATH=$libraries/pkgconfig
  # shellcheck disable=SC2046
  cc "$examples/minimal.c" $(pkg-config --cflags --libs tsl) -Wl,-rpath,"$libraries" -o "$folder/minimal"
  expect "minimal by pkg-config" "$("$folder/minimal")" "0 0 6 2 0 "
fi
