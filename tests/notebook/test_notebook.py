"""The kernel of notebooks, asked by a real client of Jupyter: python3 -m unittest, with python/ in $PYTHONPATH, libtsl.so in
$TSL_LIBRARY, and a kernel that `python -m tsl.notebook install` has installed."""
import pathlib
import re
import subprocess
import sys
import time
import unittest

import nbformat
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from pygments.token import Error as NoToken
from tsl.notebook.lexer import TslLexer

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60


class Kernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.manager, cls.client = start_new_kernel(kernel_name="tsl")

    @classmethod
    def tearDownClass(cls):
        cls.client.stop_channels()
        cls.manager.shutdown_kernel()

    def run_cell(self, code):
        """Runs a cell. Returns the reply, the forms of its value by media type, and what it wrote."""
        data, texts = {}, {"stdout": "", "stderr": ""}

        def hook(message):
            content = message["content"]
            if message["msg_type"] == "execute_result":
                data.update(content["data"])
            elif message["msg_type"] == "stream":
                texts[content["name"]] += content["text"]
        reply = self.client.execute_interactive(code, output_hook=hook, timeout=SECONDS, stop_on_error=False)["content"]
        return reply, data, texts

    def value(self, code):
        reply, data, _ = self.run_cell(code)
        self.assertEqual(reply["status"], "ok", reply)
        return data

    def reply_to(self, request):
        while True:
            message = self.client.get_shell_msg(timeout=SECONDS)
            if message["parent_header"]["msg_id"] == request:
                return message["content"]

    def test_cells_see_what_earlier_ones_declared(self):
        self.assertEqual(self.value("let seen = 20"), {})
        self.assertEqual(self.value("seen + 1"), {"text/plain": "21"})

    def test_output_belongs_to_its_cell(self):
        for text in ("a", "b"):
            self.assertEqual(self.run_cell(f'print("{text}")')[2]["stdout"], text + "\n")

    def test_tensors_are_tables(self):
        data = self.value("let min = 3\n0.5 + zeros([30, 3])")  # a variable with the name of a builtin
        self.assertTrue(data["text/plain"].startswith("f32[30, 3] on cpu"))
        self.assertIn("f32[30, 3] on cpu, 0.5 to 0.5", data["text/html"])
        self.assertEqual(data["text/html"].count("<tr>"), 12)
        self.assertIn("the first of 2 matrices", self.value("zeros([2, 3, 4])")["text/html"])
        self.assertIn("nan", self.value("tensor([1.0, nan])")["text/html"])
        self.assertIn("<td>true</td>", self.value("tensor([true, false])")["text/html"])
        self.assertEqual(list(self.value("zeros([0, 3])")), ["text/plain"])

    def test_elements_that_are_nan_leave_the_range(self):
        html = self.value('tensor([1.0, float("nan"), 3.0])')["text/html"]
        self.assertIn("1 to 3 and nan", html)

    def test_pictures_and_plots_are_shown(self):
        for code in ("rand([20, 20, 3])", "u8(255.0 * rand([20, 20]))"):
            self.assertTrue(self.value(code)["image/png"].startswith("iVBORw0KGgo"), code)
        self.assertNotIn("image/png", self.value("2.0 + rand([20, 20, 3])"))
        data = self.value("import plot\nplot.line([1.0, 2.0])")
        self.assertTrue(data["image/svg+xml"].startswith("<svg"))
        self.assertNotIn("drawing", data["text/plain"])

    def test_progress_is_written(self):
        self.assertIn("3/3", self.run_cell("for i in progress(0..3) { sleep(0.15) }")[2]["stderr"])

    def test_errors_have_their_line(self):
        reply = self.run_cell("let y = 1\nones([2]) + ones([3])")[0]
        self.assertEqual((reply["status"], reply["ename"]), ("error", "shape-mismatch"))
        self.assertRegex("\n".join(reply["traceback"]), r"--> In\[\d+\]:2:11\n.*\n *\| *\^")
        self.assertEqual(self.value("y"), {"text/plain": "1"})

    def test_commands(self):
        self.assertIn("profile of", self.value(":profile\nsum(ones([100, 100]))")["text/plain"])
        self.value("@compile fn twice(x) = x + x\ntwice(ones([3]))")
        self.assertIn("1 kernel", self.value(":explain twice")["text/plain"])
        self.assertIn("axis", self.value("?sum")["text/plain"])
        self.assertEqual(self.value("sum?"), self.value(":help sum"))
        self.assertRegex(self.run_cell(":time 1 + 1")[2]["stdout"], r"^[\d.e-]+ s\n$")
        self.assertIn(":help", self.value(":nothing")["text/plain"])
        self.value("let kept = 1\nnil")
        self.value(":reset")
        self.assertEqual(self.run_cell("kept")[0]["ename"], "unknown-name")

    def test_lines_below_a_command_run(self):
        reply, data, texts = self.run_cell(":mem\nlet below = 3\nbelow")
        self.assertEqual((reply["status"], data), ("ok", {"text/plain": "3"}))
        self.assertRegex(texts["stdout"], r"^live \d+")

    def test_only_a_name_is_a_question(self):
        self.assertEqual(self.value("let asked = 5 # is it right?"), {})
        self.assertEqual(self.value("asked"), {"text/plain": "5"})
        self.assertIn("int", self.value("asked?")["text/plain"])

    def test_names_are_completed_and_explained(self):
        reply = self.reply_to(self.client.complete('"ü" + linsp', 11))
        self.assertEqual((reply["matches"], reply["cursor_start"]), (["linspace"], 6))
        self.assertIn("linspace(", self.reply_to(self.client.inspect("linspace(0.0, ", 3))["data"]["text/plain"])
        self.assertIn("linspace(", self.reply_to(self.client.inspect("linspace(0.0, ", 14))["data"]["text/plain"])
        self.assertFalse(self.reply_to(self.client.inspect("no_such_name", 3))["found"])
        for code, status in (("fn f(x) {", "incomplete"), ("1 + 1", "complete"), (":time", "complete")):
            self.assertEqual(self.reply_to(self.client.is_complete(code))["status"], status)

    def test_an_interrupt_ends_the_cell(self):
        request = self.client.execute("while true {}")
        time.sleep(0.5)
        begin = time.monotonic()
        self.manager.interrupt_kernel()
        reply = self.reply_to(request)
        self.assertEqual(reply["ename"], "KeyboardInterrupt")
        self.assertLess(time.monotonic() - begin, 0.5)  # 3 ms; the bound allows for a busy machine
        time.sleep(0.2)  # ipykernel drops the requests that come right after an error
        self.assertEqual(self.value("1 + 1"), {"text/plain": "2"})

    def test_no_kernel_is_installed_for_a_device_that_does_not_exist(self):
        command = [sys.executable, "-m", "tsl.notebook", "install", "--user", "--device", "gpu"]
        ended = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("there is no device 'gpu': cpu, cuda, cuda:1", ended.stderr)

    def test_exit_is_asked_of_the_client(self):
        self.assertEqual(self.run_cell("exit(3)")[0]["payload"][0]["source"], "ask_exit")


class Pages(unittest.TestCase):
    def test_the_example_becomes_a_page(self):
        notebook = nbformat.read(ROOT / "examples/notebook.ipynb", as_version=4)
        NotebookClient(notebook, kernel_name="tsl", timeout=SECONDS, allow_errors=True).execute()
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        failed = [cell.id for cell in cells if any(output.output_type == "error" for output in cell.outputs)]
        expected = [cell.id for cell in cells if "raises-exception" in cell.metadata.get("tags", [])]
        self.assertEqual(failed, expected)
        page = HTMLExporter().from_notebook_node(notebook)[0]
        self.assertEqual(len(re.findall(r"<svg|image/svg\+xml", page)) >= 2, True)
        self.assertIn("data:image/png", page)
        folder = ROOT / "build/check/notebook"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "notebook.html").write_text(page)

    def test_all_words_of_the_examples_have_a_color(self):
        paths = [path for folder in ("examples", "stdlib", "tests/lang") for path in sorted((ROOT / folder).rglob("*.tsl"))]
        self.assertGreater(len(paths), 50)
        for path in paths:
            wrong = [text for kind, text in TslLexer().get_tokens(path.read_text()) if kind is NoToken]
            self.assertEqual(wrong, [], path)


if __name__ == "__main__":
    unittest.main()
