"""Checks that what may loop for long over values, elements, operands or text polls, so that deadlines and interrupts end it.

A function of ROOMS with a loop has to poll: it names one of POLLS, or the loop's line, or the line before it, has a comment
`bounded: WHY`; `bounded loops: WHY` holds for a file, and BOUNDED for many. Loops over axes, over lists in braces and over the parts of
a plan need none.
"""
import re
import sys
from pathlib import Path

from switches import blank, end_of, report

ROOMS = ("builtins", "value", "syntax", "io", "exec", "backend/cpu")
# What need not poll, by how the paths of its files begin, and why.
_BLOCKS = "blocks of fixed extents, between which their callers poll"
_BENCHMARKS = "benchmarks and checks of plans, for people"
_PARTS = "a plan's buffers, operands and backends, which are few beside its elements"
_NODES = "the parts of a node: what builds, resolves or walks one of them polls"
_EDITORS = "what formats and colours a source, for its author"
BOUNDED = {
    "src/backend/cpu/isa/": _BLOCKS,
    "src/backend/cpu/tiles/": "the steps of a kernel's plan, and tiles of fixed extents, between which the thread pool polls",
    **dict.fromkeys(("src/backend/cpu/kernels/" + each for each in ("attention", "convolution")), _BLOCKS),
    "src/backend/cpu/products": _BLOCKS,
    "src/backend/cpu/libraries/lapack": "what stands around a call of LAPACK, for which TimeModel answers",
    "src/backend/cpu/threads": "waits for threads, each of which polls",
    **dict.fromkeys(("src/exec/launch_", "src/exec/bench_", "src/exec/plan_bench", "src/exec/sharing_check"), _BENCHMARKS),
    **dict.fromkeys(("src/exec/plan_memory", "src/exec/timeline", "src/exec/devices", "src/exec/backend_registry"), _PARTS),
    **dict.fromkeys(("src/syntax/" + each for each in ("annotations", "attributes", "expression_builder", "tree_builder", "resolver",
                                                       "tree_walk", "unused_values")), _NODES),
    **dict.fromkeys(("src/syntax/format", "src/syntax/source_format", "src/syntax/tokens"), _EDITORS),
}
POLLS = re.compile(r"\b(?:count_work|polled_each|poll_stop|in_parts|Collector|TextBuilder|items_of|rows_of"
                   r"|append_text|find_text|find_character|parallel_for|for_rows|for_parts|for_chunks|for_keys|for_element_keys|for_runs|write_root"
                   r"|nextToken)\b|\.call\(|\bops\b")
LOOP = re.compile(r"\b(?:for|while)\s*\(")
SHORT = re.compile(r"\brank\b|\baxis\b|\baxes\b|\bkMaxRank\b|:\s*\{|\bargs\.(?:size|values)\b|\bpositional\b")
PARTS = re.compile(r"\b(?:plan|launch|launches|kernels?|buffers|node|nodes|graph|program)_?\b|\bNodeId\b|\bDTypeRow\b")
REASON = re.compile(r"//.*\bbounded: \S")
REASON_OF_FILE = re.compile(r"^// bounded loops: \S", re.M)
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
    if REASON_OF_FILE.search(text) or name.startswith(tuple(BOUNDED)):
        return
    code, lines = blank(text), text.splitlines()
    for loop in LOOP.finditer(code):
        line = code.count("\n", 0, loop.start())
        head = head_of(code, loop.end() - 1)
        if SHORT.search(head) or PARTS.search(head) or any(REASON.search(each) for each in lines[max(0, line - 1):line + 1]):
            continue
        if not POLLS.search(body_of(code, loop.start())):
            yield f"{name}:{line + 1}: a loop without a poll: use polled_each or Collector, or say `// bounded: why`"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    files = [file for room in ROOMS for file in (root / "src" / room).rglob("*.cpp")]
    report("polls", LOOP, "loops", files, root, problems_of)


if __name__ == "__main__":
    main()
