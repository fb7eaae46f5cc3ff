#!/usr/bin/env python3
"""record.py TSL PAGE [--update]: types what the consoles of a page say, and compares what the terminal shows with them, or
stores it there. A console is a block that begins with "```console". If a block "```keys" stands before it, its keys are
typed; otherwise, what stands behind the console's prompts."""
import re
import sys
import tempfile
from pathlib import Path

from terminal import Terminal

BLOCK = re.compile(r"^```(?P<kind>keys|console)\n(?P<text>.*?)(?=^```$)", re.M | re.S)
KEY = re.compile(r"<([A-Z][^>]*)>")
KEYS = {"Tab": "\t", "Up": "\033[A", "Left": "\033[D", "Home": "\033[H", "Ctrl-R": "\x12", "Ctrl-C": "\x03",
        "Paste": "\033[200~", "Pasted": "\033[201~"}


def type_entries(terminal, console):
    """Types the entries of a console."""
    entry = []
    for line in console.splitlines() + [">>> "]:
        if line.startswith(">>> ") and entry:
            # The editor indents the lines after the first one.
            terminal.enter("\r".join([entry[0], *(part.strip() for part in entry[1:])]))
            entry = []
        if line.startswith((">>> ", "... ")):
            entry.append(line[4:])


def type_keys(terminal, keys):
    """Types text and keys: "<Tab>"; "<Wait TEXT>" waits until a line ends so; what ends a line goes on in the next one."""
    is_pasting = False
    for part in KEY.split(keys)[:-1]:
        if part in ("Paste", "Pasted"):
            is_pasting = part == "Paste"
        if part.startswith("Wait "):
            terminal.until(part[len("Wait "):])
        elif part == "Enter":
            terminal.type("\r")
        elif part == "Run":
            terminal.enter("")
        elif part == "Ctrl-C":
            prompts = terminal.prompts()
            terminal.interrupt()
            terminal.wait(lambda: terminal.prompts() > prompts, "the prompt after Ctrl-C")
        else:
            terminal.type(KEYS[part] if part in KEYS else part if is_pasting else part.lstrip("\n"))


def record(tsl, type_session):
    """Gives the lines of the screen after a session."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal([tsl, "--device", "cpu"], 60, 100, {"TSL_HISTORY": "", "NO_COLOR": "1"}, folder)
        terminal.until(">>>")
        begin = len(terminal.screen.text_lines()) - 1
        type_session(terminal)
        lines = terminal.screen.text_lines()[begin:-1]
        terminal.kill()
        return "\n".join(lines) + "\n"


def shown(tsl, page):
    """Gives the page with what the prompt shows now."""
    keys = None

    def block(match):
        nonlocal keys
        text, before = match["text"], keys
        keys = text if match["kind"] == "keys" else None
        if match["kind"] == "console":
            text = record(tsl, lambda terminal: type_keys(terminal, before) if before else type_entries(terminal, text))
        return f"```{match['kind']}\n{text}"

    return BLOCK.sub(block, page)


def main():
    tsl, page = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    before = page.read_text()
    after = shown(tsl, before)
    if "--update" in sys.argv[3:]:
        page.write_text(after)
    elif after != before:
        sys.exit(f"{page} shows what the prompt does not; it shows now:\n" + "\n".join(match["text"] for match in BLOCK.finditer(after)))


if __name__ == "__main__":
    main()
