"""Values of an engine that have no counterpart in Python: tensors, functions, and all others as opaque references."""
import functools
import os
import struct
import threading
from ctypes import byref, c_void_p, create_string_buffer

from . import _dlpack, _library as lib
from ._memory import view_of
from ._operators import Operators
from ._references import Callable, Reference


class Value(Reference):
    """A reference to a value of an engine."""

    def __init__(self, engine, handle):
        self._engine, self._id = engine, handle.id

    @property
    def _handle(self):
        return lib.ValueHandle(self._id)

    def __repr__(self):
        return self._engine._text(lib.calls.to_text, self._handle)

    def __copy__(self):
        return type(self)(self._engine, self._engine._retained(self._handle))

    def __deepcopy__(self, _memo):
        return self.__copy__()

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} belongs to its engine and cannot be pickled; tensors can")

    def display(self):
        """Formats the value as the prompt of TSL does: with the dtype, shape and device of a tensor, cut where it is long."""
        return self._engine._text(lib.calls.display, self._handle)

    def __getattr__(self, name):
        """Reads a member of a module."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._engine._field(self._handle, name)
        except lib.Error as error:
            text = error.message if error.kind == "name" else f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(text) from None


class Function(Callable, Value):
    """A function of an engine, called with Python's values."""


class Tensor(Operators, Value):
    """A tensor of an engine. Its elements never change.

    numpy.asarray(tensor), tensor.view() and __dlpack__() share its memory, which they keep, also after the engine's end; the
    first two if it is on the CPU. What is reversed, and so has negative strides, is copied.
    """

    def __init__(self, engine, handle):
        super().__init__(engine, handle)
        self._described = lib.TensorType()  # from now on, so that it is known after the engine's end, too
        engine._do(lib.calls.tensor_get_type, handle, byref(self._described))

    @functools.cached_property
    def _type(self):
        return lib.TensorType.from_buffer_copy(self._described)  # the extension gives the bytes

    def __reduce__(self):
        return _unpickled, (self.dtype, self.shape, self.tobytes())

    @property
    def dtype(self):
        """The name of the dtype in TSL: "f32", "i64", "bool", "c64", ..."""
        return lib.DTYPE_NAMES[self._type.dtype]

    @property
    def shape(self):
        return tuple(self._type.shape[: self._type.rank])

    @property
    def device(self):
        """The name of the device: "cpu", "cuda:0"."""
        address, name = c_void_p(), lib.String()
        with self._engine._use:
            self._engine._do(lib.calls.tensor_map_device, self._handle, lib.NO_STREAM, byref(address), byref(name))
            return str(name)

    def __len__(self):
        if not self._type.rank:
            raise TypeError("a tensor of rank 0 has no length")
        return self._type.shape[0]

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError("the tensor is on another device")
        return _dlpack.to_capsule(self._engine, self._handle, stream, max_version, copy)

    def __dlpack_device__(self):
        return _dlpack.device_of(self._engine, self._handle)

    def _memory(self):
        """Returns the tensor's memory, which is kept from now on for as long as the tensor is, or what refers to it."""
        memory = self.__dict__.get("_kept")
        if memory is None:
            self._engine._do(lib.calls.tensor_map, self._handle, byref(c_void_p()))  # an error if it is on a GPU
            memory = self.__dict__.setdefault("_kept", _dlpack.Memory(self._engine, self._handle))
        return memory

    @property
    def __array_interface__(self):
        text = lib.TYPE_STRINGS[self._type.dtype]
        if text is None:
            raise AttributeError("NumPy has no bf16")  # and calls __array__()
        return self._interface(text)

    def __array__(self, dtype=None, copy=None):
        import numpy
        if self.dtype == "bf16":
            try:
                from ml_dtypes import bfloat16
            except ImportError:
                raise TypeError("NumPy has no bf16: install ml_dtypes, or convert in TSL with f32(x)") from None
            array = numpy.asarray(_Interface(self, "<u2")).view(bfloat16)
        else:
            array = numpy.asarray(_Interface(self, lib.TYPE_STRINGS[self._type.dtype]))
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def _interface(self, text):
        memory, size = self._memory(), lib.ITEM_SIZES[self._type.dtype]
        strides = tuple(stride * size for stride in memory.strides)
        return {"version": 3, "shape": memory.shape, "typestr": text, "data": (memory.address, True), "strides": strides}

    def tobytes(self):
        """Copies the elements, in row order."""
        count = lib.ITEM_SIZES[self._type.dtype]
        for extent in self.shape:
            count *= extent
        data = create_string_buffer(count)
        self._engine._do(lib.calls.tensor_read, self._handle, data, count)
        return data.raw

    def view(self):
        """Returns a read-only memoryview: of the tensor's memory if it is dense and on the CPU, else of a copy."""
        if lib.FORMATS[self._type.dtype] is None or self.dtype == "f16":
            raise TypeError(f"a memoryview has no {self.dtype}; numpy(), tolist() and tobytes() do, or __dlpack__()")
        try:
            memory = self._memory()
        except lib.Error as error:
            if error.kind != "device":
                raise
            memory = None
        if memory and memory.address and memory.is_dense():
            return view_of(memory, self._type.dtype)
        view = memoryview(self.tobytes())
        return view.cast(lib.FORMATS[self._type.dtype], self.shape) if len(view) else view.cast(lib.FORMATS[self._type.dtype])

    def __buffer__(self, flags):  # Python 3.12: memoryview(tensor)
        return self.view()

    def _elements(self):
        data = self.tobytes()
        if self.dtype in lib.PARTS:
            part = lib.PARTS[self.dtype]
            numbers = iter(struct.unpack(f"={len(data) // struct.calcsize(part)}{part}", data))
            return tuple(complex(re, im) for re, im in zip(numbers, numbers))
        if self.dtype == "bf16":  # the upper half of an f32
            data = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
        size = 4 if self.dtype == "bf16" else lib.ITEM_SIZES[self._type.dtype]
        return struct.unpack(f"={len(data) // size}{lib.FORMATS[self._type.dtype] or 'f'}", data)

    def tolist(self):
        """Returns the elements as lists in lists; that of a tensor of rank 0 as a number."""
        return _nested(list(self._elements()), self.shape)

    def item(self):
        """Returns the only element."""
        element = self._only_element()
        if element is not NotImplemented:
            return element
        values = self._elements()
        if len(values) != 1:
            raise ValueError(f"a tensor with one element is needed, and this one has {len(values)}")
        return values[0]

    # A tensor of one element is a number, as in NumPy.

    def __bool__(self):
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __complex__(self):
        return complex(self.item())

    def __index__(self):
        number = None if self._type.rank else self.item()
        if number is None or isinstance(number, (float, complex)):
            raise TypeError("only an int tensor of rank 0 is an index")
        return int(number)

    def numpy(self):
        """Returns a NumPy array that shares the tensor's memory; of bf16, an array of ml_dtypes."""
        import numpy
        return numpy.asarray(self)


class _Interface:
    """What NumPy reads of a tensor's memory, as elements of a type; an array of it keeps the tensor alive."""

    def __init__(self, tensor, text):
        self.tensor, self.__array_interface__ = tensor, tensor._interface(text)


_own = threading.local()  # the engine of what a thread unpickles, and its process


def _unpickled(dtype, shape, data):
    """Makes a tensor of an engine that nothing else uses; every engine takes it."""
    if getattr(_own, "process", None) != os.getpid():
        from ._engine import Engine
        _own.engine, _own.process = Engine(), os.getpid()
    return Tensor(_own.engine, _own.engine._tensor_of(lib.DTYPE_NAMES.index(dtype), shape, data))


if lib.fast:
    lib.fast.set_classes(Tensor, Function, _dlpack.given, _dlpack.release_untaken)


def _nested(elements, shape):
    if not shape:
        return elements[0]
    step = len(elements) // shape[0] if shape[0] else 0
    return [_nested(elements[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
