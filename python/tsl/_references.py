"""What engines and references to their values do at each call: by the extension in C++ where it was built, else by ctypes."""
import threading

from . import _dlpack, _library as lib


def refuse():
    """Raises the error for a second thread."""
    raise lib.Error("misuse", "another thread uses the engine", text="error[misuse]: another thread uses the engine")


class _Use:
    """The use of an engine by one thread, also within itself, from a call until its error or its texts are read.

    refuse: raises the error for another thread.
    """

    def __init__(self, refuse):
        self._lock, self._refuse = threading.RLock(), refuse

    def __enter__(self):
        if not self._lock.acquire(blocking=False):
            self._refuse()

    def __exit__(self, *_):
        self._lock.release()


class _EngineBase:
    """The base of engines, in which the extension keeps some of their attributes."""


class _Reference:
    """The base of all references to values of an engine."""

    def __del__(self):
        try:
            self._engine._release(self._handle)
            _dlpack.release_untaken()
        except Exception:  # it was never made, or Python ends: nobody could do anything about it
            pass

    def _only_element(self):
        """Returns the only element of a tensor, or NotImplemented if it is to be read another way."""
        return NotImplemented


class _Callable:
    def __call__(self, *arguments, **named):
        return self._engine._call(self._handle, arguments, named)


if lib.fast:
    EngineBase, Use, Reference, Callable = lib.fast.EngineBase, lib.fast.Use, lib.fast.Reference, lib.fast.Callable
else:
    EngineBase, Use, Reference, Callable = _EngineBase, _Use, _Reference, _Callable
