"""A program under a pseudo-terminal, and the screen that a person would see."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

TIMEOUT = 60  # seconds until a screen that never comes is a failure; a busy machine may take long


class Screen:
    """The sequences that TSL writes, and no others: an unknown one is an error."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.history = []  # lines that have left the screen at its top
        self.lines = [[] for _ in range(rows)]  # of (character, style)
        self.row = self.column = 0
        self.style = ""
        self.modes = set()
        self.pending = ""

    def feed(self, text):
        text = self.pending + text
        self.pending = ""
        at = 0
        while at < len(text):
            if text[at] == "\033":
                sequence = re.match(r"\033\[([?]?)([0-9;]*)([A-Za-z])", text[at:])
                if not sequence:
                    if len(text) - at > 16:
                        raise AssertionError(f"an unknown sequence: {text[at:at + 16]!r}")
                    self.pending = text[at:]
                    return
                self.control(*sequence.groups())
                at += sequence.end()
                continue
            self.put(text[at])
            at += 1

    def control(self, private, numbers, letter):
        count = int(numbers) if numbers.isdigit() else 1
        line = self.lines[self.row]
        if private:
            (self.modes.add if letter == "h" else self.modes.discard)(numbers)
        elif letter == "A":
            self.row = max(0, self.row - count)
        elif letter == "C":
            self.column = min(self.columns - 1, self.column + count)
        elif letter == "K":
            del line[self.column:]
        elif letter == "J" and numbers == "2":
            self.lines = [[] for _ in range(self.rows)]
        elif letter == "J":
            del line[self.column:]
            for below in range(self.row + 1, self.rows):
                self.lines[below] = []
        elif letter == "H":
            self.row = self.column = 0
        elif letter == "m":
            self.style = "" if numbers in ("", "0") else numbers
        else:
            raise AssertionError(f"an unknown sequence: {private}{numbers}{letter}")

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            if self.row + 1 < self.rows:
                self.row += 1
            else:
                self.history.append(self.lines.pop(0))
                self.lines.append([])
        elif unicodedata.category(character) in ("Mn", "Me") or character in "\u200d\ufe0f":  # combines with the one before
            line, at = self.lines[self.row], self.column - 1
            while at > 0 and not line[at][0]:
                at -= 1
            line[at] = (line[at][0] + character, line[at][1])
        elif character != "\a":
            cells = [(character, self.style)]
            if unicodedata.east_asian_width(character) in "WF":
                cells.append(("", self.style))
            if self.column + len(cells) > self.columns:
                self.put("\r")
                self.put("\n")
            line = self.lines[self.row]
            line.extend([(" ", "")] * (self.column + len(cells) - len(line)))
            line[self.column:self.column + len(cells)] = cells
            self.column += len(cells)

    def text_lines(self):
        lines = ["".join(c for c, _ in line).rstrip() for line in self.history + self.lines]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def style_of(self, word):
        """Gives the style of the last place that shows a word."""
        for line in reversed(self.lines):
            text = "".join(c for c, _ in line)
            if word in text:
                return line[text.rindex(word)][1]
        raise AssertionError(f"{word!r} is not on the screen")


class Terminal:
    def __init__(self, command, rows=24, columns=80, environment=None, folder=None):
        self.screen = Screen(rows, columns)
        self.child, self.master = pty.fork()
        if self.child == 0:
            try:
                if folder:
                    os.chdir(folder)
                os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", **(environment or {})})
            finally:
                os._exit(127)
        self.resize(rows, columns)
        self.code = None
        self.bytes = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Reads what has come. Returns False at the end of the program."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.master, 1 << 16)
        except OSError:  # Linux reports the end so
            more = b""
        self.bytes += more
        complete = len(self.bytes)
        while complete > len(self.bytes) - 4 and complete > 0:  # the last character may be half there
            try:
                self.screen.feed(self.bytes[:complete].decode())
                self.bytes = self.bytes[complete:]
                break
            except UnicodeDecodeError:
                complete -= 1
        return bool(more)

    def wait(self, holds, what):
        end = time.monotonic() + TIMEOUT
        while not holds():
            left = end - time.monotonic()
            if left < 0 or not self.read(min(left, 0.2)):
                if holds():
                    return
                raise AssertionError(f"{what} did not come:\n" + "\n".join(self.screen.text_lines()))

    def settle(self, seconds):
        """Lets the program read what was typed, where the screen does not show it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(max(0, end - time.monotonic()))

    def until(self, text):
        """Waits until a line of the screen ends with a text."""
        self.wait(lambda: any(line.endswith(text) for line in self.screen.text_lines()), repr(text))

    def until_last(self, *lines):
        """Waits until the last lines are these."""
        self.wait(lambda: self.screen.text_lines()[-len(lines):] == list(lines), repr(lines))

    def type(self, keys):
        os.write(self.master, keys.encode())

    def enter(self, text):
        """Types an entry, and waits for the next prompt."""
        prompts = self.prompts()
        self.type(text + "\r")
        self.wait(lambda: self.prompts() > prompts and self.screen.text_lines()[-1] == ">>>", f"the prompt after {text!r}")

    def prompts(self):
        return sum(line.startswith(">>>") for line in self.screen.text_lines())

    def answer(self, text):
        """Enters a text, and gives the lines that follow it."""
        before = len(self.screen.text_lines())
        self.enter(text)
        return self.screen.text_lines()[before:-1]

    def interrupt(self):
        self.type("\x03")

    def close(self):
        """Waits for the end. Returns the exit code."""
        end = time.monotonic() + TIMEOUT
        while self.code is None and time.monotonic() < end:
            self.read(0.05)
            done, status = os.waitpid(self.child, os.WNOHANG)
            if done:
                self.code = os.waitstatus_to_exitcode(status)
                while select.select([self.master], [], [], 0)[0] and self.read(0):
                    pass  # what it has written last
        if self.code is None:
            self.kill()
            raise AssertionError("the program did not end")
        return self.code

    def kill(self):
        if self.code is None:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            self.code = -9
        os.close(self.master)
