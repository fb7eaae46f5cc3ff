"""cross_check.py COMPILE_COMMANDS COMPILER: the sources of src/ are well-formed C++ for COMPILER's architecture, too.

Nothing is linked and no code is made, so the headers of this machine's libraries serve. Left out are the kernels of this
machine's own instruction sets, and what is generated.
"""
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DROPPED = ("-Winvalid-pch", "-c")


def command_for(entry, compiler):
    """Gives the command for the other architecture, or None for what has none."""
    parts = shlex.split(entry["command"])
    if any(part.startswith("-mavx") for part in parts):
        return None
    out = [compiler, "-fsyntax-only", entry["file"]]
    for part, before in zip(parts[1:], parts):
        if part.startswith("-") and part not in DROPPED and part not in ("-o", "-include", "-isystem"):
            out.append(part)
        elif before == "-isystem":
            out += ["-idirafter", part]
    return [part for part in out if part != "-DTSL_X86_KERNELS=1"] + ["-idirafter", "/usr/include"]


def main():
    commands, compiler = sys.argv[1:]
    source = Path("src").resolve()
    entries = [entry for entry in json.loads(Path(commands).read_text()) if source in Path(entry["file"]).parents]
    work = [(entry["file"], entry["directory"], command) for entry in entries
            if (command := command_for(entry, compiler))]

    def run(item):
        return item[0], subprocess.run(item[2], cwd=item[1], capture_output=True, text=True)

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, result in pool.map(run, work):
            if result.returncode:
                failed += 1
                print(name, result.stderr[:2000], sep="\n")
    print(f"{len(work)} files compile for {compiler}, {failed} do not" if not failed else f"{failed} of {len(work)} fail")
    sys.exit(bool(failed or not work))


if __name__ == "__main__":
    main()
