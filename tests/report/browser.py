#!/usr/bin/env python3
"""Opens the pages of `tsl explain --html` in headless Chromium, and checks them as a reader uses them.

    tests/report/browser.py --tsl build/release/tsl [--chromium chromium] [--screenshots FOLDER] [--picture docs/explain.png]

Two programs, the example of docs/explain.md and examples/digits.tsl, each in light and dark and on a narrow screen: no
errors on the console, nothing loaded from elsewhere, every key does what the page says, nothing overflows, and each text
can be read on what is behind it. The browser is driven by the DevTools protocol through two pipes.
"""
import argparse
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60  # the most that an answer may take
LEAST_CONTRAST = 4.5  # of text, as WCAG 2 has it (AA)

# Texts with too little contrast to what is behind them: the colour of the nearest element that has one.
CONTRAST = """(() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    if (!node.checkVisibility() || ![...node.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (["SCRIPT", "OPTION", "STYLE"].includes(node.tagName)) continue;
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < LEAST) found.push(`${node.className || node.tagName} ${contrast.toFixed(2)}: ${node.textContent.slice(0, 40)}`);
  }
  return found.slice(0, 5);
})()""".replace("LEAST", str(LEAST_CONTRAST))

OVERFLOW = """[document.documentElement, ...document.querySelectorAll("section, footer, header, .kernel, .row")]
  .filter(n => n.scrollWidth > n.clientWidth + 1).map(n => `${n.tagName} ${n.id || n.className} ${n.scrollWidth} > ${n.clientWidth}`).slice(0, 5)"""


class Browser:
    """A headless Chromium with one page."""

    def __init__(self, program, folder):
        to_browser, from_browser = os.pipe(), os.pipe()

        def connect():  # the browser reads from 3 and writes to 4
            ends = os.dup(to_browser[0]), os.dup(from_browser[1])
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
                   f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen([program, *options], preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser[0])
        os.close(from_browser[1])
        self.out, self.input = to_browser[1], from_browser[0]
        os.set_blocking(self.input, False)
        self.pending, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def receive(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self.pending:
            try:
                self.pending += os.read(self.input, 1 << 20)
            except BlockingIOError:
                time.sleep(0.005)
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit("the browser does not answer")
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, scheme, width, height=900):
        self.events = []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key):
        code = {"Enter": 13, "ArrowLeft": 37, "ArrowRight": 39}.get(key)
        text = {} if key.startswith("Arrow") else {"text": "\r" if key == "Enter" else key}
        virtual = {"windowsVirtualKeyCode": code} if code else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **virtual)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **virtual)

    def mouse(self, kind, x, y, **parameters):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **parameters)

    def problems(self, path):
        """Gives errors and warnings of the console, and what was loaded besides the page."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(f"exception: {parameters['exceptionDetails']}")
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(f"console: {parameters['args']}")
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {parameters['entry']['text']}")
            elif event["method"] == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if url != path.as_uri() and not url.startswith("data:"):
                    found.append(f"loads {url}")
        return found

    def screenshot(self, file):
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.call("Browser.close")
        self.process.wait(SECONDS)


class Checks:
    def __init__(self, browser, path, name):
        self.browser, self.path, self.name = browser, path, name
        self.passed = self.failed = 0

    def check(self, what, holds, detail=""):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(f"{self.name}: FAILED: {what} {detail}")

    def equal(self, what, expression, expected):
        value = self.browser.value(expression)
        self.check(what, value == expected, f"({value!r}, not {expected!r})")

    def keys_of_kernels(self):
        lit = "[...document.querySelectorAll('.kernel')].findIndex(box => box.classList.contains('lit'))"
        count = self.browser.value("document.querySelectorAll('.kernel').length")
        self.check("there are kernels", count and count > 1)
        self.equal("no kernel is selected at first", lit, -1)
        for key, expected in [("j", 0), ("j", 1), ("k", 0), ("k", count - 1), ("j", 0)]:
            self.browser.press(key)
            self.equal(f"{key} selects kernel {expected + 1}", lit, expected)
        self.equal("its lines are marked", "document.querySelectorAll('.row.lit').length > 0", True)
        self.equal("it has the focus", "document.activeElement.parentElement.id", "kernel0")
        self.browser.press("Enter")
        self.equal("Enter opens its code", "document.getElementById('kernel0').open && "
                   "document.querySelector('#kernel0 pre').textContent.length > 20", True)
        self.equal("its row has the times", "document.querySelectorAll('#kernel0 .number').length", 5)
        self.browser.press("Enter")
        self.equal("Enter closes it", "document.getElementById('kernel0').open", False)
        chosen = "document.getElementById('choice').selectedIndex"
        first, all_of_them = self.browser.value(chosen), self.browser.value("document.getElementById('choice').options.length")
        for key, step in [("]", 1), ("[", 0), ("[", -1), ("]", 0)] + [("]", n) for n in range(1, all_of_them + 1)]:
            self.browser.press(key)
            self.equal(f"{key} goes to another specialisation", chosen, (first + step) % all_of_them)

    def keys_of_timeline(self):
        view = lambda: self.browser.value("timeline.view()")
        self.browser.press("t")
        self.equal("t goes to the timeline", "document.activeElement.id", "timeline")
        whole = view()
        self.check("the whole run is shown", whole["from"] == 0 and whole["to"] == whole["end"] > 1000)
        self.browser.press("+")
        near = view()
        self.check("+ shows half of it", abs((near["to"] - near["from"]) * 2 - whole["end"]) < 2, near)
        self.browser.press("ArrowRight")
        right = view()
        self.check("the right arrow moves to what is later", right["from"] > near["from"], right)
        self.browser.press("ArrowLeft")
        self.check("the left arrow moves back", abs(view()["from"] - near["from"]) < 2)
        self.browser.press("-")
        self.check("- shows twice as much", view()["to"] - view()["from"] == whole["end"])
        self.browser.press(".")
        first = view()["pointed"]
        self.check(". names a launch", first and first["text"] in self.browser.value("document.getElementById('names').textContent"), first)
        for _ in range(8):
            self.browser.press("+")
        self.check("the launch stays in sight", view()["to"] - view()["from"] < whole["end"] / 200)
        self.browser.press(".")
        self.browser.press(",")
        self.check(", goes back to it", view()["pointed"] == first)
        self.browser.press("0")
        self.check("0 shows the whole run", view()["from"] == 0 and view()["to"] == whole["end"])
        for _ in range(400):
            if "specialisation" in view()["pointed"]:
                break
            self.browser.press(".")
        pointed = view()["pointed"]
        self.browser.press("Enter")
        self.equal("Enter goes to the launch's kernel", "document.querySelector('.kernel.lit .mono')?.textContent", pointed["text"])
        self.equal("of that launch", "kernels()[lit]?.launch", pointed.get("launch"))
        self.equal("and its specialisation", "all[chosen].made.name", pointed.get("specialisation"))

    def mouse_on_timeline(self):
        view = lambda: self.browser.value("timeline.view()")
        left, top, width = self.browser.value("(r => [r.left, r.top, r.width])(document.getElementById('timeline').getBoundingClientRect())")
        self.browser.press("0")
        whole = view()["to"]
        self.browser.mouse("mouseWheel", left + width / 2, top + 10, deltaX=0, deltaY=-100)
        self.check("the wheel zooms", 0 < view()["to"] - view()["from"] < whole)
        near = view()
        for kind, x in [("mousePressed", 0.5), ("mouseMoved", 0.4), ("mouseReleased", 0.4)]:
            self.browser.mouse(kind, left + width * x, top + 10, button="left", buttons=1, clickCount=1)
        self.check("dragging moves", view()["from"] > near["from"])
        self.browser.press("0")
        pointed = None
        for step in range(100):
            self.browser.mouse("mouseMoved", left + width * (0.1 + step / 120), top + 10)
            pointed = pointed or view()["pointed"]
        self.check("the mouse names what it is on", pointed and pointed["text"])
        self.browser.mouse("mouseMoved", left, 10)
        self.check("and nothing elsewhere", view()["pointed"] is None)

    def layout(self):
        for what, expression in [("nothing overflows", OVERFLOW), ("texts have contrast", CONTRAST)]:
            self.equal(what, expression, [])
        self.equal("the timeline is drawn", "document.getElementById('timeline').toDataURL().length > 3000", True)

    def run(self, scheme, width, screenshot):
        self.name = f"{self.path.stem} ({scheme}, {width} wide)"
        self.browser.open(self.path, scheme, width)
        self.layout()
        self.keys_of_kernels()
        self.keys_of_timeline()
        self.mouse_on_timeline()
        self.layout()
        if screenshot:
            self.browser.screenshot(screenshot / f"{self.path.stem}-{scheme}-{width}.png")
        problems = self.browser.problems(self.path)
        self.check("the console is empty, and nothing is loaded", not problems, problems[:3])


def take_picture(browser, page, file):
    """Makes the picture of docs/explain.md: a kernel with its code, and the timeline around its launch."""
    browser.open(page, "light", 1400, 900)
    for key in ["t"] + ["."] * 4 + ["+"] * 7 + ["j"] * 3 + ["Enter"]:
        browser.press(key)
    browser.screenshot(file)


def example_of_docs():
    text = (ROOT / "docs/explain.md").read_text()
    return re.search(r"## An example\n+```tsl\n(.*?)```", text, re.S)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tsl", required=True, type=Path)
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--screenshots", type=Path, help="a folder for pictures of the pages")
    parser.add_argument("--picture", type=Path, help="where to write the picture of docs/explain.md")
    options = parser.parse_args()
    tsl = options.tsl.resolve()
    passed = failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "train.tsl").write_text(example_of_docs())
        pages = {"train": (folder, ["train.tsl"]), "digits": (ROOT, ["examples/digits.tsl"])}
        for page, (where, script) in pages.items():
            subprocess.run([tsl, "explain", "--compile", "--device", "cpu", "--html", folder / f"{page}.html", *script], cwd=where, check=True,
                           stdout=subprocess.DEVNULL)
        if options.screenshots:
            options.screenshots.mkdir(parents=True, exist_ok=True)
        browser = Browser(options.chromium, folder / "browser")
        for page in pages:
            checks = Checks(browser, folder / f"{page}.html", page)
            for scheme, width in [("light", 1400), ("dark", 1400), ("light", 700), ("dark", 400)]:
                checks.run(scheme, width, options.screenshots)
            passed, failed = passed + checks.passed, failed + checks.failed
        if options.picture:
            take_picture(browser, folder / "train.html", options.picture)
        browser.close()
    print(f"browser: {passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
