"""Checks that what may loop for long over values polls, so that deadlines and interrupts end it.

A function of src/builtins/ or src/value/ with a loop has to poll: it names one of POLLS, or the loop's line, or the line before it, has
a comment `bounded: WHY`; `bounded loops: WHY` holds for a file. Loops over axes and over lists in braces need none.
"""
import re
import sys
from pathlib import Path

from switches import blank, end_of, report

POLLS = re.compile(r"\b(?:count_work|polled_each|poll_stop|in_parts|StopMeter|Collector|TextBuilder|items_of|rows_of"
                   r"|append_text|find_text|find_character)\b|\.call\(|\bops\b")
LOOP = re.compile(r"\b(?:for|while)\s*\(")
SHORT = re.compile(r"\brank\b|\baxis\b|\baxes\b|\bkMaxRank\b|:\s*\{|\bargs\.(?:size|values)\b|\bpositional\b")
BOUNDED = re.compile(r"//.*\bbounded: \S")
BOUNDED_FILE = re.compile(r"^// bounded loops: \S", re.M)
FUNCTION = re.compile(r"^(?! |#|namespace|struct|class|enum|constexpr|using|template|//)[^;{}]*\)[^;{}()]*\{$|"
                      r"^  (?! )(?!return|if|for|while|switch|else)[^;{}=]*\)[^;{}()=]*\{$", re.M)


def head_of(code, begin):
    """Gives what stands in a loop's parentheses."""
    depth = 0
    for at in range(begin, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return code[begin:at + 1]
    return code[begin:]


def body_of(code, offset):
    """Gives the text of the function around an offset: of the last that begins before it and ends after it."""
    found = [(f.start(), end_of(code, f.end())) for f in FUNCTION.finditer(code, 0, offset)]
    around = [code[begin:end] for begin, end in found if end > offset]
    return around[-1] if around else ""


def problems_of(name, text):
    if BOUNDED_FILE.search(text):
        return
    code, lines = blank(text), text.splitlines()
    for loop in LOOP.finditer(code):
        line = code.count("\n", 0, loop.start())
        if SHORT.search(head_of(code, loop.end() - 1)) or any(BOUNDED.search(each) for each in lines[max(0, line - 1):line + 1]):
            continue
        if not POLLS.search(body_of(code, loop.start())):
            yield f"{name}:{line + 1}: a loop without a poll: use polled_each or Collector, or say `// bounded: why`"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    report("polls", LOOP, "loops", [file for room in ("builtins", "value") for file in (root / "src" / room).glob("*.cpp")], root, problems_of)


if __name__ == "__main__":
    main()
