"""Malformed messages to `tsl lsp`, each followed by a request that must be answered: test_fuzz.py TSL [MESSAGES]."""
import json
import random
import sys

from client import Client

URI = "file:///tmp/fuzz.tsl"
METHODS = ["initialize", "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave",
           "textDocument/hover", "textDocument/completion", "textDocument/signatureHelp", "textDocument/definition",
           "textDocument/references", "textDocument/documentHighlight", "textDocument/prepareRename", "textDocument/rename",
           "textDocument/formatting", "textDocument/codeAction", "textDocument/documentSymbol", "textDocument/semanticTokens/full",
           "textDocument/inlayHint", "$/cancelRequest", "workspace/none", "", "textDocument/hover\0"]
ODD = [None, True, -1, 0, 1, 2**31, 2**32, 2**63, -2**63, 1e300, 0.5, "", "x", URI, "file://", "file:///%00", "\ud83d", [], [[]], {},
       {"line": 0}, {"line": 10**9, "character": 10**9}, {"line": -1, "character": -1}, {"uri": URI}, [{"text": "let a = 1"}],
       [{"range": {"start": {"line": 5, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "("}], "fn f(" * 500, "[" * 3000,
       "let a = \"\"\"", "\x00\x01", "f\"{" * 300]
BODIES = [b"", b"{", b"nonsense", b"[]", b"[1, 2]", b"null", b'"x"', b"\xff\xfe{}", b'{"a": "\xc3"}', b"[" * 100000, b"{}",
          b'{"method": 1}', b'{"id": {}, "method": "shutdown"}', b'{"id": [1], "result": 1}', b'{"id": 7, "error": {}}']
HEADERS = [b"Content-Length: -1\r\n\r\n", b"Content-Length: x\r\n\r\n", b"\r\n\r\n", b"Content-Type: y\r\n\r\n",
           b"Content-Length: 99999999999999999999\r\n\r\n", b"content-LENGTH:2\r\nX: y\r\n\r\n{}"]


def value(source, depth=0):
    """Returns parameters that are nearly right, or not at all."""
    if depth > 3 or source.random() < 0.4:
        return source.choice(ODD)
    keys = ["textDocument", "uri", "position", "line", "character", "range", "start", "end", "contentChanges", "text", "version",
            "newName", "context", "capabilities", "general", "positionEncodings", "id"]
    return {key: value(source, depth + 1) for key in source.sample(keys, source.randrange(6))}


def placed(source):
    """Returns parameters for the open text."""
    made = {"textDocument": {"uri": URI, "version": source.choice(ODD)}, "position": {"line": source.choice([0, 1, 9, 10**6]),
            "character": source.choice([0, 3, 10**6])}, "newName": source.choice(ODD), "context": source.choice(ODD),
            "range": {"start": {"line": 0, "character": 0}, "end": source.choice(ODD)},
            "contentChanges": source.choice(ODD[16:])}
    for key in source.sample(list(made), source.randrange(3)):
        made[key] = source.choice(ODD)
    return made


def check_alive(client):
    client.open(URI, "let a = 1\nprint(a)\n")
    assert client.at("hover", URI, 1, 6)["contents"]["value"] == "```tsl\nlet a = 1\n```\n```tsl\na: int\n```"


def run(program, count, seed):
    source = random.Random(seed)
    client = Client(program)
    check_alive(client)
    for i in range(count):
        kind = source.random()
        if kind < 0.15:
            body = source.choice(BODIES)
            client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        elif kind < 0.2:
            client.send_bytes(source.choice(HEADERS[:4] + HEADERS[5:]))
        else:
            message = {"method": source.choice(METHODS), "params": placed(source) if kind < 0.7 else value(source)}
            if source.random() < 0.7:
                message["id"] = source.choice([i + 10**6, str(i), None, 1.5, []])
            if source.random() < 0.05:
                del message["method"]
            text = json.dumps(message)  # which writes half a character as \ud83d
            client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(text) + text.encode())
        if i % 10 == 0:
            check_alive(client)
    check_alive(client)
    assert client.leave() == 0
    for ending in [b"", b"Content-Length: 10\r\n\r\n{}", HEADERS[4] + b"{}"]:  # a client that breaks off
        client = Client(program)
        client.send_bytes(ending)
        client.process.stdin.close()
        assert client.process.wait(timeout=60) == 1
        client.process.stdout.close()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500, 1)
