"""Finds the files that comments and documents name and that do not exist."""
import io
import re
import tokenize
from fnmatch import fnmatch
from pathlib import Path

SLASHES = {".cpp", ".h", ".hpp", ".c", ".cuh", ".cu", ".def", ".g4"}
HASHES = {"", ".sh", ".cmake", ".txt", ".tsl"}
# Comments, and the texts and characters in front of them, which are none. A quote between digits separates them.
SLASH_COMMENT = re.compile(
    r'"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|(//[^\n]*|/\*.*?\*/)', re.S)
HASH_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|((?<!\S)#[^\n]*)')
CODE_SPAN = re.compile(r"(`[^`\n]+`)")
INCLUDE = re.compile(r"#[ \t]*include[ \t]*<([^>]+)>")
BEFORE = r'(?<![\w./<$*}{-])'
# A script with a line number is an example: "train.tsl:8".
FILE = re.compile(BEFORE + r"[\w*][\w./*+-]*\.(?:cpp|h|hpp|cuh|def|g4|py|md|tsl(?!:[\d_])|sh|cmake|patch)\b(?![\w(])")
PLACEHOLDER = re.compile(r"(?:^|/)(?:[A-Z]{2,}|foo\w*)(?:[./]|$)")  # "FOLDER/NAME.tsl", "foo_bar.cpp"


def python_comments(text):
    """Gives where comments and docstrings are."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    begins_line = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins_line):
            yield starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            begins_line = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def comments_of(name, text):
    """Gives where the comments of a source, or the code spans of a document, are: (from, to)."""
    suffix = Path(name).suffix
    if suffix == ".py":
        return list(python_comments(text))
    pattern = (CODE_SPAN if suffix == ".md" else SLASH_COMMENT if suffix in SLASHES else
               HASH_COMMENT if suffix in HASHES else None)
    return [match.span(1) for match in pattern.finditer(text) if match[1]] if pattern else []


class NamedFiles:
    """Knows the files of a repository; `texts` maps their names to what is in them, for those that are text."""

    def __init__(self, names, texts):
        self.known, folders = set(), set()
        for name in names:
            parts = name.split("/")
            self.known.update("/".join(parts[i:]) for i in range(len(parts)))
            folders.update("/".join(parts[:i]) for i in range(1, len(parts)))
        self.known |= folders
        headers = {header for name, text in texts.items() if Path(name).suffix in SLASHES for header in INCLUDE.findall(text)}
        self.known |= {"/".join(header.split("/")[i:]) for header in headers for i in range(header.count("/") + 1)}
        top = "|".join(sorted(re.escape(folder) for folder in folders if "/" not in folder and not folder.startswith(".")))
        self.path = re.compile(BEFORE + rf"(?:{top})/[\w./*-]*[\w*](?![\w./*<{{$…-])") if top else None

    def exists(self, name):
        if "*" in name:
            return any(fnmatch(known, name) for known in self.known)
        return name in self.known or PLACEHOLDER.search(name)

    def problems_of(self, name, text):
        """Gives how many files are named, and "name:line: no such file" for those that are not there."""
        spans = comments_of(name, text)
        ends = [0, *(end for _, end in spans)]
        code = "\n".join(text[after:begin] for after, begin in zip(ends, [*(begin for begin, _ in spans), len(text)]))
        found = {}
        for begin, end in spans:
            for pattern in (FILE, self.path):
                for use in pattern.finditer(text, begin, end) if pattern else []:
                    found.setdefault(use.start(), use[0])
        problems = []
        for at, file in sorted(found.items()):
            if name.endswith(".md") and "/" not in file:
                continue  # it may be a file of the reader's
            # What a source makes or reads itself is named in its code, too.
            if not self.exists(file) and file not in code:
                problems.append(f"{name}:{text.count(chr(10), 0, at) + 1}: no such file: {file}")
        return len(found), problems
