"""Checks that every relative link of the Markdown files leads to a file, and its anchor to a heading.

The files that comments of sources and code spans of documents name must exist, too. A name may leave out the folders in
front of it, and have wildcards.
"""
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

from named_files import NamedFiles

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)", re.M)
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$", re.M)
NAMED = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)


def without_code(text):
    """Blanks fenced blocks and code spans; lines stay where they are."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?^ {0,3}\1[^\n]*$", blank, text, flags=re.M | re.S)
    return re.sub(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", blank, text)


def headings(text):
    """Gives the line of each heading, from 0 on, and its anchor as GitHub makes it."""
    blank = re.sub(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?^ {0,3}\1[^\n]*$", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    counts = {}
    for match in HEADING.finditer(blank):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = counts.get(anchor, 0)
        counts[anchor] = number + 1
        yield blank.count("\n", 0, match.start()), f"{anchor}-{number}" if number else anchor


def anchors(path):
    """Gives all anchors of a page."""
    text = path.read_text()
    return set(NAMED.findall(text)) | {anchor for _, anchor in headings(text)}


def problems_of(page, root):
    text = without_code(page.read_text())
    links = [*LINK.finditer(text), *DEFINITION.finditer(text)]
    problems = []
    count = 0
    for link in links:
        if ELSEWHERE.match(link[1]) or link[1].startswith("//"):
            continue
        count += 1
        where = f"{page.relative_to(root)}:{text.count(chr(10), 0, link.start()) + 1}"
        name, _, anchor = unquote(link[1]).partition("#")
        target = (root / name.lstrip("/") if name.startswith("/") else page.parent / name) if name else page
        if not target.exists():
            problems.append(f"{where}: no such file: {link[1]}")
        elif root.resolve() not in [target.resolve(), *target.resolve().parents]:
            problems.append(f"{where}: leads out of the repository: {link[1]}")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            problems.append(f"{where}: no such heading: {link[1]}")
    return count, problems


def text_of(path):
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return None


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    listed = [name for name in listed if (root / name).is_file()]
    pages = [root / name for name in listed if name.endswith(".md")]
    results = [problems_of(page, root) for page in pages]
    links = sum(count for count, _ in results)
    texts = {name: text for name in listed if (text := text_of(root / name)) is not None}
    files = NamedFiles(listed, texts)
    results += [files.problems_of(name, text) for name, text in texts.items()]
    named = sum(count for count, _ in results) - links
    problems = [problem for _, found in results for problem in found]
    if not links:
        sys.exit("links: there are no links to check")
    print("\n".join(problems) or f"links: {links} relative links of {len(pages)} pages lead somewhere, and {named} files that "
                                  "comments and documents name exist")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
