"""wheel.py TREE PYTHON FOLDER VERSION: makes the wheel in FOLDER: the package PYTHON/tsl, with the program, libtsl.so and the
extension of TREE, which tools/package has made portable, and their licences. auditwheel gives it the tag of its platform."""
import base64
import hashlib
import pathlib
import platform
import sys
import zipfile

METADATA = """Metadata-Version: 2.1
Name: tsl
Version: {version}
Summary: A tensor scripting language, for programs that embed it
License: Apache-2.0
Requires-Python: >=3.8
Classifier: Programming Language :: Python :: Implementation :: CPython
Classifier: Operating System :: POSIX :: Linux
Provides-Extra: cuda
Requires-Dist: nvidia-cuda-nvrtc ; extra == 'cuda'
Requires-Dist: nvidia-cublas ; extra == 'cuda'
Provides-Extra: cuda12
Requires-Dist: nvidia-cuda-nvrtc-cu12 ; extra == 'cuda12'
Requires-Dist: nvidia-cublas-cu12 ; extra == 'cuda12'
Provides-Extra: notebook
Requires-Dist: ipykernel ; extra == 'notebook'
"""
WHEEL = """Wheel-Version: 1.0
Generator: tools/packages/wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[console_scripts]
tsl = tsl.__main__:main

[pygments.lexers]
tsl = tsl.notebook.lexer:TslLexer
"""
DATE = (1980, 1, 1, 0, 0, 0)  # so that equal contents make equal wheels


class Wheel:
    def __init__(self, path, info):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.info, self.record = info, []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, DATE)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self):
        name = f"{self.info}/RECORD"
        self.add(name, "\n".join([*self.record, f"{name},,", ""]).encode())  # which lists itself without a digest
        self.archive.close()


def main():
    tree, python, folder = map(pathlib.Path, sys.argv[1:4])
    version = sys.argv[4]
    tag = f"py3-none-linux_{platform.machine()}"
    folder.mkdir(parents=True, exist_ok=True)
    info = f"tsl-{version}.dist-info"
    wheel = Wheel(folder / f"tsl-{version}-{tag}.whl", info)
    for path in sorted(each for each in (python / "tsl").rglob("*") if each.suffix in (".py", ".pyi", ".typed")):
        wheel.add(str(path.relative_to(python)), path.read_bytes())
    # The program and the library find lib/tsl/ from where they are, as in the tree.
    wheel.add("tsl/bin/tsl", (tree / "bin/tsl").read_bytes(), 0o755)
    wheel.add("tsl/lib/libtsl.so", (tree / "lib/libtsl.so").read_bytes(), 0o755)
    wheel.add("tsl/lib/_fast.abi3.so", (tree / "lib/_fast.abi3.so").read_bytes(), 0o755)
    for path in sorted((tree / "lib/tsl").iterdir()):
        wheel.add(f"tsl/lib/tsl/{path.name}", path.read_bytes(), 0o755)
    wheel.add(f"{info}/licenses/LICENSE", (tree / "share/doc/tsl/LICENSE").read_bytes())
    for path in sorted((tree / "share/doc/tsl/licences").iterdir()):
        wheel.add(f"{info}/licenses/{path.name}", path.read_bytes())
    wheel.add(f"{info}/METADATA", METADATA.format(version=version).encode())
    wheel.add(f"{info}/WHEEL", WHEEL.format(tag=tag).encode())
    wheel.add(f"{info}/entry_points.txt", ENTRY_POINTS.encode())
    wheel.close()


if __name__ == "__main__":
    main()
