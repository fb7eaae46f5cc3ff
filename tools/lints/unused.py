"""Checks that every function and constant that a header of src/ declares is named somewhere else than where it is defined,
and that every name of an error is one that code raises.

Overrides, and the scalar bodies of tensor/bodies, which macros name, are left out; so are overloads, whose names occur
several times.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from layers import NOT_CODE

SEARCHED = ["src", "include", "tests", "examples", "tools"]
CODE = {".cpp", ".h", ".hpp", ".c", ".cuh", ".def"}
ERRORS = "src/base/errors.def"
ERROR_ROW = re.compile(r"^ERROR(?:_UNSHOWN)?\((\w+),", re.M)
LEFT_OUT = "src/tensor/bodies/"
WORD = re.compile(r"[A-Za-z_]\w*")
# What stands in front of a declared name in its line: a type, which may be "const std::vector<int>&" or "void".
TYPE = r"^[ \t]*(?:template ?<[^;{}]*> )?(?!(?:return|else|throw|case|delete|new|using)\b)[\w:<>,&* \[\]]*[\w>&*\]][ &*]+"


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def is_declaration(line, name):
    """Whether the line declares a function or a constant of that name."""
    if re.search(r"\boverride\b", line):
        return False
    is_function = re.match(TYPE + rf"{name}\(", line)
    is_constant = re.match(r"^[ \t]*(?:inline|static) constexpr ", line) and re.search(rf"\b{name} = ", line)
    return bool(is_function or is_constant)


def is_definition(line, name):
    """Whether the line of a .cpp begins the definition of that function."""
    return not line.startswith(" ") and bool(re.search(rf"[ &*:]{name}\(", line))


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "--", *SEARCHED],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    uses = defaultdict(list)  # name: (file, line's number, line), the first three
    headers = []
    rows, raised = [], set()  # names of errors, and those that code uses
    for file in sorted(listed):
        if Path(file).suffix not in CODE or not (root / file).is_file():
            continue
        if file.startswith("src/") and file.endswith(".h") and not file.startswith(LEFT_OUT):
            headers.append(file)
        code = NOT_CODE.sub(blank, (root / file).read_text())
        if file == ERRORS:
            rows = [(code.count("\n", 0, row.start()) + 1, row[1]) for row in ERROR_ROW.finditer(code)]
        if file.startswith("src/"):
            raised.update(re.findall(r"\bErrorName::(\w+)", code))
        for number, line in enumerate(code.splitlines(), 1):
            for word in WORD.findall(line):
                if len(uses[word]) < 3:
                    uses[word].append((file, number, line))
    problems = []
    for name, found in uses.items():
        declared = [use for use in found if use[0] in headers and is_declaration(use[2], name)]
        defined = [use for use in found if use[0].startswith("src/") and use[0].endswith(".cpp") and is_definition(use[2], name)]
        if len(declared) == 1 and len(found) == len(declared) + len(defined) <= 2:
            problems.append(f"{declared[0][0]}:{declared[0][1]}: nothing uses {name}")
    problems += [f"{ERRORS}:{number}: no error has the name {name}" for number, name in rows if name not in raised]
    if not headers:
        sys.exit("unused: there are no headers to check")
    print("\n".join(sorted(problems)) or f"unused: everything that {len(headers)} headers declare is used")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
