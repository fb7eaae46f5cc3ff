"""symbols.py ROOT BUILD NM: checks that the library of each room of a build links with the rooms it may use alone.

What a library leaves undefined must be defined by a room that cmake/rooms.txt allows, or by none of TSL's, and is nothing
of CUDA, whose libraries are opened at run time. The standard library has its own symbols, whatever room has a copy of one.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from layers import read_rooms, room_of

OF_CUDA = re.compile(r"(cu|nvrtc|cudnn|cublas|cublasLt|cusolver|cufft|cupti|nccl)[A-Z]\w*")
OF_TSL = re.compile(r"_ZN?K?3tsl|_ZT[VISV]N3tsl|_ZN?K?St.*3tsl")
OF_STANDARD_LIBRARY = re.compile(r"_ZN?K?St(?!.*3tsl)")


def read_symbols(lines):
    """Gives the symbols that the lines of `nm --format=posix` define, and those that they leave undefined."""
    defined, undefined = set(), set()
    for line in lines:
        name, _, rest = line.partition(" ")
        kind = rest[:1]
        if kind == "U":
            undefined.add(name)
        elif kind and kind not in "wv":
            defined.add(name)
    return defined, undefined - defined


def archives_of(build, rooms, nm):
    """Gives {room: (defined, undefined)} of the rooms that have libraries in the build's folder, or in folders of it that are
    no rooms: what a build has in place of a backend."""
    found = defaultdict(lambda: (set(), set()))
    for archive in sorted((build / "src").rglob("*.a")):
        room = room_of(str(archive.relative_to(build / "src")), rooms)
        if room is None:
            continue
        text = subprocess.run([nm, "--format=posix", archive], check=True, capture_output=True, text=True).stdout
        for known, more in zip(found[room], read_symbols(text.splitlines())):
            known |= more
    return {room: (defined, undefined - defined) for room, (defined, undefined) in found.items() if defined}


def problems_of(archives, rooms):
    """Gives a line for each pair of rooms of which the first needs symbols of the second, and may not."""
    owners = defaultdict(set)
    for room, (defined, _) in archives.items():
        for symbol in defined:
            owners[symbol].add(room)
    problems = []
    for room, (_, undefined) in archives.items():
        forbidden = defaultdict(list)
        for symbol in undefined:
            if OF_STANDARD_LIBRARY.match(symbol):
                continue
            if OF_CUDA.fullmatch(symbol):
                forbidden["a library of CUDA"].append(symbol)
            elif symbol in owners and not owners[symbol] & rooms[room]:
                forbidden[min(owners[symbol])].append(symbol)
            elif symbol not in owners and OF_TSL.match(symbol):
                forbidden["no room"].append(symbol)
        problems += [f"{room} needs {min(symbols)} of {owner}" for owner, symbols in sorted(forbidden.items())]
    return problems


def main():
    root, build, nm = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    rooms, *_ = read_rooms(root / "cmake/rooms.txt", root / "src")
    archives = archives_of(build, rooms, nm)
    if not archives:
        sys.exit(f"no libraries in {build}/src")
    problems = problems_of(archives, rooms)
    print("\n".join(problems) if problems else f"{len(archives)} libraries link with the rooms that they may use")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
