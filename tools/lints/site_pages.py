"""Makes the pages of tools/site: what GitHub shows of the Markdown files, as mkdocs reads it.

mkdocs has other anchors for headings than GitHub, takes "```tsl no-run" for no block, nests lists by four blanks, and knows files
outside of its folder not at all. So the site is built of copies, in which these are written as it wants them.
"""
import html.parser
import json
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import links

PROGRAM = "build/release/tsl"
REFERENCE = ["index", "builtins", "nn", "optim", "science", "options", "errors"]  # what `tsl doc` writes, in this order
PICTURES = {".png", ".svg", ".jpg"}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".c": "c", ".py": "python", ".sh": "sh", ".tsl": "tsl"}
STYLE = """
.wy-nav-content { max-width: 62rem; }
.rst-content pre code { font-size: 0.8rem; line-height: 1.4; }
.rst-content table { display: block; margin-bottom: 24px; overflow-x: auto; }
.rst-content table td, .rst-content table th { padding: 4px 8px; white-space: normal !important; }
.rst-content thead:not(:has(th:not(:empty))) { display: none; }
.rst-content code { overflow-wrap: anywhere; white-space: normal; }
.rst-content pre code { white-space: pre; overflow-wrap: normal; }
"""


class Site:
    """Copies pages, and all that they lead to, into a folder."""

    def __init__(self, root, source):
        self.root = root
        self.source = source
        self.pages = {}  # by the name of a file or folder of the repository, that of its page
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                                capture_output=True, text=True, check=True).stdout.splitlines()
        self.listed = [name for name in listed if (root / name).is_file()]

    def add(self, name):
        """Makes the page of a file or folder, unless it is there, and returns its name; None if there is none to be."""
        if name in self.pages:
            return self.pages[name]
        path = self.root / name
        if path.is_dir():
            return self.add_folder(name)
        if name.endswith(".md"):
            self.pages[name] = name
            self.write(name, self.converted(name, path.read_text()))
        elif path.suffix in PICTURES:
            self.pages[name] = name
            self.write(name, path.read_bytes())
        else:
            self.add_source(name, path)
        return self.pages[name]

    def add_folder(self, name):
        readme = posixpath.join(name, "README.md")
        if (self.root / readme).is_file():
            return self.add(readme)
        self.pages[name] = posixpath.join(name, "index.md")
        below = sorted({posixpath.join(name, each[len(name) + 1:].split("/")[0])
                        for each in self.listed if each.startswith(name + "/")})
        lines = [f"- [{posixpath.basename(each)}]({self.relative(each, self.pages[name])})" for each in below]
        self.write(self.pages[name], "\n".join([f"# {name}", "", *lines, ""]))
        return self.pages[name]

    def add_source(self, name, path):
        self.pages[name] = re.sub(r"(^|/)[.]", r"\1", name) + ".md"  # mkdocs leaves out what begins with a point
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            text = f"({path.stat().st_size} bytes)\n"
        self.write(self.pages[name], f"# {name}\n\n~~~~~{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n~~~~~\n")

    def write(self, name, content):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def relative(self, name, page):
        return posixpath.relpath(self.add(name), posixpath.dirname(page) or ".")

    def converted(self, name, text):
        text = self.with_links(name, text)
        lines = text.split("\n")
        title = next((lines[number].strip("# ").replace("`", "") for number, _ in links.headings(text)), name)
        for number, anchor in links.headings(text):
            lines[number] += f" {{: #{anchor}}}"
        in_block = False
        for number, line in enumerate(lines):
            if line.startswith("```"):
                in_block = not in_block
                lines[number] = line.split(" ")[0]
            elif not in_block:
                lines[number] = re.sub(r"^  (?=[-*] )", "    ", line)
                if line.startswith("|"):  # where code of a table has its bars as they are
                    lines[number] = re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), line)
        return "\n".join(["---", f"title: {json.dumps(title)}", "---", *lines])

    def with_links(self, name, text):
        """Returns the text with links to pages in place of those to files and folders."""
        blank = links.without_code(text)
        found = [*links.LINK.finditer(blank), *links.DEFINITION.finditer(blank)]
        for link in sorted(found, key=lambda link: -link.start(1)):
            target, mark, anchor = link[1].partition("#")
            if not target or links.ELSEWHERE.match(target):
                continue
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(target)))
            if not (self.root / file).exists():
                sys.exit(f"site: {name} leads to {file}, which there is not")
            text = text[:link.start(1)] + self.relative(file, name) + mark + anchor + text[link.end(1):]
        return text


def navigation(root):
    """Gives the groups of docs/pages.md, each with its pages in their order; pages in a folder are a group of its name."""
    groups, named = [{"Start": "README.md"}], {"pages.md"}
    for part in re.split(r"^## ", (root / "docs/pages.md").read_text(), flags=re.M)[1:]:
        pages, within = [], []
        for label, target in re.findall(r"\[([^\]]+)\]\(([\w/-]+\.md)\)", part):
            if target in named:
                continue
            label = label[0].upper() + label[1:]
            pages.append({label: f"docs/{target}"})
            files = sorted((root / "docs" / target[:-3]).glob("*.md"))
            named |= {target, *(f"{target[:-3]}/{file.name}" for file in files)}
            if files:
                within.append({label: [f"docs/{target[:-3]}/{file.name}" for file in files]})
        groups += [{part.split("\n")[0]: pages}, *within]
    forgotten = {page.relative_to(root / "docs").as_posix() for page in (root / "docs").rglob("*.md")} - named
    if forgotten:
        sys.exit(f"site: docs/pages.md does not name {', '.join(sorted(forgotten))}")
    return [*groups, {"All pages": "docs/pages.md"}]


class Page(html.parser.HTMLParser):
    """Collects what a page of the site leads to, what it loads, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif tag in ("img", "script", "iframe") and attributes.get("src"):
            self.loaded.append(attributes["src"])
        elif tag == "link" and attributes.get("rel") != "canonical" and attributes.get("href"):
            self.loaded.append(attributes["href"])


def problems(site):
    """Gives the number of links of a built site, and a line for each one that leads nowhere or loads from elsewhere."""
    site = site.resolve()
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found, count = [], 0
    for path, page in pages.items():
        where = path.relative_to(site)
        found += [f"{where} loads {each}" for each in page.loaded if re.match(r"([a-z]+:)?//", each)]
        for link in [*page.links, *page.loaded]:
            if links.ELSEWHERE.match(link) or link.startswith("//"):
                continue
            count += 1
            target, _, anchor = unquote(link).partition("#")
            folder = site if target.startswith("/") else path.parent
            file = (folder / target.split("?")[0].lstrip("/")).resolve() if target else path
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file():
                found.append(f"{where}: no such page: {link}")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                found.append(f"{where}: no such anchor: {link}")
    return count, found


def complete_theme(site):
    """Adds the scripts that pages ask for and the theme of Debian's mkdocs has under the name of another version, or not at all."""
    for name in Page((site / "index.html").read_text()).loaded:
        if name.startswith("js/") and not (site / name).exists():
            kin = sorted(site.glob(re.sub(r"-[\d.]*\d", "-*", name)))
            (site / name).write_bytes(kin[0].read_bytes() if kin else b"")


def build(root, source, target):
    for folder in (source, target):
        shutil.rmtree(folder, ignore_errors=True)
    site = Site(root, source / "pages")
    groups = navigation(root)
    site.add("README.md")
    for page in sorted((root / "docs").rglob("*.md")):
        site.add(str(page.relative_to(root)))
    site.write("site.css", STYLE)
    subprocess.run([root / PROGRAM, "doc", source / "pages/reference"], check=True, stdout=subprocess.DEVNULL)
    groups.insert(-1, {"Reference": [f"reference/{name}.md" for name in REFERENCE]})
    settings = {
        "site_name": "TSL", "docs_dir": str(source / "pages"), "site_dir": str(target), "use_directory_urls": False, "nav": groups,
        "theme": {"name": "readthedocs", "highlightjs": False, "navigation_depth": 2}, "extra_css": ["site.css"],
        "plugins": [{"search": {"separator": r"[^\w@]+"}}], "markdown_extensions": ["attr_list", {"toc": {"permalink": "#"}}],
    }
    (source / "mkdocs.yml").write_text(json.dumps(settings, indent=2))  # JSON is YAML
    subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--config-file", source / "mkdocs.yml"], check=True)
    complete_theme(target)


def main():
    root = Path(__file__).resolve().parents[2]
    if not shutil.which("mkdocs"):
        sys.exit("site: mkdocs is missing: apt-get install mkdocs")
    if not (root / PROGRAM).exists():
        sys.exit(f"site: {PROGRAM} is missing: tools/tsl builds it")
    target = root / "build/site"
    try:
        build(root, root / "build/site-source", target)
    except subprocess.CalledProcessError as failure:
        sys.exit(f"site: {failure.cmd[0]} failed ({failure.returncode})")
    count, found = problems(target)
    if found or not count:
        sys.exit("\n".join(found) or "site: there are no links to check")
    print(f"site: {len(list(target.rglob('*.html')))} pages in {target}, whose {count} links lead somewhere")
    if "--serve" in sys.argv[1:]:
        subprocess.run([sys.executable, "-m", "http.server", "--directory", target], check=False)
