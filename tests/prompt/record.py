#!/usr/bin/env python3
"""record.py TSL PAGE [--update]: types what the consoles of a page say behind their prompts, and compares what the
terminal shows with them, or stores it there. A console is a block that begins with "```console"."""
import re
import sys
import tempfile
from pathlib import Path

from terminal import Terminal

BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.M | re.S)


def record(tsl, block):
    """Gives the lines of the screen after the entries of a block have been typed."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal([tsl, "--device", "cpu"], 60, 100, {"TSL_HISTORY": "", "NO_COLOR": "1"}, folder)
        terminal.until(">>>")
        begin = len(terminal.screen.text_lines()) - 1
        entry = []
        for line in block.splitlines() + [">>> "]:
            if line.startswith(">>> ") and entry:
                # The editor indents the lines after the first one.
                terminal.enter("\r".join([entry[0], *(part.strip() for part in entry[1:])]))
                entry = []
            if line.startswith((">>> ", "... ")):
                entry.append(line[4:])
        lines = terminal.screen.text_lines()[begin:-1]
        terminal.kill()
        return "\n".join(lines) + "\n"


def main():
    tsl, page = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    before = page.read_text()
    after = BLOCK.sub(lambda block: record(tsl, block[0]), before)
    if "--update" in sys.argv[3:]:
        page.write_text(after)
    elif after != before:
        sys.exit(f"{page} shows what the prompt does not; it shows now:\n" + "\n".join(BLOCK.findall(after)))


if __name__ == "__main__":
    main()
