"""Random edits of a long text, applied one by one, and a server's answers, with the hints of types, compared with those of one that sees the result alone:
test_edits.py TSL [EDITS]."""
import pathlib
import random
import sys

from client import Client

ROOT = pathlib.Path(__file__).resolve().parents[2]
URI = "file:///tmp/long.tsl"
LINES = 2000
PIECES = ["x", "fn f(a) = a\n", "let y = 1\n", "}", "{", "(", ")", '"', '"""', "# note\n", "\n", "  ", "@compile\n", "print(1)\n",
          "unknown_name", ".", ",", " + ", "é", "𝄞", 'f"{x}"', "import nn\n", "else", "return ", "\t", "\r\n"]


def long_text():
    """Returns chapters of the language's tests, one after another."""
    text = ""
    for path in sorted((ROOT / "tests/lang").glob("*.tsl")):
        text += path.read_text()
        if text.count("\n") >= LINES:
            return text
    raise AssertionError("tests/lang is too short")


def random_edit(text, source):
    """Returns a change of the protocol, and the text after it."""
    begin = source.randrange(len(text) + 1)
    end = min(len(text), begin + source.choice([0, 0, 0, 1, 1, 5, 40, 200]))
    piece = "" if end > begin and source.random() < 0.5 else source.choice(PIECES)
    if source.random() < 0.1:  # a block that moves
        start = source.randrange(len(text) + 1)
        piece = text[start: start + source.randrange(400)]
    change = {"range": {"start": position(text, begin), "end": position(text, end)}, "text": piece}
    return change, text[:begin] + piece + text[end:]


def position(text, offset):
    line_start = text.rfind("\n", 0, offset) + 1
    units = len(text[line_start:offset].encode("utf-16-le")) // 2
    return {"line": text.count("\n", 0, offset), "character": units}


def answers(client, version, place):
    """Returns what a server says of the text, and of a place in it."""
    document = {"textDocument": {"uri": URI}}
    found = [client.wait_for_diagnostics(URI, version)]
    for method in ["documentSymbol", "semanticTokens/full"]:
        found.append(client.request("textDocument/" + method, document))
    everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 10 ** 6, "character": 0}}
    found.append(client.request("textDocument/inlayHint", {**document, "range": everywhere}))
    for method in ["hover", "references", "completion", "signatureHelp"]:
        found.append(client.request("textDocument/" + method, {**document, "position": place}))
    return found


def run(program, edits, seed):
    source = random.Random(seed)
    text = start = long_text()
    client = Client(program)
    client.open(URI, text, 0)
    for version in range(1, edits + 1):
        if source.random() < 0.2:
            text, change = start, {"text": start}
        else:
            change, text = random_edit(text, source)
            if "\r" in text.replace("\r\n", ""):  # half a line's end: positions would be counted otherwise than here
                text, change = start, {"text": start}
        client.change(URI, version, [change])
        if version % 5:
            client.wait_for_diagnostics(URI, version)
            continue
        place = position(text, source.randrange(len(text) + 1))
        fresh = Client(program)
        fresh.open(URI, text, version)
        edited, expected = answers(client, version, place), answers(fresh, version, place)
        if edited != expected:
            pathlib.Path("edited.tsl").write_text(text, newline="")
            raise AssertionError(f"seed {seed}, edit {version}: the text is in edited.tsl\n{edited[0]}\n{expected[0]}")
        assert fresh.leave() == 0
    assert client.leave() == 0


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30, 1)
