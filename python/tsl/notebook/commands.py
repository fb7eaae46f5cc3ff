"""Commands of cells, which begin with a colon: ":profile" before code, ":explain f"."""
import inspect
import re

_QUESTION = re.compile(r"\?\s*([\w.]+)|([\w.]+)\?")


class Commands:
    def __init__(self, kernel):
        self._kernel = kernel
        self._all = {name[1:]: method for name, method in inspect.getmembers(self, inspect.ismethod)
                     if name.startswith("_") and method.__doc__}

    def are_meant(self, code):
        """Whether a cell is a command: `:time f(x)`, `?sum`, `sum?`."""
        code = code.strip()
        return code.startswith(":") or code == "?" or _QUESTION.fullmatch(code) is not None

    def run(self, code):
        """Runs the cell. Returns what it shows, by media type."""
        code = code.strip()
        if not code.startswith(":"):
            return _text(self._help(code.strip("? ")))
        line, _, below = code[1:].partition("\n")
        name, _, rest = line.partition(" ")
        command = self._all.get(name)
        if not command:
            return _text(f"there is no command :{name} (:help lists those that there are)")
        if command.__doc__.startswith("code"):
            result = command(f"{rest}\n{below}".strip())
            return _text(result) if isinstance(result, str) else result
        text = command(rest.strip())
        if not below.strip():
            return _text(text)
        if text:
            print(text)
        return self._kernel.run("\n" + below)  # whose errors show the lines of the cell

    # Each takes what follows its name. The documentation is what :help shows.

    def _help(self, name):
        """this list; with a name, what it is"""
        if name:
            return self._kernel.help_on(name) or f"nothing is known of {name!r}"
        return "\n".join(f":{name:<9} {method.__doc__}" for name, method in sorted(self._all.items()))

    def _time(self, code):
        """code: how long it takes"""
        data, seconds = self._kernel.timed(code)
        print(f"{seconds:.4g} s")
        return data

    def _profile(self, code):
        """code: where its time goes"""
        engine = self._kernel.engine
        with engine.profile():
            self._kernel.run(code)
            text = engine.profile_text()
        return text

    def _explain(self, name):
        """what was compiled, and why as it was; with the name of a function, for that one"""
        return self._kernel.engine.explain(name or None)

    def _mem(self, _):
        """the bytes that tensors hold"""
        return ", ".join(f"{name} {count:,}" for name, count in self._kernel.engine.memory().items()
                         if isinstance(count, int))

    def _reset(self, _):
        """forgets all variables"""
        self._kernel.engine.close()
        self._kernel.start_engine()
        return ""


def _text(text):
    return {"text/plain": text} if text else {}
