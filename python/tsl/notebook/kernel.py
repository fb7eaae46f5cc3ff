"""The kernel: it runs cells in an engine, and answers what Jupyter asks about source text."""
import re
import sys
import time

import tsl
from ipykernel.kernelbase import Kernel
from traitlets import Unicode

from .commands import Commands
from .values import Viewer

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class TslKernel(Kernel):
    implementation, implementation_version = "tsl", tsl.__version__
    banner = f"TSL {tsl.__version__}. :help lists the commands of cells."
    language_info = {"name": "tsl", "version": tsl.__version__, "mimetype": "text/x-tsl", "file_extension": ".tsl",
                     "pygments_lexer": "tsl", "codemirror_mode": "python"}
    device = Unicode("cpu", help="Where tensors are made: cpu, cuda, cuda:1.").tag(config=True)

    def __init__(self, **options):
        super().__init__(**options)
        self._commands = Commands(self)
        self._captured = None  # texts that are no output of a cell
        self.start_engine()

    def start_engine(self):
        """Begins anew, without variables."""
        self.engine = tsl.Engine(("files", "environment", "clock", "compile", "gpu"), device=self.device, output=self._write,
                                 diagnostics=lambda text: sys.stderr.write(text), progress=lambda text: sys.stderr.write(text))
        self._viewer = Viewer(self.engine)
        self.engine.explain()  # which begins to record what :explain tells

    def _write(self, text):
        if self._captured is None:
            sys.stdout.write(text)  # ipykernel sends it a few times a second
        else:
            self._captured.append(text)

    # Running.

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_):
        for stream in (sys.stdout, sys.stderr):
            stream.set_parent(self.get_parent())  # the cell that output belongs to
        answer = {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}
        try:
            data = self._commands.run(code) if self._commands.are_meant(code) else self.run(code)
            if data and not silent:
                self._send("execute_result", {"execution_count": self.execution_count, "data": data, "metadata": {}})
        except tsl.Error as error:
            if error.kind == "exit":
                return {**answer, "payload": [{"source": "ask_exit", "keepkernel": False}]}
            return self._failed(error.name or error.kind, error.message, str(error), silent)
        except KeyboardInterrupt:
            return self._failed("KeyboardInterrupt", "the cell was interrupted", "interrupted", silent)
        return answer

    def run(self, code):
        """Runs TSL. Returns how the last expression's value looks, by media type; nothing for nil."""
        value = self.engine.run(code, f"In[{self.execution_count}]", convert=False)
        return self._viewer.data_of(value)

    def timed(self, code):
        """Runs TSL likewise. Returns also the seconds it took."""
        begin = time.perf_counter()
        data = self.run(code)
        return data, time.perf_counter() - begin

    def _failed(self, name, message, text, silent):
        problem = {"ename": name, "evalue": message, "traceback": text.rstrip("\n").split("\n")}
        if not silent:
            self._send("error", problem)
        return {"status": "error", "execution_count": self.execution_count, **problem}

    def _send(self, kind, content):
        sys.stdout.flush()
        sys.stderr.flush()
        self.send_response(self.iopub_socket, kind, content)

    def do_shutdown(self, restart):
        self.engine.close()
        return {"status": "ok", "restart": restart}

    # Questions about source text.

    def do_is_complete(self, code):
        if self._commands.are_meant(code) or self.engine.is_complete(code):
            return {"status": "complete"}
        return {"status": "incomplete", "indent": "  "}

    def do_complete(self, code, cursor_pos):
        found = self.engine.complete(code, cursor_pos)
        matches = [candidate["text"].rstrip("(") for candidate in found["candidates"]]
        kinds = [{"start": found["begin"], "end": cursor_pos, "text": text, "type": candidate["kind"]}
                 for text, candidate in zip(matches, found["candidates"])]
        return {"status": "ok", "matches": matches, "cursor_start": found["begin"], "cursor_end": cursor_pos,
                "metadata": {"_jupyter_types_experimental": kinds}}

    def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        """Describes the name at the cursor, or else the function whose arguments are being written."""
        text = next((self.help_on(found[0]) for found in _NAME.finditer(code) if found.start() <= cursor_pos <= found.end()), "")
        if not text:
            call = self.engine.complete(code, cursor_pos)["call"]
            text = f"{call['declaration']}\n\n{call['doc']}" if call else ""
        return {"status": "ok", "found": bool(text), "data": {"text/plain": text} if text else {}, "metadata": {}}

    def help_on(self, name):
        """Returns what help() prints about a name; "" if there is none."""
        self._captured = []
        try:
            self.engine.run(f"help({name})", "help")
            return "".join(self._captured).rstrip()
        except tsl.Error:
            return ""
        finally:
            self._captured = None
