#!/usr/bin/env python3
"""plots.py TSL BLOCKS [--update]: compares the pictures of docs/plot.md, which its blocks save to /tmp/tsl_plots_NAME.svg, with
docs/plots/NAME.svg. BLOCKS is the folder to which the blocks are taken out; --update writes the pictures anew."""
import pathlib
import re
import shutil
import subprocess
import sys

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
IMAGE = re.compile(r"base64,[^\"]*")
NEAR = 0.05  # pixels: processors differ in the last bits of sin and exp


def is_same(picture, expected):
    """Compares two SVG texts: numbers nearly, all else exactly, but for the pixels of images."""
    texts = [IMAGE.sub("", path.read_text()) for path in (picture, expected)]
    if NUMBER.sub("", texts[0]) != NUMBER.sub("", texts[1]):
        return False
    pairs = zip(*(map(float, NUMBER.findall(text)) for text in texts))
    return all(abs(a - b) <= NEAR for a, b in pairs)


def main():
    tsl, blocks, *options = sys.argv[1:]
    for old in pathlib.Path("/tmp").glob("tsl_plots_*.svg"):
        old.unlink()
    subprocess.run(["tests/docs.sh", tsl, blocks, "docs/plot.md"], check=True, stdout=subprocess.DEVNULL)
    failures = 0
    for name in re.findall(r"\(plots/(\w+)\.svg\)", pathlib.Path("docs/plot.md").read_text()):
        picture, expected = pathlib.Path(f"/tmp/tsl_plots_{name}.svg"), pathlib.Path(f"docs/plots/{name}.svg")
        if "--update" in options:
            shutil.copy(picture, expected)
        elif not is_same(picture, expected):
            print(f"{expected} is another picture than {picture}")
            failures += 1
    print(f"{failures} pictures differ")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
