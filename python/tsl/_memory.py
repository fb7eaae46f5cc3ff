"""The memory of Python's objects: what supports the buffer protocol becomes a tensor, with or without a copy."""
import ctypes
import itertools
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_ssize_t, c_void_p, py_object, pythonapi

from . import _library as lib

# The formats of the struct module, by the kind of number and its size: `l` is i64 on Linux, as `q` is.
_KINDS = {"?": "b", "B": "u", "H": "u", "I": "u", "L": "u", "Q": "u", "b": "i", "h": "i", "i": "i", "l": "i", "q": "i", "e": "f", "f": "f", "d": "f",
          "Zf": "c", "Zd": "c"}
_DTYPES = {(text[1], int(text[2:])): number for number, text in enumerate(lib.TYPE_STRINGS) if text}
_WITH_STRIDES_AND_FORMAT = 0x1C  # PyBUF_RECORDS_RO


class _PyBuffer(Structure):
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)),
                ("suboffsets", POINTER(c_ssize_t)), ("internal", c_void_p)]


_get_buffer = pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [py_object, POINTER(_PyBuffer), c_int]
_copy_buffer = pythonapi.PyBuffer_ToContiguous
_copy_buffer.argtypes = [c_void_p, POINTER(_PyBuffer), c_ssize_t, ctypes.c_char]
_release_buffer = pythonapi.PyBuffer_Release
_release_buffer.argtypes = [POINTER(_PyBuffer)]


class NoBuffer(Exception):
    """An object has no memory that the buffer protocol describes."""


def no_dtype(source, name):
    """Returns the error for an array whose elements TSL does not have."""
    name, known = getattr(source, "dtype", name), ", ".join(lib.DTYPE_NAMES)
    return TypeError(f"TSL has no dtype like {name} (it has {known}): convert the array first")


def require_numbers(source):
    """Refuses arrays of times, objects, texts and structs, which DLPack would refuse in words of its own."""
    if getattr(getattr(source, "dtype", None), "kind", "") in tuple("MmOSUV"):
        raise no_dtype(source, "") from None


def no_value(source):
    """Returns the error for an object that is no value of TSL."""
    if callable(source):
        return TypeError('a function of Python is no value of TSL: engine.define("f(x)", function) lets scripts call it')
    return TypeError(f"TSL has no value for this {type(source).__name__}: it takes None, bool, int, float, complex, str, list, tuple, dict, set, arrays, and objects "
                     "of classes that engine.type() defined")


class Buffer:
    """The memory of an object that supports the buffer protocol, held until release(). Raises NoBuffer if it does not.

    dtype: of TSL, for elements of the same size that the protocol cannot name.
    """

    def __init__(self, source, dtype=None):
        self._buffer = _PyBuffer()
        try:
            _get_buffer(source, byref(self._buffer), _WITH_STRIDES_AND_FORMAT)
        except (TypeError, BufferError, ValueError):
            raise NoBuffer from None
        try:
            self.type, self.is_wrappable = self._read_type(source, dtype)
        except BaseException:
            self.release()
            raise
        self.address = self._buffer.buf

    def _read_type(self, source, dtype):
        buffer = self._buffer
        text = (buffer.format or b"B").decode()
        if dtype is None:
            dtype = _DTYPES.get((_KINDS.get(text.lstrip("@=<")), buffer.itemsize))
        if dtype is None:
            raise no_dtype(source, f"the buffer's format {text!r}")
        if buffer.ndim > lib.MAX_RANK:
            raise ValueError(f"a tensor has at most {lib.MAX_RANK} dimensions, not {buffer.ndim}")
        result = lib.TensorType(dtype=dtype, rank=buffer.ndim, is_strided=True)
        is_wrappable = True
        for i in range(buffer.ndim):
            result.shape[i] = buffer.shape[i]
            is_wrappable &= buffer.strides[i] >= 0 and buffer.strides[i] % buffer.itemsize == 0
            result.strides[i] = buffer.strides[i] // buffer.itemsize
        alignment = buffer.itemsize // 2 if lib.DTYPE_NAMES[dtype] in lib.PARTS else buffer.itemsize
        return result, is_wrappable and (buffer.buf or 0) % alignment == 0

    def make_dense(self):
        """Copies memory whose strides TSL does not have, in row order."""
        self._copy = ctypes.create_string_buffer(self._buffer.len)
        if _copy_buffer(self._copy, byref(self._buffer), self._buffer.len, b"C"):
            raise BufferError("the memory cannot be copied")
        self.address = ctypes.addressof(self._copy)
        self.type.is_strided, self.type.bytes = False, self._buffer.len

    def release(self):
        _release_buffer(byref(self._buffer))


_held = {}  # what values of engines refer to, by the number that their release function gets
_numbers = itertools.count(1)


@lib.Release
def release_held(number):
    released = _held.pop(number, None)
    if isinstance(released, Buffer):
        released.release()


def hold(content):
    """Keeps a buffer or an object until release_held() is called with the number that this returns."""
    number = next(_numbers)
    _held[number] = content
    return number


def held(number):
    return _held[number]


def view_of(memory, dtype):
    """Returns a read-only memoryview of the dense memory of a tensor, which it keeps."""
    count, shape = 1, memory.shape
    for extent in shape:
        count *= extent
    array = (ctypes.c_char * (count * lib.ITEM_SIZES[dtype])).from_address(memory.address)
    array.owner = memory
    view = memoryview(array).toreadonly().cast("B")
    if count == 0:
        return view.cast(lib.FORMATS[dtype])  # memoryview has no shapes with a 0
    return view.cast(lib.FORMATS[dtype], shape)
