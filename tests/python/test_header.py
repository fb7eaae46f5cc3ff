"""Compares the declarations of tsl/_library.py with those of include/tsl/tsl.h: names, types, fields and enumerators."""
import ctypes
import os
import re
import unittest
from ctypes import POINTER, c_bool, c_double, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p

from tsl import _library as lib

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include", "tsl", "tsl.h")) as file:
    HEADER = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)

STRUCTS = {"tsl_engine": lib.EngineHandle, "tsl_value": lib.ValueHandle, "tsl_string": lib.String, "tsl_option": lib.Option,
           "tsl_config": lib.Config, "tsl_error": lib.ErrorInfo, "tsl_frame": lib.FrameInfo, "tsl_tensor_type": lib.TensorType,
           "tsl_function": lib.FunctionInfo}
CALLBACKS = {"tsl_write": lib.Write, "tsl_load_module": lib.LoadModule, "tsl_allocate": lib.Allocate,
             "tsl_deallocate": lib.Deallocate, "tsl_run_tasks": lib.RunTasks, "tsl_native": lib.Native,
             "tsl_release_function": lib.Release}
ENUMERATIONS = {"tsl_status": "TSL_", "tsl_kind": "TSL_KIND_", "tsl_dtype": "TSL_DTYPE_", "tsl_capability": "TSL_ALLOW_",
                "tsl_access": "TSL_"}
OTHERS = {"void": None, "bool": c_bool, "double": c_double, "size_t": c_size_t, "int32_t": c_int32, "int64_t": c_int64,
          "uint32_t": c_uint32, "uint64_t": c_uint64, "tsl_stream": c_ssize_t, "tsl_type": c_void_p}


def type_of(text):
    """Returns the type of ctypes for one of C."""
    text = re.sub(r"\b(const|struct)\b", "", text).replace(" ", "")
    if text in ("void*", "char*") or re.fullmatch(r"DLManagedTensor\w*\*", text):
        return c_void_p
    if text.endswith("*"):
        return POINTER(type_of(text[:-1]))
    return c_int if text in ENUMERATIONS else {**STRUCTS, **CALLBACKS, **OTHERS}[text]


def split(text):
    """Splits parameters at the commas that are in no parentheses."""
    return re.split(r",(?![^()]*\))", text)


def declared(text):
    """Returns the name and the type of a declaration, such as `int64_t shape[TSL_MAX_RANK]`."""
    text = " ".join(text.split())
    callback = re.fullmatch(r"void \(\*(\w+)\)\((.*)\)", text)
    if callback:
        return callback[1], signature("void", callback[2])
    kind, name, count = re.fullmatch(r"(.*?)(\w+)(?:\[(\w+)\])?", text).groups()
    return name, type_of(kind) * lib.MAX_RANK if count else type_of(kind)


def signature(result, parameters):
    """Returns the types of a result and of parameters, for comparing."""
    return type_of(result), *(declared(each)[1] for each in split(parameters) if each != "void")


def described(kind):
    """Returns a callback's type as signature() does, and any other as it is."""
    if isinstance(kind, type) and issubclass(kind, ctypes._CFuncPtr) and kind not in CALLBACKS.values():
        return kind._restype_, *map(described, kind._argtypes_)
    return kind


def enumerators(name):
    """Returns the enumerators of an enumeration and their values."""
    body = re.search(r"typedef enum %s TSL_ANY_INT \{(.*?)\} %s;" % (name, name), HEADER, re.S)[1]
    values, following = {}, 0
    for each in filter(None, map(str.strip, body.split(","))):
        key, _, number = each.partition(" = ")
        values[key[len(ENUMERATIONS[name]):].lower()] = following = int(number or following)
        following += 1
    return values


class Declarations(unittest.TestCase):
    def test_functions_have_the_parameters_of_the_header(self):
        functions = re.findall(r"TSL_API (\w+) tsl_(\w+)\((.*?)\);", HEADER, re.S)
        self.assertGreater(len(functions), 50)
        in_header = {name: signature(result, parameters) for result, name, parameters in functions}
        self.assertEqual(in_header.pop("version"), (c_uint32,))
        self.assertEqual(list(in_header), list(lib.FUNCTIONS))
        for name, arguments in lib.FUNCTIONS.items():
            self.assertEqual(in_header[name], (c_int, *arguments), name)

    def test_structs_have_the_fields_of_the_header_in_order(self):
        structs = dict(re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", HEADER, re.S))
        self.assertEqual(set(structs), set(STRUCTS))
        for name, body in structs.items():
            fields = [declared(each) for each in filter(None, map(str.strip, body.split(";")))]
            self.assertEqual(STRUCTS[name]._fields_, fields, name)

    def test_callbacks_have_the_parameters_of_the_header(self):
        callbacks = re.findall(r"typedef (\w+ \*?)\s*\(\*(tsl_\w+)\)\((.*?)\);", HEADER.replace("void*", "void *"), re.S)
        self.assertEqual({name for _, name, _ in callbacks}, set(CALLBACKS))
        for result, name, parameters in callbacks:
            known = CALLBACKS[name]
            self.assertEqual((known._restype_, *map(described, known._argtypes_)), signature(result, parameters), name)

    def test_enumerators_have_the_values_of_the_header(self):
        self.assertEqual(set(re.findall(r"typedef enum (\w+)", HEADER)), set(ENUMERATIONS))
        statuses = enumerators("tsl_status")
        self.assertEqual(statuses.pop("ok"), lib.OK)
        self.assertEqual({value: name for name, value in statuses.items()}, lib.KIND_NAMES)
        for name, value in enumerators("tsl_kind").items():
            self.assertEqual(getattr(lib, name.upper()), value)
        self.assertEqual(tuple(enumerators("tsl_dtype")), lib.DTYPE_NAMES)
        capabilities = enumerators("tsl_capability")
        self.assertEqual(capabilities, lib.CAPABILITIES)
        self.assertEqual(enumerators("tsl_access"), {"read_only": lib.READ_ONLY, "writable": lib.WRITABLE})
        self.assertIn(f"#define TSL_MAX_RANK {lib.MAX_RANK}\n", HEADER)
        self.assertIn(f"#define TSL_NO_STREAM ((tsl_stream){lib.NO_STREAM})\n", HEADER)


if __name__ == "__main__":
    unittest.main()
