"""libtsl.so by ctypes: the structures, constants and functions of tsl.h, under the names that they have there."""
import collections
import ctypes
import importlib.machinery
import importlib.util
import json
import operator
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,
                    c_ssize_t, c_uint32, c_uint64, c_void_p)

OK, MISUSE = 0, 1
KIND_NAMES = {1: "misuse", 2: "internal", 10: "syntax", 11: "name", 12: "type", 13: "shape", 14: "index", 15: "value", 16: "io",
              17: "memory", 18: "device", 19: "limit", 20: "interrupt", 21: "user", 22: "exit"}
USER_ERROR = 21
ENDINGS = {"limit": 19, "interrupt": 20, "exit": 22}  # which no script catches
(NIL, BOOL, INT, FLOAT, STRING, LIST, TUPLE, RECORD, RANGE, FUNCTION, MODULE, DTYPE, TENSOR, FOREIGN, MAP, COMPLEX) = range(16)
# The dtypes in the order of tsl_dtype: name, bytes, format of the struct module and type of NumPy, which have no bf16.
DTYPES = (("bool", 1, "?", "|b1"), ("u8", 1, "B", "|u1"), ("i8", 1, "b", "|i1"), ("i16", 2, "h", "<i2"), ("i32", 4, "i", "<i4"),
          ("i64", 8, "q", "<i8"), ("f16", 2, "e", "<f2"), ("bf16", 2, None, None), ("f32", 4, "f", "<f4"), ("f64", 8, "d", "<f8"),
          ("u16", 2, "H", "<u2"), ("u32", 4, "I", "<u4"), ("u64", 8, "Q", "<u8"), ("c64", 8, None, "<c8"), ("c128", 16, None, "<c16"))
PARTS = {"c64": "f", "c128": "d"}  # the format of a real and an imaginary part, which lie side by side
DTYPE_NAMES, ITEM_SIZES, FORMATS, TYPE_STRINGS = zip(*DTYPES)
CAPABILITIES = {"files": 1, "environment": 2, "clock": 4, "compile": 8, "gpu": 16, "input": 32}
MAX_RANK = 8
READ_ONLY, WRITABLE = range(2)
NO_STREAM = -1


class EngineHandle(Structure):
    _fields_ = [("id", c_uint64)]


class ValueHandle(Structure):
    _fields_ = [("id", c_uint64)]


class String(Structure):
    _fields_ = [("data", c_void_p), ("length", c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode() if self.length else ""


def string(text, what="the text"):
    """Makes a String, and the bytes that must outlive it."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    data = text.encode()
    return String(ctypes.cast(c_char_p(data), c_void_p), len(data)), data


def whole(number, what, low=0, bits=64):
    """Returns an int that a field of C holds, to which ctypes would cut it."""
    try:
        number = operator.index(number)
    except TypeError:
        raise TypeError(f"{what} must be an int, not {type(number).__name__}") from None
    if not low <= number < 1 << bits:
        raise OverflowError(f"{what} is at least {low} and less than 2**{bits}")
    return number


def integer(number):
    """Returns an int that TSL holds."""
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError(f"an int of TSL has 64 bits, and this one needs {number.bit_length() + 1}")
    return number


def require_callable(function, what):
    """Refuses what cannot be called."""
    if not callable(function):
        raise TypeError(f"{what} must be callable, and {type(function).__name__} is not")


def options(given):
    """Makes an array of Option of a dict, and what must outlive it. True and False are "on" and "off"."""
    texts = []
    for name, value in given.items():
        if isinstance(value, bool):
            value = "on" if value else "off"
        elif isinstance(value, (int, os.PathLike)):
            value = str(value)
        texts.append((string(name, "the name of an option"), string(value, f"option {name!r}")))
    return (Option * len(texts))(*(Option(name, value) for (name, _), (value, _) in texts)), texts


Write = CFUNCTYPE(None, c_void_p, String)
Release = CFUNCTYPE(None, c_void_p)
LoadModule = CFUNCTYPE(c_bool, c_void_p, String, String, Write, c_void_p)
Allocate = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)
Deallocate = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
RunTasks = CFUNCTYPE(None, c_void_p, c_uint32, CFUNCTYPE(None, c_void_p, c_uint32), c_void_p)
Native = CFUNCTYPE(c_int, EngineHandle, c_void_p, POINTER(ValueHandle), c_size_t, POINTER(ValueHandle))


class Option(Structure):
    _fields_ = [("name", String), ("value", String)]


class Config(Structure):
    _fields_ = [("struct_size", c_size_t), ("capabilities", c_uint32), ("threads", c_uint32), ("device", String),
                ("memory_limit", c_uint64), ("source_limit", c_uint64), ("step_limit", c_uint64), ("time_limit", c_double),
                ("seed", c_uint64), ("output", Write), ("diagnostics", Write), ("user", c_void_p),
                ("host_memory_limit", c_uint64), ("element_limit", c_uint64), ("depth_limit", c_uint32),
                ("load_module", LoadModule), ("allocate", Allocate), ("deallocate", Deallocate), ("run_tasks", RunTasks),
                ("logs", String), ("options", POINTER(Option)), ("option_count", c_size_t),
                ("stack_limit", c_size_t), ("rank", c_uint32), ("ranks", c_uint32), ("local_rank", c_uint32),
                ("local_ranks", c_uint32), ("rendezvous", String), ("progress", Write)]


class ErrorInfo(Structure):
    _fields_ = [("kind", c_int), ("message", String), ("file", String), ("line", c_uint32), ("column", c_uint32),
                ("end_column", c_uint32), ("frames", c_size_t), ("hints", c_size_t), ("notes", c_size_t)]


class FrameInfo(Structure):
    _fields_ = [("function", String), ("file", String), ("line", c_uint32)]


class TensorType(Structure):
    _fields_ = [("dtype", c_int), ("rank", c_int32), ("shape", c_int64 * MAX_RANK), ("strides", c_int64 * MAX_RANK),
                ("is_strided", c_bool), ("bytes", c_uint64)]


class FunctionInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("signature", String), ("doc", String), ("call", Native), ("derivative", Native),
                ("is_pure", c_bool), ("user", c_void_p), ("release", Release)]


_ENGINE, _VALUE, _RESULT, _STRING = EngineHandle, ValueHandle, POINTER(ValueHandle), POINTER(String)
_VALUES, _STRINGS, _TYPE = POINTER(ValueHandle), POINTER(String), POINTER(TensorType)
# What each function takes, in the order of tsl.h; all but tsl_version return a status.
FUNCTIONS = {
    "config_init_sized": [POINTER(Config), c_size_t],
    "engine_create": [POINTER(Config), POINTER(EngineHandle)],
    "engine_destroy": [_ENGINE],
    "engine_set_user": [_ENGINE, c_void_p],
    "engine_get_user": [_ENGINE, POINTER(c_void_p)],
    "interrupt": [_ENGINE],
    "cancel_interrupt": [_ENGINE],
    "run": [_ENGINE, String, String, _RESULT],
    "run_file": [_ENGINE, String, _RESULT],
    "get": [_ENGINE, String, _RESULT],
    "set": [_ENGINE, String, _VALUE],
    "call": [_ENGINE, _VALUE, _VALUES, c_size_t, _RESULT],
    "call_numbers": [_ENGINE, _VALUE, POINTER(c_double), c_size_t, POINTER(c_double)],
    "call_named": [_ENGINE, _VALUE, _VALUES, c_size_t, _STRINGS, c_size_t, _RESULT],
    "get_error": [_ENGINE, POINTER(ErrorInfo)],
    "get_error_name": [_ENGINE, _STRING],
    "get_exit_code": [_ENGINE, POINTER(c_int32)],
    "get_frame": [_ENGINE, c_size_t, POINTER(FrameInfo)],
    "get_hint": [_ENGINE, c_size_t, _STRING],
    "get_note": [_ENGINE, c_size_t, _STRING],
    "get_error_text": [_ENGINE, _STRING],
    "get_error_json": [_ENGINE, _STRING],
    "profile_start": [_ENGINE],
    "profile_stop": [_ENGINE, _STRING],
    "profile_text": [_ENGINE, _STRING],
    "write_reports": [_ENGINE],
    "explain": [_ENGINE, _VALUE, _STRING],
    "explain_json": [_ENGINE, _STRING],
    "memory_json": [_ENGINE, String, _STRING],
    "check": [_ENGINE, String, String, _STRING],
    "complete": [_ENGINE, String, c_size_t, _STRING],
    "is_complete": [_ENGINE, String, POINTER(c_bool)],
    "format": [_ENGINE, String, String, _STRING],
    "new_nil": [_ENGINE, _RESULT],
    "new_bool": [_ENGINE, c_bool, _RESULT],
    "new_int": [_ENGINE, c_int64, _RESULT],
    "new_float": [_ENGINE, c_double, _RESULT],
    "new_complex": [_ENGINE, c_double, c_double, _RESULT],
    "new_string": [_ENGINE, String, _RESULT],
    "new_list": [_ENGINE, _VALUES, c_size_t, _RESULT],
    "new_tuple": [_ENGINE, _VALUES, c_size_t, _RESULT],
    "new_record": [_ENGINE, _STRINGS, _VALUES, c_size_t, _RESULT],
    "new_map": [_ENGINE, _VALUES, _VALUES, c_size_t, _RESULT],
    "retain": [_ENGINE, _VALUE, _RESULT],
    "release": [_ENGINE, _VALUE],
    "scope_begin": [_ENGINE],
    "scope_end": [_ENGINE, _VALUE],
    "get_kind": [_ENGINE, _VALUE, POINTER(c_int)],
    "get_bool": [_ENGINE, _VALUE, POINTER(c_bool)],
    "get_int": [_ENGINE, _VALUE, POINTER(c_int64)],
    "get_float": [_ENGINE, _VALUE, POINTER(c_double)],
    "get_complex": [_ENGINE, _VALUE, POINTER(c_double), POINTER(c_double)],
    "get_string": [_ENGINE, _VALUE, _STRING],
    "get_length": [_ENGINE, _VALUE, POINTER(c_size_t)],
    "get_item": [_ENGINE, _VALUE, c_size_t, _RESULT],
    "get_key": [_ENGINE, _VALUE, c_size_t, _STRING],
    "get_map_key": [_ENGINE, _VALUE, c_size_t, _RESULT],
    "get_map_value": [_ENGINE, _VALUE, _VALUE, _RESULT],
    "get_field": [_ENGINE, _VALUE, String, _RESULT],
    "to_text": [_ENGINE, _VALUE, _STRING],
    "display": [_ENGINE, _VALUE, _STRING],
    "tensor_wrap": [_ENGINE, _TYPE, c_void_p, c_int, Release, c_void_p, _RESULT],
    "tensor_unwrap": [_ENGINE, _VALUE],
    "tensor_copy": [_ENGINE, _TYPE, c_void_p, _RESULT],
    "tensor_get_type": [_ENGINE, _VALUE, _TYPE],
    "tensor_read": [_ENGINE, _VALUE, c_void_p, c_size_t],
    "tensor_read_into": [_ENGINE, _VALUE, _TYPE, c_void_p],
    "tensor_map": [_ENGINE, _VALUE, POINTER(c_void_p)],
    "engine_set_stream": [_ENGINE, String, c_ssize_t],
    "engine_get_stream": [_ENGINE, String, POINTER(c_ssize_t)],
    "tensor_wrap_device": [_ENGINE, String, _TYPE, c_void_p, c_int, c_ssize_t, Release, c_void_p, _RESULT],
    "tensor_map_device": [_ENGINE, _VALUE, c_ssize_t, POINTER(c_void_p), _STRING],
    "tensor_from_dlpack": [_ENGINE, c_void_p, c_int, c_ssize_t, _RESULT],
    "tensor_from_dlpack_unversioned": [_ENGINE, c_void_p, c_int, c_ssize_t, _RESULT],
    "tensor_to_dlpack": [_ENGINE, _VALUE, c_int, c_ssize_t, POINTER(c_void_p)],
    "tensor_to_dlpack_unversioned": [_ENGINE, _VALUE, c_int, c_ssize_t, POINTER(c_void_p)],
    "define_type": [_ENGINE, c_void_p, String],
    "new_foreign": [_ENGINE, c_void_p, c_void_p, Release, _RESULT],
    "get_foreign": [_ENGINE, _VALUE, c_void_p, POINTER(c_void_p)],
    "function_init_sized": [POINTER(FunctionInfo), c_size_t],
    "define_function": [_ENGINE, POINTER(FunctionInfo)],
    "define": [_ENGINE, String, String, Native, c_void_p, Release],
    "fail": [_ENGINE, c_int, String],
}


def _path():
    here = os.path.dirname(os.path.abspath(__file__))
    packaged = os.path.join(here, "lib", "libtsl.so")
    return os.environ.get("TSL_LIBRARY") or (packaged if os.path.exists(packaged) else "libtsl.so.0.1")


_library = ctypes.CDLL(_path())
_library.tsl_version.restype = c_uint32
_number = _library.tsl_version()
version = f"{_number >> 16}.{_number >> 8 & 255}.{_number & 255}"
if _number >> 8 != 0 << 8 | 1:
    raise ImportError(f"this package needs libtsl 0.1, and {_path()} is {version}")


class _Calls:
    """The functions of libtsl.so, without `tsl_` in front."""


calls = _Calls()
for _name, _arguments in FUNCTIONS.items():
    _function = getattr(_library, "tsl_" + _name)
    _function.argtypes = _arguments
    _function.restype = c_int
    setattr(calls, _name, _function)


def _extension():
    """Loads the module in C++ that makes the calls which programs repeat; it lies beside libtsl.so. None: ctypes makes all."""
    path = os.path.join(os.path.dirname(_path()), "_fast.abi3.so")
    if os.environ.get("TSL_CTYPES") or not os.path.exists(path):
        return None
    loader = importlib.machinery.ExtensionFileLoader("tsl._fast", path)
    try:
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tsl._fast", loader))
        loader.exec_module(module)
        if module.version != _number >> 8:
            return None
        module.set_library({name: ctypes.cast(getattr(calls, name), c_void_p).value for name in FUNCTIONS}, ValueHandle)
    except ImportError:  # of another machine, or in a second interpreter of the process
        return None
    return module


fast = _extension()


Frame = collections.namedtuple("Frame", ("function", "file", "line"))


class Error(Exception):
    """Why a call failed. str() of it is what the program `tsl` shows.

    kind: "shape", "type", ...; name: "shape-mismatch", ...: docs/errors.md lists all; message: one sentence.
    file, line, column: where, counted from 1; None if no place is known.
    frames: the calls that led there, the innermost first: the calling `function`, `file` and `line` of each.
    Of more than 1,000 the 500 innermost and the 500 outermost.
    hints, notes: what may help, as sentences.
    exit_code: of an error of the kind "exit", what the script gave to exit().
    """

    def __init__(self, kind, message, file=None, line=None, column=None, text=None, frames=(), hints=(), notes=(),
                 name="misuse", exit_code=0):
        super().__init__(text or message)
        self.kind, self.name, self.message, self.file, self.line, self.column = kind, name, message, file, line, column
        self.frames, self.hints, self.notes = tuple(frames), tuple(hints), tuple(notes)
        self.exit_code = exit_code

    def __reduce__(self):
        return _error_again, (str(self), self.__dict__)

    @classmethod
    def of(cls, engine, status):
        """Reads the error of the engine's last call that failed, or of this thread's, if the engine has none."""
        info, text, details, exit_code = ErrorInfo(), String(), String(), c_int32()
        if calls.get_error(engine, byref(info)) != OK or info.kind != status:
            engine = EngineHandle(0)
            calls.get_error(engine, byref(info))
        calls.get_error_text(engine, byref(text))
        calls.get_error_json(engine, byref(details))
        calls.get_exit_code(engine, byref(exit_code))
        more = json.loads(str(details))
        frames = [Frame(each["function"], each["file"], each["line"]) for each in more["frames"]]
        return cls(KIND_NAMES.get(status, "internal"), str(info.message), str(info.file) or None, info.line or None,
                   info.column or None, str(text).rstrip("\n"), frames, more["hints"], more["notes"],
                   more["name"], exit_code.value)


def _error_again(text, fields):
    """Makes an error of what was pickled or copied."""
    error = Error(fields["kind"], fields["message"], text=text)
    error.__dict__.update(fields)
    return error
