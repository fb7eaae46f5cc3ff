"""Signals that arrive while a script runs. Python runs its handlers in the main thread, between instructions of Python, and so
not before the script has ended: here, a thread sees them at once and ends the script."""
import collections
import functools
import os
import select
import signal
import sys
import threading

from . import _library as lib

# Notices, whose handlers end nothing; all other signals that have a handler in Python end the run.
_NOTICES = {getattr(signal, name) for name in ("SIGCHLD", "SIGWINCH", "SIGCONT", "SIGURG", "SIGIO") if hasattr(signal, name)}


class _Watcher:
    """A thread that interrupts the engine which the main thread runs."""

    def __init__(self):
        self.process = os.getpid()
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._lock = threading.Lock()
        self._run = self._engine = None  # the run that is watched, and the engine that runs
        self._previous = -1  # the file descriptor to which Python wrote signals before
        self._before = None  # the hook of exceptions before the run
        self._take_wakeup = functools.partial(signal.set_wakeup_fd, warn_on_full_buffer=False)
        self._taken = collections.deque(maxlen=1)  # what it returned
        self.hook = self._take_unraisable
        if lib.fast:
            lib.fast.set_watcher(self, self._lock.acquire, self._lock.release, signal.set_wakeup_fd, sys.__dict__, self.hook,
                                 self._reader, self._writer)
        threading.Thread(target=self._watch, name="tsl-signals", daemon=True).start()

    def _watch(self):
        while True:
            select.select([self._reader], [], [])
            with self._lock:
                self._read()

    def _read(self):
        """Reads what has arrived, interrupts the engine that runs, and passes the signals on."""
        try:
            numbers = os.read(self._reader, 256)
            if self._previous >= 0:
                os.write(self._previous, numbers)
        except OSError:  # there is none, or the other side is full or closed
            return
        if self._engine and not _NOTICES.issuperset(numbers):
            self._engine._interrupt()

    def _take_unraisable(self, unraisable):
        """Ends the run with what a handler raises at the beginning of a callback, which ctypes drops."""
        exception = unraisable.exc_value
        if isinstance(exception, BaseException) and not isinstance(exception, Exception) and self._engine:
            self._engine._end_with(exception)
        else:
            self._before(unraisable)

    # The extension does what begin() and end() do. A handler of a signal may raise at each call of Python in them, so end()
    # undoes whatever has been begun, and can be called again.

    def begin(self, engine, run):
        """Begins to watch a run, unless another one is watched already."""
        if self._run or self._engine:
            return
        self._run = run
        self._before, sys.unraisablehook = sys.unraisablehook, self.hook
        self._taken.extend(map(self._take_wakeup, (self._writer,)))  # is one call, so that the result cannot be lost
        with self._lock:
            self._previous = self._before_wakeup()
            self._engine = engine

    def end(self, engine, run):
        """Ends watching a run, if it is watched."""
        if self._run is not run:
            return
        with self._lock:
            self._engine = None
            self._read()
            self._previous = -1
        if self._taken:
            signal.set_wakeup_fd(self._before_wakeup())
            self._taken.clear()
        if sys.unraisablehook is self.hook:
            sys.unraisablehook = self._before
        if engine._is_interrupted:  # perhaps after the run, which would end the next one
            engine._is_interrupted = False
            lib.calls.cancel_interrupt(engine._handle)
        self._run = None

    def _before_wakeup(self):
        return -1 if self._taken[0] == self._writer else self._taken[0]


_watcher = None


def _know_main_thread():
    lib.fast.set_main_thread(threading.main_thread().ident)


if lib.fast:
    _know_main_thread()
    os.register_at_fork(after_in_child=_know_main_thread)


def _begin(engine, run):
    """Begins to watch a run of the main thread, where Python handles signals."""
    global _watcher
    if threading.current_thread() is not threading.main_thread():
        return
    if not _watcher or _watcher.process != os.getpid():  # a fork has no threads
        _watcher = _Watcher()
    try:
        _watcher.begin(engine, run)
    except ValueError:  # another interpreter than the main one
        return


def watched(engine, call, *arguments):
    """Calls a function of libtsl that runs a script. What must end the run, such as KeyboardInterrupt, is raised."""
    run = object()
    try:
        _begin(engine, run)
        return call(*arguments)
    finally:
        if _watcher:
            try:
                _watcher.end(engine, run)
            except BaseException:  # a handler of a signal has raised there
                _watcher.end(engine, run)
                raise
