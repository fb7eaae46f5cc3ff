"""tidy_commands.py COMPILE_COMMANDS OUTPUT FILE...: writes the commands of FILEs as clang-tidy understands them.

Prints the files that it found a command for; headers stand for the .cpp of their name. GCC's own flags and the
precompiled header, which clang cannot read, are left out: every file includes what it needs.
"""
import json
import shlex
import sys
from pathlib import Path

GCC_ONLY = ("-fno-gnu-unique", "-fno-thread-jumps", "-fno-tree-sink", "-fno-tree-pre", "-Winvalid-pch", "-Wno-restrict", "-Werror",
            "-Wno-stringop-overflow", "-Wno-stringop-overread")


def for_clang(command):
    parts = shlex.split(command)
    if Path(parts[0]).name == "ccache":
        parts = parts[1:]
    out = []
    skip = False
    for part, following in zip(parts, parts[1:] + [""]):
        if skip or part in GCC_ONLY:
            skip = False
        elif part == "-include" and "cmake_pch" in following:
            skip = True
        else:
            out.append(part)
    return shlex.join(out)


def main():
    commands, output, *files = sys.argv[1:]
    wanted = {str(Path(name).with_suffix(".cpp").resolve()) for name in files}
    kept = {}
    for entry in json.loads(Path(commands).read_text()):
        if entry["file"] in wanted:
            kept.setdefault(entry["file"], {**entry, "command": for_clang(entry["command"])})
    Path(output).write_text(json.dumps(list(kept.values()), indent=1))
    print("\n".join(sorted(kept)))


if __name__ == "__main__":
    main()
