"""Sessions of an editor with `tsl lsp`: test_session.py TSL."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from client import Client

PROGRAM = sys.argv.pop(1)
URI = "file:///tmp/a.tsl"


class Session(unittest.TestCase):
    def setUp(self):
        self.client = Client(PROGRAM)

    def tearDown(self):
        self.assertEqual(self.client.leave(), 0)
        self.client.process.stdout.close()

    def show(self, text, uri=URI):
        self.client.open(uri, text)
        return self.client.wait_for_diagnostics(uri, 1)

    def test_diagnostics_have_places_names_and_hints(self):
        found = self.show("let x = 1\nlet längd = lenn([x])\n")
        self.assertEqual([each["range"] for each in found],
                         [{"start": {"line": 1, "character": 12}, "end": {"line": 1, "character": 16}}])
        self.assertEqual(found[0]["severity"], 1)
        self.assertEqual(found[0]["code"], "unknown-name")
        self.assertEqual(found[0]["message"], "unknown name 'lenn'\n= did you mean 'len'?")

    def test_a_change_is_of_utf16_units(self):
        self.show('let s = "𝄞x"\nlet y = s\n')
        place = {"start": {"line": 0, "character": 11}, "end": {"line": 0, "character": 12}}  # the x
        self.client.change(URI, 2, [{"range": place, "text": '" + "y'}])
        self.assertEqual(self.client.wait_for_diagnostics(URI, 2), [])
        text = self.client.request("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {}})
        self.assertEqual(text, [])
        self.client.change(URI, 3, [{"range": {"start": {"line": 1, "character": 8}, "end": {"line": 1, "character": 9}}, "text": "t"}])
        self.assertEqual(self.client.wait_for_diagnostics(URI, 3)[0]["range"]["start"], {"line": 1, "character": 8})

    def test_utf8_positions_if_the_editor_offers_them(self):
        client = Client(PROGRAM, {"general": {"positionEncodings": ["utf-16", "utf-8"]}})
        self.assertEqual(client.capabilities["capabilities"]["positionEncoding"], "utf-8")
        client.open(URI, 'let s = "ä" + unknown_thing\n')
        self.assertEqual(client.wait_for_diagnostics(URI, 1)[0]["range"]["start"]["character"], 15)
        self.assertEqual(client.leave(), 0)
        client.process.stdout.close()

    def test_hover_shows_a_declaration_and_its_documentation(self):
        self.show("## Doubles it.\nfn twice(x: f32[n]) -> f32[n] = 2 * x\nlet y = twice(ones([3]))\nprint(sum(y))\n")
        hover = self.client.at("hover", URI, 2, 9)
        self.assertEqual(hover["contents"]["value"], "```tsl\ntwice(x: f32[n]) -> f32[n]\n```\nDoubles it.")
        self.assertEqual(hover["range"], {"start": {"line": 2, "character": 8}, "end": {"line": 2, "character": 13}})
        self.assertIn("sum(x: array", self.client.at("hover", URI, 3, 7)["contents"]["value"])
        self.assertIsNone(self.client.at("hover", URI, 3, 5))

    def test_hints_show_types_of_tensors(self):
        text = "let a = zeros([3, 4])\nlet n = 2\nfn f(x: f32[n, 3]) {\n  let é = x.T\n  return é\n}\nlet p = {w: a, b: f(ones([2, 3]))}\n"
        self.show(text)
        hints = self.hints(0, 7)
        self.assertEqual([(each["position"]["line"], each["position"]["character"], each["label"]) for each in hints],
                         [(0, 5, ": f32[3, 4]"), (3, 7, ": f32[3, n]"), (6, 5, ": {w: f32[3, 4], b: f32[3, 2]}")])
        self.assertEqual(self.hints(1, 4), hints[1:2])
        hover = lambda line, character: self.client.at("hover", URI, line, character)["contents"]["value"]
        self.assertEqual(hover(6, 12), "```tsl\nlet a = zeros([3, 4])\n```\n```tsl\na: f32[3, 4]\n```")
        self.assertIn("n: int", hover(1, 4))

    def test_hints_follow_edits_and_are_none_where_nothing_is_sure(self):
        self.show("let a = zeros([3])\nlet b = a @ ones([4])\nlet c = load(\"none.npy\")\n")
        self.assertEqual([each["label"] for each in self.hints(0, 3)], [": f32[3]"])
        self.client.change(URI, 2, [{"range": {"start": {"line": 0, "character": 15}, "end": {"line": 0, "character": 16}}, "text": "4"}])
        self.assertEqual([each["label"] for each in self.hints(0, 3)], [": f32[4]", ": f32[]"])

    def test_a_long_type_is_cut(self):
        fields = ", ".join(f"field_{i}: ones([{i}])" for i in range(9))
        self.show(f"let p = {{{fields}}}\n")
        hint = self.hints(0, 1)[0]
        self.assertEqual(hint["label"], ": {field_0: f32[0], field_1: f32[1], field_2: f32[2], …")
        self.assertIn("field_8: f32[8]}", hint["tooltip"])

    def test_what_the_last_run_has_shown_stands_behind_lines(self):
        text = ("@compile\nfn step(w, x) {\n  let loss = mean((x @ w) ** 2)\n  if loss.item() > 9.0 { print(1) }\n"
                "  return w - loss\n}\nfor i in range(0, 4) { step(ones([4]), ones([3, 4])) }\n")
        with tempfile.TemporaryDirectory() as folder:
            path, cache = pathlib.Path(os.path.realpath(folder)) / "a.tsl", os.environ.get("TSL_CACHE_DIR")
            path.write_text(text)
            os.environ["TSL_CACHE_DIR"] = folder
            try:
                subprocess.run([PROGRAM, "explain", "--device", "cpu", path], check=True, capture_output=True)
                client = Client(PROGRAM)
            finally:
                os.environ.pop("TSL_CACHE_DIR") if cache is None else os.environ.update(TSL_CACHE_DIR=cache)
            uri = f"file://{path}"
            client.open(uri, text)
            notes = lambda: [(each["position"]["line"], each["label"]) for each in self.hints(0, 9, client, uri) if "kind" not in each]
            found = dict(notes())
            self.assertIn("compiled; 3 of 4 runs are from plans", found[1])
            self.assertRegex(found[2], r"^[\d.e-]+ ms$")
            self.assertIn("split here: `loss.item()` is read", found[3])
            client.change(uri, 2, [{"range": {"start": {"line": 3, "character": 20}, "end": {"line": 3, "character": 21}}, "text": "8"}])
            self.assertNotIn(3, dict(notes()))
            self.assertEqual(client.leave(), 0)
            client.process.stdout.close()

    def hints(self, first, last, client=None, uri=URI):
        place = lambda line: {"line": line, "character": 0}
        shown = {"start": place(first), "end": place(last)}
        return (client or self.client).request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": shown})

    def test_names_are_found_and_renamed_in_all_files(self):
        texts = {"u": "fn helper(x) = x\nlet k = helper(1)\n",
                 "a": 'from "./u.tsl" import helper as h, k\nimport "./u.tsl" as u\nprint(h(k), u.helper(2), u.k)\n',
                 "b": 'from "./u.tsl" import helper\nlet r = {helper}\nprint(helper(3), r)\n',
                 "c": 'from "./a.tsl" import k\nfn helper() = k\nprint(helper())\n'}
        with tempfile.TemporaryDirectory() as folder:
            files = {name: pathlib.Path(os.path.realpath(folder)) / f"{name}.tsl" for name in texts}
            uris = {name: "file://" + str(path) for name, path in files.items()}
            for name, text in texts.items():
                files[name].write_text(text)
            self.assertEqual(self.show(texts["a"], uris["a"]), [])
            start = lambda place: (place["uri"][-5], place["range"]["start"]["line"], place["range"]["start"]["character"])
            found = lambda line, character, **more: sorted(map(start, self.client.at("references", uris["a"], line, character, **more)))
            self.assertEqual(start(self.client.at("definition", uris["a"], 2, 14)), ("u", 0, 3))
            self.assertEqual(start(self.client.at("definition", uris["a"], 2, 8)), ("u", 1, 4))
            uses = [("a", 0, 22), ("a", 2, 14), ("b", 0, 22), ("b", 1, 9), ("b", 2, 6), ("u", 0, 3), ("u", 1, 8)]
            self.assertEqual(found(2, 14), uses)
            self.assertEqual(found(2, 14, context={"includeDeclaration": False}), [use for use in uses if use != ("u", 0, 3)])
            self.assertEqual(self.rename_in(texts, uris, "a", 2, 14, "aid"),
                             {"u": "fn aid(x) = x\nlet k = aid(1)\n",
                              "a": 'from "./u.tsl" import aid as h, k\nimport "./u.tsl" as u\nprint(h(k), u.aid(2), u.k)\n',
                              "b": 'from "./u.tsl" import aid\nlet r = {helper: aid}\nprint(aid(3), r)\n'})
            with self.assertRaisesRegex(RuntimeError, "has the name 'r' already"):
                self.client.at("rename", uris["a"], 2, 14, newName="r")
            self.assertEqual(self.rename_in(texts, uris, "a", 2, 6, "first"),  # only a file's own name for it
                             {"a": 'from "./u.tsl" import helper as first, k\nimport "./u.tsl" as u\nprint(first(k), u.helper(2), u.k)\n'})

    def rename_in(self, texts, uris, name, line, character, new_name):
        """Returns the texts that a new name changes."""
        changed = {}
        edits = self.client.at("rename", uris[name], line, character, newName=new_name)["changes"]
        for each, uri in uris.items():
            lines = texts[each].split("\n")
            for edit in sorted(edits.get(uri, []), key=lambda e: -e["range"]["start"]["character"]):
                start, end = edit["range"]["start"], edit["range"]["end"]
                at = start["line"]
                lines[at] = lines[at][: start["character"]] + edit["newText"] + lines[at][end["character"]:]
            if uri in edits:
                changed[each] = "\n".join(lines)
        return changed

    def test_completion_names_what_could_stand_there(self):
        self.show("import nn\nlet first_value = 1\nnn.lin\nprint(first_)\nsu")
        labels = lambda line, character: [each["label"] for each in self.client.at("completion", URI, line, character)["items"]]
        self.assertIn("linear", labels(2, 6))
        self.assertEqual(labels(3, 12), ["first_value"])
        self.assertIn("sum", labels(4, 2))
        item = self.client.at("completion", URI, 3, 12)["items"][0]
        self.assertEqual(item["textEdit"]["range"], {"start": {"line": 3, "character": 6}, "end": {"line": 3, "character": 12}})

    def test_signature_help_marks_the_parameter(self):
        self.show("fn area(width, height = 2) = width * height\nprint(area(1, ))\n")
        help = self.client.at("signatureHelp", URI, 1, 14)
        self.assertEqual(help["activeParameter"], 1)
        label = help["signatures"][0]["label"]
        begin, end = help["signatures"][0]["parameters"][1]["label"]
        self.assertEqual(label[begin:end], "height = 2")

    def test_places_of_a_name(self):
        self.show("let a = 1\nfn f(a) = a + 1\nprint(a, f(a))\n")
        start = lambda place: (place["range"]["start"]["line"], place["range"]["start"]["character"])
        self.assertEqual(start(self.client.at("definition", URI, 2, 6)), (0, 4))
        places = self.client.at("references", URI, 2, 6, context={"includeDeclaration": True})
        self.assertEqual([start(each) for each in places], [(0, 4), (2, 6), (2, 11)])
        places = self.client.at("references", URI, 2, 6, context={"includeDeclaration": False})
        self.assertEqual([start(each) for each in places], [(2, 6), (2, 11)])
        self.assertEqual([each["kind"] for each in self.client.at("documentHighlight", URI, 1, 10)], [3, 2])

    def rename(self, text, line, character, name):
        """Returns the text with the name at a position changed."""
        self.show(text)
        edits = self.client.at("rename", URI, line, character, newName=name)["changes"][URI]
        lines = text.split("\n")
        for edit in reversed(edits):
            begin, end = edit["range"]["start"], edit["range"]["end"]
            old = lines[begin["line"]]
            lines[begin["line"]] = old[: begin["character"]] + edit["newText"] + old[end["character"]:]
        return "\n".join(lines)

    def test_rename_keeps_the_program(self):
        self.assertEqual(self.rename("let a = 1\nlet r = {a, b: a}\nprint(r.a)\n", 0, 4, "first"),
                         "let first = 1\nlet r = {a: first, b: first}\nprint(r.a)\n")
        self.assertEqual(self.rename("let {x, y} = {x: 1, y: 2}\nprint(x + y)\n", 1, 6, "left"),
                         "let {x: left, y} = {x: 1, y: 2}\nprint(left + y)\n")
        self.assertEqual(self.rename("from nn import relu\nprint(relu(ones([2])))\n", 1, 6, "act"),
                         "from nn import relu as act\nprint(act(ones([2])))\n")
        place = self.client.at("prepareRename", URI, 1, 8)
        self.assertEqual(place["placeholder"], "relu")
        self.assertIsNone(self.client.at("prepareRename", URI, 1, 0))

    def test_rename_refuses_what_would_break_the_program(self):
        for text, name, message in [("let a = 1\nprint(a)\n", "for", "'for' is no name"),
                                    ("let a = 1\nprint(a)\n", "1x", "'1x' is no name"),
                                    ("fn a(x) = x\nfn b() = 2\nprint(a(b()))\n", "b", "with the name 'b': ")]:
            with self.assertRaisesRegex(RuntimeError, message):
                self.rename(text, 0, 4 if text.startswith("let") else 3, name)
        with self.assertRaisesRegex(RuntimeError, "does not declare"):
            self.rename("print(1)\n", 0, 2, "write")

    def test_formatting(self):
        self.show("let a=1\nprint( a )\n")
        edits = self.client.request("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {"tabSize": 4}})
        self.assertEqual(edits[0]["newText"], "let a = 1\nprint(a)\n")
        self.show("let a = (\n")
        self.assertIsNone(self.client.request("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {}}))

    def test_outline(self):
        self.show("let a = 1\nvar (b, c) = (2, 3)\nfn f(x) {\n  fn g(y) = y\n  let inner = g(x)\n  return inner\n}\n")
        found = self.client.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
        self.assertEqual([(each["name"], each["kind"]) for each in found], [("a", 14), ("b", 13), ("c", 13), ("f", 12)])
        self.assertEqual([each["name"] for each in found[3]["children"]], ["g"])

    def test_semantic_tokens(self):
        text = 'import nn\nlet s = """a\nb""" # note\nprint(nn.relu(f32(s.size)), axis: 1)\n'
        self.show(text)
        kinds = self.client.capabilities["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"]
        data = self.client.request("textDocument/semanticTokens/full", {"textDocument": {"uri": URI}})["data"]
        found, line, start = [], 0, 0
        for i in range(0, len(data), 5):
            start = data[i + 1] + (start if data[i] == 0 else 0)
            line += data[i]
            found.append((text.split("\n")[line][start: start + data[i + 2]], kinds[data[i + 3]]))
        for expected in [("import", "keyword"), ("nn", "namespace"), ('"""a', "string"), ('b"""', "string"), ("# note", "comment"),
                         ("print", "function"), ("relu", "function"), ("f32", "type"), ("size", "property"), ("axis", "parameter"),
                         ("s", "variable"), ("1", "number")]:
            self.assertIn(expected, found)

    def test_quick_fixes(self):
        self.show("let x = lenn([1])\nprint(x, nn.relu)\n")
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
        actions = self.client.request("textDocument/codeAction", {"textDocument": {"uri": URI}, "range": whole, "context": {"diagnostics": []}})
        self.assertEqual([each["title"] for each in actions], ["Replace by 'len'", "Add import nn"])
        self.assertEqual(actions[0]["edit"]["changes"][URI][0]["newText"], "len")
        self.assertEqual(actions[1]["edit"]["changes"][URI][0]["newText"], "import nn\n")

    def test_modules_beside_the_text_and_unsaved_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(os.path.realpath(folder)) / "a module.tsl"
            path.write_text("fn f(x) = x\n")
            uri, main = path.as_uri(), path.with_name("main.tsl").as_uri()
            self.assertEqual(self.show('import "./a module.tsl" as m\nprint(m.f(1))\n', main), [])
            self.show("fn g(x) = x\n", uri)
            self.client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
            del self.client.diagnostics[main]
            found = self.client.wait_for_diagnostics(main, 1)
            self.assertIn("has no 'f'", found[0]["message"])

    def test_cancelled_requests_and_closed_texts(self):
        self.show("let a = 1\nprint(a)\n")
        place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 4}}
        first, second = 1000, 1001
        message = lambda content: b"Content-Length: %d\r\n\r\n%s" % (len(content), content)
        body = '{"jsonrpc": "2.0", "id": %d, "method": "textDocument/hover", "params": %s}'
        place = str(place).replace("'", '"')
        self.client.send_bytes(message((body % (first, place)).encode()) + message((body % (second, place)).encode()) +
                               message(b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1001}}'))
        self.assertIn("result", self.client.answer(first))
        self.assertEqual(self.client.answer(second)["error"]["code"], -32800)
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        with self.assertRaisesRegex(RuntimeError, "is not open"):
            self.client.at("hover", URI, 0, 4)


if __name__ == "__main__":
    random.seed(1)
    unittest.main()
