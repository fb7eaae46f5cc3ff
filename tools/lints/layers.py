"""Checks that src/ is built as cmake/rooms.txt says.

No include points to a room that the including one may not use, or out of base/platform to a header of the operating
system. No folder has more than 40 files, nothing below engine/ names the class Engine, and every .cpp has a header: of
its name, of the class it implements, or of its family.
"""
import fnmatch
import re
import sys
from pathlib import Path

MOST_FILES = 40
CODE = {".cpp", ".h", ".cuh", ".def"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
PLATFORM = "base/platform"
SYSTEM_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*<([^>]+)>', re.M)
# What POSIX, Linux, macOS and Windows have beside the library of C++. <cerrno> is of C++; <csignal> declares sigaction().
SYSTEM = re.compile(r"""(?:sys|linux|asm|arpa|net|netinet|mach|mach-o)/.*|(?:windows|winsock2|io|process|direct)\.h|csignal|
    (?:aio|dirent|dlfcn|elf|execinfo|fcntl|fnmatch|ftw|getopt|glob|grp|ifaddrs|langinfo|libgen|link|locale|malloc|mqueue|
    netdb|poll|pthread|pwd|regex|sched|semaphore|signal|spawn|strings|syslog|termios|ucontext|unistd|utime|wordexp)\.h""",
                    re.X)
# Comments, strings and characters: a name in them is no use of what it names. A quote between digits separates them.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)


def folders_of(pattern, src, rooms):
    """Gives the folders of src/ that a room's pattern stands for: those that are no room yet."""
    found = sorted(str(path.relative_to(src)) for path in src.glob(pattern) if path.is_dir())
    return [name for name in found if name not in rooms]


def read_rooms(path, src):
    """Gives {room: the rooms it may use, itself included} in the layout's order, {pattern: header} of families, and
    {file: headers of the system that it may include}."""
    rooms, families, systems = {}, {}, {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        left, colon, right = line.partition(":")
        left = left.split()
        if not colon or len(left) not in (1, 2) or (len(left) == 2 and left[0] not in ("family", "system")):
            sys.exit(f"{path}:{number}: not 'room: rooms', 'family pattern: header' or 'system file: headers'")
        if len(left) == 2:
            if left[0] == "family":
                families[left[1]] = right.strip()
            else:
                systems[left[1]] = right.split()
            continue
        unknown = [used for used in right.split() if used not in rooms]
        if unknown:
            sys.exit(f"{path}:{number}: {left[0]} uses {unknown[0]}, which is not above it in this table")
        names = folders_of(left[0], src, rooms) if "*" in left[0] else left
        for name in names:
            rooms[name] = {name}.union(*(rooms[used] for used in right.split()))
    return rooms, families, systems


def room_of(name, rooms):
    """Gives the innermost room of a path relative to src/, or None."""
    holders = [room for room in rooms if name.startswith(room + "/")]
    return max(holders, key=len, default=None)


def class_name(stem):
    return "".join(part.capitalize() for part in stem.split("_"))


class Checker:
    def __init__(self, src, rooms, families, systems):
        self.src, self.rooms, self.families, self.systems = src, rooms, families, systems
        self.problems = []
        self.texts = {
            str(path.relative_to(src)): path.read_text()
            for path in sorted(src.rglob("*")) if path.suffix in CODE and path.is_file()
        }
        self.headers = {name for name in self.texts if not name.endswith(".cpp")}

    def report(self, name, what, offset=0):
        line = self.texts[name].count("\n", 0, offset) + 1
        self.problems.append(f"{self.src.name}/{name}:{line}: {what}")

    def check_includes(self, name, room):
        for include in INCLUDE.finditer(self.texts[name]):
            used = room_of(include[1], self.rooms)
            if used and used not in self.rooms[room]:
                self.report(name, f"{room} may not use {used}: {include[1]}", include.start())

    def check_system(self, name, room):
        if room == PLATFORM:
            return
        allowed = set(self.systems.get(name, ()))
        for include in SYSTEM_INCLUDE.finditer(self.texts[name]):
            if SYSTEM.fullmatch(include[1]) and include[1] not in allowed:
                self.report(name, f"a header of the system outside {PLATFORM}: {include[1]}", include.start())

    def check_exceptions(self):
        """Finds exceptions that nothing needs any more."""
        for name, headers in self.systems.items():
            included = {include[1] for include in SYSTEM_INCLUDE.finditer(self.texts.get(name, ""))}
            for header in headers:
                if header not in included:
                    self.problems.append(f"{self.src.name}/{name}: may include {header}, and does not")

    def check_engine(self, name, room):
        order = list(self.rooms)
        if "engine" not in order or order.index(room) >= order.index("engine"):
            return
        code = NOT_CODE.sub(lambda match: " " * len(match[0]) if "\n" not in match[0] else
                            re.sub(r"[^\n]", " ", match[0]), self.texts[name])
        for use in re.finditer(r"\bEngine\b", code):
            self.report(name, "a file below engine/ names Engine", use.start())

    def has_header(self, name, room):
        path = Path(name)
        if path.stem == "main" or str(path.with_suffix(".h")) in self.headers:
            return True
        parts = path.stem.split("_")
        if any(str(path.with_name("_".join(parts[:count]) + ".h")) in self.headers for count in range(1, len(parts))):
            return True
        for pattern, header in self.families.items():
            if fnmatch.fnmatch(name, pattern):
                if header not in self.headers:
                    self.report(name, f"the header of its family does not exist: {header}")
                return True
        declared = re.compile(rf"\b(?:class|struct) {class_name(path.stem)}\b[^;]*{{")
        return any(declared.search(self.texts[header]) for header in self.headers
                   if room_of(header, self.rooms) == room)

    def check(self):
        used, counts = set(), {}
        for name in self.texts:
            room = room_of(name, self.rooms)
            if room is None:
                self.report(name, "is in no room of the table")
                continue
            used.add(room)
            folder = name.rpartition("/")[0]
            counts[folder] = counts.get(folder, 0) + 1
            self.check_includes(name, room)
            self.check_system(name, room)
            self.check_engine(name, room)
            if name.endswith(".cpp") and not self.has_header(name, room):
                self.report(name, "has no header of its name, class or family")
        for room in self.rooms:
            if room not in used:
                self.problems.append(f"{self.src.name}/{room}: a room of the table without files")
        for folder, count in counts.items():
            if count > MOST_FILES:
                self.problems.append(f"{self.src.name}/{folder}: {count} files, and {MOST_FILES} are the most")
        self.check_exceptions()
        for pattern in self.families:
            if not any(fnmatch.fnmatch(name, pattern) for name in self.texts):
                self.problems.append(f"a family without files: {pattern}")
        return self.problems


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rooms, families, systems = read_rooms(root / "cmake/rooms.txt", root / "src")
    checker = Checker(root / "src", rooms, families, systems)
    if not rooms or not checker.texts:
        sys.exit("layers: there are no rooms or no sources to check")
    problems = checker.check()
    print("\n".join(problems) or f"layers: {len(checker.texts)} files in {len(rooms)} rooms")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
