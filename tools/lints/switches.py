"""Checks that no switch over an enum of src/ has a `default:`, so that -Werror=switch names each forgotten case.

What is switched over is read from the case labels. A switch over numbers or characters may have a default, and so may
one over the constants that FOREIGN lists.
"""
import re
import sys
from pathlib import Path

from layers import CODE, NOT_CODE

# Folders, and the classes whose constants no switch there has to list. Token types are ints of the generated parser, one
# for each token of the grammar; the folder names that class in several ways.
FOREIGN = {"src/syntax/": {"Parser", "TslParser", "Tokens", "Token"}}
DEFAULT = re.compile(r"\bdefault\s*:(?!:)")
LABEL = re.compile(r"\bcase\s+((?:[^:]|::)+?)\s*:(?!:)")
SWITCH = re.compile(r"\bswitch\s*\(")


def blank(text):
    """Replaces comments, strings and characters by as many spaces; a character stays a literal: 0."""
    def spaces(match):
        kept = "0" if match[0].startswith("'") else ""
        return kept + re.sub(r"[^\n]", " ", match[0][len(kept):])
    return NOT_CODE.sub(spaces, text)


def body_around(code, offset):
    """Gives the offsets of the innermost switch's body around `offset`, or None."""
    depth = 0
    for at in range(offset - 1, -1, -1):
        if code[at] == "}":
            depth += 1
        elif code[at] == "{" and depth:
            depth -= 1
        elif code[at] == "{" and follows_switch(code, at):
            return at + 1, end_of(code, at + 1)
    return None


def follows_switch(code, brace):
    """Whether what stands before a brace is `switch (...)`."""
    head = code[:brace].rstrip()
    if not head.endswith(")"):
        return False
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        depth += (head[at] == ")") - (head[at] == "(")
        if depth == 0:
            return bool(SWITCH.search(head, max(0, at - 20), at + 1)) and head[:at].rstrip().endswith("switch")
    return False


def end_of(code, begin):
    depth = 1
    for at in range(begin, len(code)):
        depth += (code[at] == "{") - (code[at] == "}")
        if depth == 0:
            return at
    return len(code)


def own_text(code, begin, end):
    """Blanks the bodies of switches within a switch's body."""
    for inner in SWITCH.finditer(code, begin, end):
        brace = code.find("{", inner.end())
        last = end_of(code, brace + 1)
        code = code[:brace] + " " * (last - brace) + code[last:]
    return code[begin:end]


def enum_of(label):
    """Gives the qualifier of a constant that a label names, the constant itself if it has none, or None."""
    label = re.sub(r"^\(|\)$", "", label.strip())
    if re.match(r"[-+]?\d", label):
        return None
    *qualifiers, name = [part.strip() for part in label.split("::")]
    return qualifiers[-1] if qualifiers else name


def problems_of(name, text):
    code = blank(text)
    foreign = set().union(*(classes for folder, classes in FOREIGN.items() if name.startswith(folder)))
    for default in DEFAULT.finditer(code):
        body = body_around(code, default.start())
        line = code.count("\n", 0, default.start()) + 1
        if body is None:
            yield f"{name}:{line}: a default outside of a switch"
            continue
        enums = {enum_of(label[1]) for label in LABEL.finditer(own_text(code, *body))} - {None} - foreign
        if enums:
            yield f"{name}:{line}: a default over {min(enums)}: list its cases, or use an if"


def report(name, pattern, what, files, root, problems_of):
    """Prints the problems of files, or how many places a pattern finds in them, and exits; none are a problem, too."""
    texts = {str(path.relative_to(root)): path.read_text() for path in sorted(files)}
    count = sum(len(pattern.findall(blank(text))) for text in texts.values())
    if not count:
        sys.exit(f"{name}: there are no {what} to check")
    problems = [problem for path, text in texts.items() for problem in problems_of(path, text)]
    print("\n".join(problems) or f"{name}: {count} {what} in {len(texts)} files")
    sys.exit(bool(problems))


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    files = (path for path in (root / "src").rglob("*") if path.suffix in CODE and path.is_file())
    report("switches", SWITCH, "switches", files, root, problems_of)


if __name__ == "__main__":
    main()
