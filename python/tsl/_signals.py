"""Signals that arrive while a script runs. Python runs its handlers in the main thread, between instructions of Python, and so
not before the script has ended: here, a thread sees them at once and ends the script."""
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
        self._engine = None  # that runs, with the file descriptor to which Python wrote signals before
        self._previous = -1
        self._before = None  # the hook of exceptions before the run
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

    # The extension does what begin() and end() do.

    def begin(self, engine):
        """Begins to watch. Returns False if another run is watched already."""
        if self._engine:
            return False
        previous = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        with self._lock:
            self._engine, self._previous = engine, -1 if previous == self._writer else previous
        self._before, sys.unraisablehook = sys.unraisablehook, self.hook
        return True

    def end(self):
        with self._lock:
            self._engine = None
            self._read()
            previous, self._previous = self._previous, -1
        signal.set_wakeup_fd(previous)
        if sys.unraisablehook is self.hook:
            sys.unraisablehook = self._before


_watcher = None


def _know_main_thread():
    lib.fast.set_main_thread(threading.main_thread().ident)


if lib.fast:
    _know_main_thread()
    os.register_at_fork(after_in_child=_know_main_thread)


def _begin(engine):
    """Begins to watch a run of the main thread, where Python handles signals. Returns the watcher; None if none is needed."""
    global _watcher
    if threading.current_thread() is not threading.main_thread():
        return None
    if not _watcher or _watcher.process != os.getpid():  # a fork has no threads
        _watcher = _Watcher()
    try:
        return _watcher if _watcher.begin(engine) else None
    except ValueError:  # another interpreter than the main one
        return None


def watched(engine, call, *arguments):
    """Calls a function of libtsl that runs a script. What must end the run, such as KeyboardInterrupt, is raised."""
    watcher = None
    try:
        watcher = _begin(engine)
        return call(*arguments)
    finally:
        if watcher:
            watcher.end()
            if engine._is_interrupted:  # perhaps after the run, which would end the next one
                engine._is_interrupted = False
                lib.calls.cancel_interrupt(engine._handle)
