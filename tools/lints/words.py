"""Checks that no retired word of docs/glossary.md is used any more.

The glossary is a table "retired | now | kind | meaning". An identifier is found as a whole word, case as written; one
of lower-case letters alone, which may be a word of English, too, only in code: outside of the comments and texts of
C++, and in the code spans of documents. A file is not named for it, either. A phrase is found in any case, also across
line breaks. Between the lines "<!-- words: quoted -->" and "<!-- words: end -->" documents quote what is retired.
"""
import re
import subprocess
import sys
from bisect import bisect_right
from pathlib import Path

from layers import NOT_CODE

GLOSSARY = "docs/glossary.md"
SEARCHED = ["src", "tests", "tools", "cmake", "docs", "*.md"]
NOT_SEARCHED = {GLOSSARY, "tools/lints/test_lints.py"}
CXX = {".cpp", ".h", ".cuh", ".def", ".g4"}
KINDS = {"identifier", "phrase"}
QUOTED = re.compile(r"<!-- words: quoted -->.*?<!-- words: end -->", re.S)
CODE_SPAN = re.compile(r"```.*?```|`[^`\n]*`", re.S)
# Between two words of a phrase: blanks, or the end of a line with what begins the next one, also inside of a text.
GAP = r'(?:[ \t]+|[ \t]*"?[ \t]*\n[ \t]*(?:(?:///?<?|#|\*|>|"|-)[ \t]*)?)'


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def cells_of(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def read_glossary(path):
    """Gives the identifiers and the phrases that are retired."""
    words = {kind: [] for kind in KINDS}
    is_table = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.lstrip().startswith("|"):
            is_table = False
            continue
        cells = cells_of(line)
        if [cell.lower() for cell in cells[:3]] == ["retired", "now", "kind"]:
            is_table = True
        elif is_table and not re.fullmatch(r":?-+:?", cells[0]):
            word = cells[0].strip("`").removesuffix("()")
            if len(cells) != 4 or cells[2] not in KINDS or not word:
                sys.exit(f"{path}:{number}: not 'retired | now | identifier or phrase | meaning'")
            if cells[2] == "identifier" and not re.fullmatch(r"[\w.:<>]+( [\w.:<>]+)?", word):
                sys.exit(f"{path}:{number}: not an identifier: {word}")
            words[cells[2]].append(word)
    return words["identifier"], words["phrase"]


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def any_of(patterns, flags=0):
    """Gives what finds any of these as whole words. The first letters, looked at once, rule out most places."""
    patterns = sorted(patterns, key=len, reverse=True)
    if not patterns:
        return re.compile(r"(?!)")
    first = "".join(sorted({re.escape(pattern.lstrip("\\")[0]) for pattern in patterns}))
    return re.compile(rf"(?<!\w)(?=[{first}])(?:{'|'.join(patterns)})(?!\w)", flags)


class Checker:
    def __init__(self, identifiers, phrases):
        plain = [name for name in identifiers if re.fullmatch(r"[a-z]+", name)]
        self.everywhere = any_of(re.escape(name) for name in identifiers if name not in plain)
        self.in_code = any_of(plain)
        self.phrases = any_of((GAP.join(map(re.escape, phrase.split())) for phrase in phrases), re.I)
        self.stems = {snake(name): name for name in identifiers if name not in plain and re.fullmatch(r"\w+", name)}

    def code_of(self, name, text):
        suffix = Path(name).suffix
        if suffix == ".md":
            kept = [" " if c != "\n" else c for c in text]
            for span in CODE_SPAN.finditer(text):
                kept[span.start():span.end()] = text[span.start():span.end()]
            return "".join(kept)
        return NOT_CODE.sub(blank, text) if suffix in CXX else ""

    def check(self, name, text):
        """Gives (line, word) for every use of a retired word."""
        stem = Path(name).stem.removeprefix("test_")
        found = [(1, f"{self.stems[stem]} (the file's name)")] if stem in self.stems else []
        text = QUOTED.sub(blank, text) if name.endswith(".md") else text
        starts = [match.end() for match in re.finditer("\n", text)]
        for pattern, where in ((self.everywhere, text), (self.in_code, self.code_of(name, text)), (self.phrases, text)):
            found += [(bisect_right(starts, use.start()) + 1, " ".join(use[0].split())) for use in pattern.finditer(where)]
        return sorted(found)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    if not (root / GLOSSARY).exists():
        sys.exit(f"words: there is no {GLOSSARY}")
    identifiers, phrases = read_glossary(root / GLOSSARY)
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "--", *SEARCHED],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    checker = Checker(identifiers, phrases)
    count = problems = 0
    for name in sorted(set(listed) - NOT_SEARCHED):
        try:
            text = (root / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        count += 1
        for line, word in checker.check(name, text):
            print(f"{name}:{line}: retired: {word}")
            problems += 1
    if not identifiers or not phrases or not count:
        sys.exit(f"words: {len(identifiers)} identifiers, {len(phrases)} phrases, {count} files: nothing to check")
    print(f"words: {problems} uses of {len(identifiers)} identifiers and {len(phrases)} phrases in {count} files")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
