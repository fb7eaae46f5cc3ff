"""Checks that no function recurses over values: programs nest and share them without limit.

A walk of values uses src/value/value_walk.h. A function of src/ that takes values and may call itself, through others of its
file, has to say what bounds its depth: in its first line, or the line before, a comment `bounded recursion: WHY`, or in
BOUNDED, for whole files.
"""
import re
import sys
from pathlib import Path

from layers import CODE
from switches import blank, end_of, report

# What bounds the depth of all recursion in a file.
BOUNDED = {
    "src/autodiff/inputs.cpp": "the value of a gradient has passed map_leaves, and the given one is built alike",
    "src/autodiff/leaves.h": "kMaxLeafDepth",
    "src/builtins/builtins_arguments.cpp": "an option is a list of no lists",
    "src/builtins/builtins_collection.cpp": "kMaxTreeDepth",
    "src/builtins/builtins_elementwise.cpp": "kMaxNesting",
    "src/io/json.cpp": "kMaxDepth",
    "src/io/tree.cpp": "kMaxTreeDepth",
    "src/io/tree_file.cpp": "kMaxEntryDepth; a form that is read has passed the reader of JSON, which has its own",
    "src/jit/guard_notes.cpp": "guards are made for values that can_abstract() accepts",
    "src/jit/input_guards.cpp": "kMaxDepth and kMaxParts, by can_abstract(); builtins hold no builtins but of a program's depth",
    "src/profile/memory_holders.cpp": "kMaxDepth",
    "src/value/format.cpp": "kMaxFormatDepth; lazy strings are joined by replace_leaves",
    "src/value/host_tensor.cpp": "kMaxRank",
    "src/value/map.cpp": "keys have passed as_key(), which has kMaxNesting",
    "src/value/map.h": "find() calls its overload",
    "src/value/result_display.cpp": "kMostDepth",
    "src/value/signature_check.cpp": "parts of annotations, whose depth the parser bounds; kMaxValueText",
    "src/vm/indexing.cpp": "the two parts of a complex number, and overloads",
    "src/vm/instructions.cpp": "the steps of a path in the text, and overloads",
    "src/vm/keys.cpp": "kMaxNesting",
    "src/vm/operators.cpp": "kMaxNesting",
}
VALUES = re.compile(r"\b(?:Value|List|Tuple|Record|Map|LazyString)\s*(?:const)?\s*[&>*]")
TAKES = r"[^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*"
# A function's name, its parameters and the brace that opens its body.
HEAD = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>" + TAKES + r")\)"
                  r"(?:\s*(?:const|noexcept|override|->\s*[\w:<>&*\s]+))*\s*\{")
STATEMENTS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "decltype"}
CALL = re.compile(r"(?<![\w.>:])(\w+)\s*\(")
# A function that an algorithm calls, as in std::any_of(begin, end, holds).
GIVEN = re.compile(r"\bstd::(?:\w+_of|\w+_if|for_each|transform|accumulate)\s*\([^;{}]*?,\s*(\w+)\s*\)")
COMMENT = re.compile(r"//.*\bbounded recursion: \S")


def functions_of(code):
    """Gives (name, where it begins, where its body begins, where it ends) of the functions that take values."""
    for head in HEAD.finditer(code):
        if head["name"] not in STATEMENTS and VALUES.search(head["parameters"]):
            yield head["name"], head.start(), head.end(), end_of(code, head.end())


def problems_of(name, text):
    if name in BOUNDED:
        return
    code, lines = blank(text), text.splitlines()
    functions = list(functions_of(code))
    names = {function for function, *_ in functions}
    reached = {function: set() for function in names}
    for function, _, begin, end in functions:
        body = code[begin:end]
        reached[function] |= names & {*CALL.findall(body), *GIVEN.findall(body)}
    for _ in names:
        for called in reached.values():
            called.update(*(reached[each] for each in tuple(called)))
    for function, begin, *_ in functions:
        line = code.count("\n", 0, begin)
        if function in reached[function] and not any(COMMENT.search(each) for each in lines[max(0, line - 1):line + 1]):
            yield f"{name}:{line + 1}: {function} may recurse over values: use value_walk.h, or say `// bounded recursion: why`"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    files = [path for path in (root / "src").rglob("*") if path.suffix in CODE and path.is_file()]
    report("recursion", VALUES, "mentions of values", files, root, problems_of)


if __name__ == "__main__":
    main()
