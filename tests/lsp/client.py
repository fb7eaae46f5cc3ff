"""A client of `tsl lsp` for tests: it starts the server, sends messages, and collects what comes back."""
import json
import subprocess


class Client:
    def __init__(self, program, capabilities=None):
        self.process = subprocess.Popen([program, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next_id = 0
        self.diagnostics = {}
        self.capabilities = self.request("initialize", {"capabilities": capabilities or {}, "processId": None, "rootUri": None})
        self.notify("initialized", {})

    def send_bytes(self, content):
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self):
        """Returns the next message, or None at the end."""
        length = None
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length is None:
            return None
        message = json.loads(self.process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
        return message

    def start(self, method, parameters):
        """Sends a request, and returns its id."""
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": parameters})
        return self.next_id

    def answer(self, request):
        """Returns the response to a request."""
        while (message := self.receive()) is not None:
            if message.get("id") == request and "method" not in message:
                return message
        raise EOFError("the server has ended")

    def request(self, method, parameters):
        """Returns the result of a request. Raises RuntimeError if it is refused."""
        message = self.answer(self.start(method, parameters))
        if "error" in message:
            raise RuntimeError(message["error"]["message"])
        return message["result"]

    def notify(self, method, parameters):
        self.send({"method": method, "params": parameters})

    def open(self, uri, text, version=1):
        item = {"uri": uri, "languageId": "tsl", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri, version, changes):
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes})

    def wait_for_diagnostics(self, uri, version):
        """Returns what was found of a version of a text."""
        while self.diagnostics.get(uri, {}).get("version") != version:
            if self.receive() is None:
                raise EOFError("the server has ended")
        return self.diagnostics[uri]["diagnostics"]

    def at(self, method, uri, line, character, **more):
        """Requests something about a position."""
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        return self.request("textDocument/" + method, {**place, **more})

    def leave(self):
        """Returns the server's exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.stdin.close()
        return self.process.wait(timeout=60)
