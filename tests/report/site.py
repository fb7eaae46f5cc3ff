#!/usr/bin/env python3
"""Opens the site that tools/site has built in headless Chromium, on wide and narrow screens.

    tests/report/site.py [--chromium chromium] [--screenshots FOLDER] [build/site]

The console is empty, nothing is loaded from elsewhere, no page is wider than the screen, and the search finds words.
"""
import argparse
import functools
import http.server
import sys
import tempfile
import threading
import time
from pathlib import Path

from browser import Browser

PAGES = ["index.html", "docs/tutorial.html", "docs/cookbook/data.html", "docs/cookbook/programs.html", "docs/coming-from.html",
         "docs/language.html", "reference/builtins.html", "docs/explain.html", "docs/errors.html", "docs/nn.html", "docs/pages.html",
         "examples/models/llama.tsl.html"]
WORDS = {"convolution": "docs/nn.html", "cookbook": "docs/cookbook.html", "cosine_restarts": "reference/optim.html", "vmap": "docs/derivatives.html"}
WIDTHS = [400, 1280]
SECONDS = 30  # the most that a search may take


class Address:
    """What Browser.open takes: a path that is asked for its URL."""

    def __init__(self, url):
        self.url = url

    def as_uri(self):
        return self.url


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Checks:
    def __init__(self, browser, root, screenshots):
        self.browser, self.root, self.screenshots = browser, root, screenshots
        self.passed, self.failed = 0, 0

    def check(self, what, holds, detail=""):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(f"{what}: {detail}")

    def open(self, name, width):
        self.browser.open(Address(self.root + name), "light", width)
        self.browser.value("document.fonts.ready.then(() => 1)")

    def page(self, name, width):
        self.open(name, width)
        wide = self.browser.value("""[...document.querySelectorAll("body *")].filter(n => n.checkVisibility() &&
            n.getBoundingClientRect().right > innerWidth + 1 && !n.closest("pre, table, nav")).map(n => n.outerHTML.slice(0, 90)).slice(0, 3)""")
        self.check(f"{name}, {width} wide: nothing overflows", not wide, wide)
        self.check(f"{name}: the page has a heading", self.browser.value("document.querySelectorAll('h1').length") == 1)
        problems = [each for each in self.browser.problems(Address(self.root + name))
                    if not each.startswith(f"loads {self.root}")]
        self.check(f"{name}: the console is empty, and nothing is loaded from elsewhere", not problems, problems)
        if self.screenshots:
            self.browser.screenshot(self.screenshots / f"{name.replace('/', '-')}-{width}.png")

    def search(self, word, page):
        self.open(f"search.html?q={word}", 1280)
        found, end = [], time.monotonic() + SECONDS
        while not found and time.monotonic() < end:
            time.sleep(0.1)
            found = self.browser.value("[...document.querySelectorAll('#mkdocs-search-results article a')].map(a => a.href)")
        self.check(f"the search for {word} finds {page}", any(each.startswith(self.root + page) for each in found), found[:5])
        if self.screenshots:
            self.browser.screenshot(self.screenshots / f"search-{word}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", default="build/site", type=Path)
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--screenshots", type=Path, help="a folder for pictures of the pages")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=options.site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(options.chromium, Path(folder))
        checks = Checks(browser, f"http://127.0.0.1:{server.server_port}/", options.screenshots)
        for width in WIDTHS:
            for page in PAGES:
                checks.page(page, width)
        for word, page in WORDS.items():
            checks.search(word, page)
        browser.close()
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0 or not checks.passed)


main()
