"""Checks that the files of editors name the keywords of the grammar and the builtins of the program, and no others:
words.py TSL [--update] writes the lists anew."""
import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lsp"))
from client import Client  # noqa: E402

TEXTMATE = ROOT / "editors/vscode/syntaxes/tsl.tmLanguage.json"
VIM = ROOT / "editors/vim/syntax/tsl.vim"
PYGMENTS = ROOT / "python/tsl/notebook/lexer.py"
TYPE, KEYWORD = 22, 14  # as the protocol numbers them
# Options of Vim's :syntax, which are no keywords there.
VIM_OPTIONS = {"conceal", "cchar", "contained", "containedin", "contains", "display", "excludenl", "extend", "fold", "keepend",
               "matchgroup", "nextgroup", "oneline", "skipempty", "skipnl", "skipwhite", "transparent"}


def keywords():
    """Returns the words that the grammar's tokens are."""
    return sorted(re.findall(r"^[A-Z]+ : '([a-z]+)' ;$", (ROOT / "grammar/Tsl.g4").read_text(), re.MULTILINE))


def builtins(program):
    """Returns the names of types, and of all other builtins, as the server completes them."""
    client = Client(program)
    names = {}
    for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ":
        client.open("file:///letter.tsl", letter)
        for item in client.at("completion", "file:///letter.tsl", 0, 1)["items"]:
            if item["kind"] != KEYWORD and item["label"] != letter:
                names[item["label"]] = item["kind"]
    assert client.leave() == 0
    types = sorted(name for name, kind in names.items() if kind == TYPE)
    return types, sorted(name for name, kind in names.items() if kind != TYPE)


def lists(program):
    words = keywords()
    constants = [word for word in words if word in ("true", "false", "nil")]
    types, others = builtins(program)
    assert len(words) > 20 and len(types) > 5 and len(others) > 300, "the lists are not whole"
    assert not set(words) & set(types + others) - {"var"}, "a keyword is a builtin"
    others = [name for name in others if name not in words]
    return {"keywords": [word for word in words if word not in constants], "constants": constants, "types": types, "builtins": others}


def textmate(words):
    text = TEXTMATE.read_text()
    for name, each in words.items():
        match = r'("%s": \{ "name": "[a-z.]+", "match": ").*(" \})' % name
        text, count = re.subn(match, lambda found: found[1] + r"\\b(?:" + "|".join(each) + r")\\b" + found[2], text)
        assert count == 1, name
    json.loads(text)
    return text


def vim(words):
    groups = {"keywords": "tslKeyword", "constants": "tslConstant", "types": "tslType", "builtins": "tslBuiltin"}
    begin, end = '" words: keywords\n', '" end of words\n'
    before, _, rest = VIM.read_text().partition(begin)
    after = rest.partition(end)[2]
    text = ""
    for name, each in words.items():
        text += f'" words: {name}\n'
        options = sorted(VIM_OPTIONS & set(each))
        plain = [word for word in each if word not in VIM_OPTIONS]
        for i in range(0, len(plain), 12):
            text += f"syn keyword {groups[name]} {' '.join(plain[i: i + 12])}\n"
        if options:
            text += 'syn match %s "\\<\\%%(%s\\)\\>"\n' % (groups[name], "\\|".join(options))
    return before + text + end + after


def pygments(words):
    text = PYGMENTS.read_text()
    for name in ("keywords", "constants", "types"):
        lines = textwrap.wrap(", ".join(f'"{word}"' for word in words[name]), 116, initial_indent="    ", subsequent_indent="    ")
        value = "(\n" + "\n".join(lines) + ",\n)"
        text, count = re.subn(rf"^{name.upper()} = \((?:\)|\n(?:    .*\n)*\))", f"{name.upper()} = {value}", text, flags=re.MULTILINE)
        assert count == 1, name
    return text


def main():
    words = lists(sys.argv[1])
    for path, text in [(TEXTMATE, textmate(words)), (VIM, vim(words)), (PYGMENTS, pygments(words))]:
        if "--update" in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.relative_to(ROOT)} does not name the words of the language: tests/editors/words.py TSL --update mends it")


main()
