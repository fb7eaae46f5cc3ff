"""Capsules of DLPack, by which frameworks hand tensors to each other without a copy."""
import collections
import ctypes
import sys
from ctypes import (POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p,
                    py_object, pythonapi)

from . import _library as lib

CPU, CUDA = 1, 2
_LEGACY_STREAM = 1  # what no stream means to a consumer on a GPU
# The names of capsules of either version, and where the deleter is in the struct that they hold.
_VERSIONED, _UNVERSIONED = b"dltensor_versioned", b"dltensor"
_DELETER_OFFSETS = {_VERSIONED: 16, _UNVERSIONED: 56}


class _Description(Structure):
    """DLTensor, with which the unversioned struct begins."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("rank", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


def _prototype(name, result, *arguments):
    function = getattr(pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_new = _prototype("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
# Of the address of a capsule.
_is_valid = _prototype("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
_pointer = _prototype("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
_set_name = _prototype("PyCapsule_SetName", c_int, c_void_p, c_char_p)
_USED = {_VERSIONED: b"used_dltensor_versioned", _UNVERSIONED: b"used_dltensor"}


def _delete(struct, name):
    deleter = c_void_p.from_address(struct + _DELETER_OFFSETS[name]).value
    if deleter:
        _Deleter(deleter)(struct)


# Capsules that may not have been taken over, with the tensor's struct. They have no destructor, which would be Python code that
# runs while an error of the consumer is set.
given = collections.deque()


def release_untaken():
    """Deletes the tensors of capsules that their consumers have dropped."""
    for _ in range(len(given)):
        try:
            capsule, struct, name = given.popleft()
        except IndexError:  # another thread was faster
            return
        if not _is_valid(id(capsule), name):
            continue  # it has been renamed: the consumer calls the deleter
        if sys.getrefcount(capsule) > 2:  # the variable, and the argument
            given.append((capsule, struct, name))
        else:
            _delete(struct, name)


def _export(engine, handle, name, access, stream):
    struct = c_void_p()
    export = lib.calls.tensor_to_dlpack if name == _VERSIONED else lib.calls.tensor_to_dlpack_unversioned
    engine._do(export, handle, access, stream, byref(struct))
    return struct.value


def to_capsule(engine, handle, stream, max_version, copy):
    """Makes the capsule that __dlpack__() returns."""
    name = _VERSIONED if max_version and max_version[0] >= 1 else _UNVERSIONED
    if device_of(engine, handle)[0] == CPU:
        stream = lib.NO_STREAM
    elif stream is None:
        stream = _LEGACY_STREAM
    release_untaken()
    struct = _export(engine, handle, name, lib.WRITABLE if copy else lib.READ_ONLY, stream)
    capsule = _new(struct, name, None)
    given.append((capsule, struct, name))
    return capsule


def device_of(engine, handle):
    """Returns the kind and the number of a tensor's device, as DLPack counts them."""
    struct = _export(engine, handle, _UNVERSIONED, lib.READ_ONLY, lib.NO_STREAM)
    described = _Description.from_address(struct)
    kind, number = described.device_type, described.device_id
    _delete(struct, _UNVERSIONED)
    return kind, number


class Memory:
    """The memory of a tensor, which it keeps, also after the engine's end: of a copy if a stride is negative.

    address; shape, strides: in elements.
    """

    def __init__(self, engine, handle):
        self._struct = _export(engine, handle, _UNVERSIONED, lib.READ_ONLY, lib.NO_STREAM)
        described = _Description.from_address(self._struct)
        self.address = (described.data or 0) + described.byte_offset
        self.shape, self.strides = (tuple(each[: described.rank]) for each in (described.shape, described.strides))

    def is_dense(self):
        expected = 1
        for extent, stride in reversed(list(zip(self.shape, self.strides))):
            if extent != 1 and stride != expected:
                return 0 in self.shape
            expected *= extent
        return True

    def __del__(self, delete=_delete, name=_UNVERSIONED):
        struct = self.__dict__.pop("_struct", None)
        if struct:
            delete(struct, name)


def from_object(engine, source):
    """Makes a tensor of an object with __dlpack__(), and returns its handle. The two share their memory."""
    options = {} if source.__dlpack_device__()[0] == CPU else {"stream": _LEGACY_STREAM}
    try:
        capsule = source.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # older frameworks know no versions
        capsule = source.__dlpack__(**options)
    address = id(capsule)
    name = _VERSIONED if _is_valid(address, _VERSIONED) else _UNVERSIONED
    take = lib.calls.tensor_from_dlpack if name == _VERSIONED else lib.calls.tensor_from_dlpack_unversioned
    handle = lib.ValueHandle()
    with engine._use:
        struct = _pointer(address, name)
        _set_name(address, _USED[name])  # libtsl calls the deleter, also if it refuses the tensor
        engine._do(take, struct, lib.READ_ONLY, options.get("stream", lib.NO_STREAM), byref(handle))
    return handle


def copy_of(engine, handle):
    """Makes a tensor of a copy of another one's elements."""
    result = lib.ValueHandle()
    with engine._use:
        struct = _export(engine, handle, _VERSIONED, lib.WRITABLE, lib.NO_STREAM)
        engine._do(lib.calls.tensor_from_dlpack, struct, lib.READ_ONLY, lib.NO_STREAM, byref(result))
    return result
