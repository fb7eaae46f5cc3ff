"""How long an editor waits for `tsl lsp`: lsp.py TSL [KEYSTROKES].

Types into a text of 2,000 lines, letter by letter, and deletes again. A row is what one key costs, from its message to the
answer: the p50 and the p99 of all keystrokes, in milliseconds, and what the server computes in it, which is less where the machine has
other work."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/lsp"))
from client import Client  # noqa: E402

URI = "file:///tmp/typed.tsl"
LINES = 2000
STEP = """
## Takes a step of a made-up training.
fn step_{0}(w: f32[n, m], x: f32[m], rate: f64 = 0.1) {{
  let y = w @ x
  var total = 0.0
  for i in 0..len(x) {{
    if i % 2 == 0 {{
      total += sum(y * {0}) + mean(x)
    }} else {{
      total -= max(y)
    }}
  }}
  let out = {{loss: total, grad: w * rate, items: [1, 2, 3, {0}]}}
  print(f"step {{total:.3f}} of {{len(x)}}")
  return out
}}

let loss_{0} = step_{0}(ones([3, 4]), ones([4]), rate: 0.5).loss
"""
TYPED = "\n  let more = sum(relu(y) * rate, axis: 0)\n  print(more.shape, \"a text\")\n"


def long_text():
    text, i = "import nn\n", 0
    while text.count("\n") < LINES:
        text += STEP.format(i)
        i += 1
    return text


class Typist:
    """Edits the text in the middle, and takes the time of what follows."""

    def __init__(self, client, line):
        self.client, self.line, self.character, self.version = client, line, 0, 1
        self.stack = []  # positions before each letter

    def timed(self, call):
        """Returns the seconds of a call, and those in which the server has computed."""
        def computed():
            return int(pathlib.Path(f"/proc/{self.client.process.pid}/schedstat").read_text().split()[0]) / 1e9
        computed_before, start = computed(), time.perf_counter()
        call()
        return time.perf_counter() - start, computed() - computed_before

    def change(self, begin, end, text):
        self.version += 1
        place = lambda at: {"line": at[0], "character": at[1]}
        changes = [{"range": {"start": place(begin), "end": place(end)}, "text": text}]

        def edit():
            self.client.change(URI, self.version, changes)
            self.client.wait_for_diagnostics(URI, self.version)
        return self.timed(edit)

    def type(self, letter):
        here = (self.line, self.character)
        self.stack.append(here)
        self.line, self.character = (self.line + 1, 0) if letter == "\n" else (self.line, self.character + 1)
        return self.change(here, here, letter)

    def delete(self):
        here = (self.line, self.character)
        self.line, self.character = self.stack.pop()
        return self.change((self.line, self.character), here, "")

    def request(self, method):
        return self.timed(lambda: self.client.at(method, URI, self.line, self.character))

    def hints(self):
        """Requests the hints of what an editor shows: some lines around the cursor."""
        place = lambda line: {"line": max(0, line), "character": 0}
        shown = {"start": place(self.line - 30), "end": place(self.line + 30)}
        return self.timed(lambda: self.client.request("textDocument/inlayHint", {"textDocument": {"uri": URI}, "range": shown}))


def percentile(times, part):
    return sorted(times)[min(len(times) - 1, int(part * len(times)))] * 1e3


def main():
    client = Client(sys.argv[1])
    text = long_text()
    start = time.perf_counter()
    client.open(URI, text)
    found = client.wait_for_diagnostics(URI, 1)
    assert found == [], found[:3]
    opened = time.perf_counter() - start
    typist = Typist(client, text[: text.index("fn step_50(")].count("\n") + 2)
    times = {"diagnostics after a key": [], "diagnostics after a deletion": [], "completion": [], "signatureHelp": [], "hover": [],
             "inlayHint": []}
    for i in range(int(sys.argv[2]) if len(sys.argv) > 2 else 400):
        if len(typist.stack) < len(TYPED) and (i // len(TYPED)) % 2 == 0:
            times["diagnostics after a key"].append(typist.type(TYPED[len(typist.stack)]))
            for method in ["completion", "signatureHelp", "hover"]:
                times[method].append(typist.request(method))
            times["inlayHint"].append(typist.hints())
        elif typist.stack:
            times["diagnostics after a deletion"].append(typist.delete())
    assert client.leave() == 0
    print(f"{text.count(chr(10))} lines; opened in {opened * 1e3:.0f} ms")
    print(f"{'':30}{'p50':>8}{'p99':>8}{'computed: p50':>18}{'p99':>8}  ms")
    for name, each in times.items():
        if each:
            waited, computed = zip(*each)
            print(f"{name:30}{percentile(waited, 0.5):8.1f}{percentile(waited, 0.99):8.1f}"
                  f"{percentile(computed, 0.5):18.1f}{percentile(computed, 0.99):8.1f}")


main()
