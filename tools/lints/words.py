"""Checks that no word of tools/lints/retired_words.md is used any more.

The file is a table "retired | now | kind | meaning". An identifier of several words is found by its stem, in snake or
camel case and in the plural. Any other is found as a whole word, case as written, and so is an exact one; one of
lower-case letters alone, which may be a word of English, too, only in code: outside of the comments and texts of C++,
and in the code spans of documents. A file is not named for either. A phrase is found in any case, also across line
breaks. Between the lines "<!-- words: quoted -->" and "<!-- words: end -->" documents quote what is retired.
"""
import re
import subprocess
import sys
from bisect import bisect_right
from functools import lru_cache
from pathlib import Path

from layers import NOT_CODE

RETIRED = "tools/lints/retired_words.md"
SEARCHED = ["src", "tests", "tools", "cmake", "docs", "*.md"]
NOT_SEARCHED = {RETIRED, "tools/lints/test_lints.py"}
CXX = {".cpp", ".h", ".cuh", ".def", ".g4"}
KINDS = ("identifier", "exact", "phrase")
NAME = re.compile(r"[A-Za-z_]\w*")
QUOTED = re.compile(r"<!-- words: quoted -->.*?<!-- words: end -->", re.S)
CODE_SPAN = re.compile(r"```.*?```|`[^`\n]*`", re.S)
# Between two words of a phrase: blanks, or the end of a line with what begins the next one, also inside of a text.
GAP = r'(?:[ \t]+|[ \t]*"?[ \t]*\n[ \t]*(?:(?:///?<?|#|\*|>|"|-)[ \t]*)?)'


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def cells_of(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def read_retired(path):
    """Gives the retired words of each kind."""
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
                sys.exit(f"{path}:{number}: not 'retired | now | identifier, exact or phrase | meaning'")
            if cells[2] != "phrase" and not re.fullmatch(r"[\w.:<>]+( [\w.:<>]+)?", word):
                sys.exit(f"{path}:{number}: not an identifier: {word}")
            words[cells[2]].append(word)
    return words


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@lru_cache(maxsize=None)
def stem_of(name):
    """Gives what spellings of a name of several words share, "old_name" for kOldNames; "" for one word."""
    words = re.sub(r"^k(?=[A-Z])", "", name).strip("_")
    words = re.sub(r"(?<=[a-rt-z])s$", "", snake(words))
    return words if "_" in words else ""


def any_of(patterns, flags=0):
    """Gives what finds any of these as whole words. The first letters, looked at once, rule out most places."""
    patterns = sorted(patterns, key=len, reverse=True)
    if not patterns:
        return re.compile(r"(?!)")
    first = "".join(sorted({re.escape(pattern.lstrip("\\")[0]) for pattern in patterns}))
    return re.compile(rf"(?<!\w)(?=[{first}])(?:{'|'.join(patterns)})(?!\w)", flags)


class Checker:
    def __init__(self, words):
        self.stems = {stem_of(name) for name in words["identifier"] if NAME.fullmatch(name)} - {""}
        as_written = [name for kind in ("identifier", "exact") for name in words[kind] if stem_of(name) not in self.stems]
        as_written += [name for name in words["identifier"] if not NAME.fullmatch(name)]
        plain = [name for name in as_written if re.fullmatch(r"[a-z]+", name)]
        self.everywhere = any_of(re.escape(name) for name in as_written if name not in plain)
        self.in_code = any_of(plain)
        self.phrases = any_of((GAP.join(map(re.escape, phrase.split())) for phrase in words["phrase"]), re.I)
        self.file_names = {snake(name) for name in as_written if name not in plain}

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
        file_name = Path(name).stem.removeprefix("test_")
        is_retired = file_name in self.file_names or stem_of(file_name) in self.stems
        found = [(1, f"{file_name} (the file's name)")] if is_retired else []
        text = QUOTED.sub(blank, text) if name.endswith(".md") else text
        starts = [match.end() for match in re.finditer("\n", text)]
        for pattern, where in ((self.everywhere, text), (self.in_code, self.code_of(name, text)), (self.phrases, text)):
            found += [(bisect_right(starts, use.start()) + 1, " ".join(use[0].split())) for use in pattern.finditer(where)]
        found += [(bisect_right(starts, use.start()) + 1, use[0]) for use in NAME.finditer(text)
                  if stem_of(use[0]) in self.stems]
        return sorted(found)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    if not (root / RETIRED).exists():
        sys.exit(f"words: there is no {RETIRED}")
    words = read_retired(root / RETIRED)
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "--", *SEARCHED],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    checker = Checker(words)
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
    identifiers, phrases = len(words["identifier"]) + len(words["exact"]), len(words["phrase"])
    if not identifiers or not phrases or not count:
        sys.exit(f"words: {identifiers} identifiers, {phrases} phrases, {count} files: nothing to check")
    print(f"words: {problems} uses of {identifiers} identifiers and {phrases} phrases in {count} files")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
