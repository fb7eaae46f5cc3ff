#!/usr/bin/env bash
# wheel.sh PACKAGES FOLDER: installs the wheel of tools/package in an empty environment in FOLDER, with nothing else of TSL in
# reach, and runs the tests of the package, with NumPy and without it, and its program.
set -euo pipefail
mkdir -p "$2"
folder=$(realpath "$2")
wheel=$(realpath "$1"/*.whl)
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/../python" && pwd)
python3 -m venv --clear "$folder"
"$folder/bin/pip" install --quiet --no-index "$wheel"
cd "$folder"
run() { env -i PATH=/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 "$@"; }

run bin/python "$tests/test_tsl.py"
run bin/python "$tests/test_calls.py"
run bin/python "$tests/test_script.py"
[[ $(run bin/python -c 'import tsl; print(tsl._library.fast is not None)') == True ]]
[[ $(run bin/tsl -e 'print(matmul(ones([64, 64]), ones([64, 64]))[0, 0])') == "f32[] 64.0" ]]
[[ $(run bin/python -m tsl -e 'print(1 + 1)') == 2 ]]
[[ $(run bin/python -c 'import tsl; print(tsl.Engine().run("1 + 1"))') == 2 ]]
if find . -path '*/tsl/*' -name '*.so*' -exec ldd {} + | grep -E 'not found|libopenblas\.so|libgfortran'; then exit 1; fi
(($(stat -c %s "$wheel") < 15 * 1000 * 1000))
[[ $(run bin/python -m tsl.notebook 2>&1 || true) == "notebooks need ipykernel"* ]]
case $(basename "$wheel") in *-py3-none-manylinux_*_x86_64.whl) ;; *) exit 1 ;; esac

"$folder/bin/pip" install --quiet numpy || { echo "NumPy cannot be installed from PyPI"; exit 77; }
run bin/python "$tests/test_numpy.py"
"$folder/bin/pip" install --quiet --dry-run "$wheel[cuda]"  # NVIDIA's packages exist under the names that the extra has
