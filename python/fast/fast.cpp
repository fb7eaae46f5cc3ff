// Calls functions of TSL for the package `tsl`, which otherwise does so by ctypes: the calls that programs repeat.
// Everything else, and what is rare in these, are methods of the package's classes. Nothing here has a destructor:
// Python ends a daemon thread by pthread_exit() while it waits for the interpreter's lock.
#include "fast.h"

namespace {

constexpr size_t kMostArguments = 8;  // of a call that is made here

struct Call {
  PyObject* engine;
  tsl_engine handle;
  tsl_value arguments[kMostArguments];
  bool is_made[kMostArguments];  // for this call, and is released after it
  size_t count = 0;
  tsl_string names[kMostArguments];
  PyObject* texts[kMostArguments];  // of the names
  size_t named = 0;
};

bool make_text(const Call& call, PyObject* value, tsl_value* result, tsl_status* status) {
  PyObject* const text = PyUnicode_AsUTF8String(value);
  if (!text) {
    PyErr_Clear();  // the package raises it
    return false;
  }
  *status = library.new_string(call.handle, {PyBytes_AsString(text), static_cast<size_t>(PyBytes_Size(text))}, result);
  Py_DECREF(text);
  return true;
}

/// Makes a simple value of TSL. Returns false if the package has to, with no error set.
bool make_simple(const Call& call, PyObject* value, tsl_value* result, tsl_status* status) {
  if (value == Py_None) {
    *status = library.new_nil(call.handle, result);
  } else if (value == Py_True || value == Py_False) {
    *status = library.new_bool(call.handle, value == Py_True, result);
  } else if (PyFloat_CheckExact(value)) {
    *status = library.new_float(call.handle, PyFloat_AsDouble(value), result);
  } else if (PyLong_CheckExact(value)) {
    int is_too_large = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &is_too_large);
    if (is_too_large) return false;
    *status = library.new_int(call.handle, number, result);
  } else {
    return PyUnicode_CheckExact(value) && make_text(call, value, result, status);
  }
  return true;
}

/// Returns whether objects of the type of a value are values of the program: engine.type().
bool is_foreign(PyObject* engine, PyObject* value) {
  PyObject* const types = engine_of(engine)->types;
  return types && PyDict_Size(types) > 0 && PyDict_GetItem(types, reinterpret_cast<PyObject*>(Py_TYPE(value)));
}

/// Whether a value is a reference of the call's engine, whose handle needs no other one during the call.
bool is_of_engine(PyObject* engine, PyObject* value) {
  return PyObject_TypeCheck(value, reference_type) && reference_of(value)->engine == engine;
}

bool add_argument(Call& call, PyObject* value) {
  tsl_value* const place = &call.arguments[call.count];
  bool* const is_made = &call.is_made[call.count];
  tsl_status status = TSL_OK;
  if (is_of_engine(call.engine, value)) {
    *is_made = false;
    place->id = reference_of(value)->id;
  } else if (*is_made = true; is_foreign(call.engine, value) || !make_simple(call, value, place, &status)) {
    PyObject* const handle = PyObject_CallMethodObjArgs(call.engine, names.to_handle, value, nullptr);
    const bool is_read = handle && read_id(handle, &place->id);
    Py_XDECREF(handle);
    if (!is_read) return false;
  } else if (status != TSL_OK) {
    return raise(call.engine, status);
  }
  ++call.count;
  return true;
}

bool add_named(Call& call, PyObject* named) {
  Py_ssize_t position = 0;
  PyObject *name = nullptr, *value = nullptr;
  while (PyDict_Next(named, &position, &name, &value)) {
    PyObject* const text = PyUnicode_AsUTF8String(name);
    if (!text) return false;
    call.texts[call.named] = text;
    call.names[call.named++] = {PyBytes_AsString(text), static_cast<size_t>(PyBytes_Size(text))};
    if (!add_argument(call, value)) return false;
  }
  return true;
}

bool add_arguments(Call& call, PyObject* arguments, PyObject* named) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(arguments); ++i) {
    if (!add_argument(call, PyTuple_GetItem(arguments, i))) return false;
  }
  return !named || add_named(call, named);
}

void release_arguments(Call& call) {
  for (size_t i = 0; i < call.count; ++i) {
    if (call.is_made[i]) library.release(call.handle, call.arguments[i]);
  }
  for (size_t i = 0; i < call.named; ++i) Py_DECREF(call.texts[i]);
}

/// Makes a reference of Python to a tensor or a function, and takes over the handle.
PyObject* make_reference(PyObject* engine, PyObject* type, tsl_value value, PyObject* described) {
  PyObject* const made = PyType_GenericNew(reinterpret_cast<PyTypeObject*>(type), nullptr, nullptr);
  if (!made) return nullptr;
  Reference& reference = *reference_of(made);
  reference.engine = engine;
  reference.id = value.id;
  reference.described = described;
  Py_INCREF(engine);
  Py_XINCREF(described);
  return made;
}

PyObject* make_tensor(PyObject* engine, tsl_engine handle, tsl_value value) {
  tsl_tensor_type type;
  const tsl_status status = library.tensor_get_type(handle, value, &type);
  if (status != TSL_OK) return raise_null(engine, status);
  PyObject* const described = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&type), sizeof type);
  PyObject* const made = described ? make_reference(engine, tensor_type, value, described) : nullptr;
  Py_XDECREF(described);
  return made;
}

/// Reads a simple value; null without an error if it is none.
PyObject* read_simple(PyObject* engine, tsl_engine handle, tsl_value value, tsl_kind kind) {
  bool truth = false;
  int64_t whole = 0;
  double number = 0;
  tsl_string text = {};
  switch (kind) {
    case TSL_KIND_NIL: Py_RETURN_NONE;
    case TSL_KIND_BOOL:
      if (const tsl_status status = library.get_bool(handle, value, &truth)) return raise_null(engine, status);
      return PyBool_FromLong(truth);
    case TSL_KIND_INT:
      if (const tsl_status status = library.get_int(handle, value, &whole)) return raise_null(engine, status);
      return PyLong_FromLongLong(whole);
    case TSL_KIND_FLOAT:
      if (const tsl_status status = library.get_float(handle, value, &number)) return raise_null(engine, status);
      return PyFloat_FromDouble(number);
    case TSL_KIND_STRING:
      if (const tsl_status status = library.get_string(handle, value, &text)) return raise_null(engine, status);
      return PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.length), nullptr);
    default: return nullptr;
  }
}

/// Makes a value of Python, and takes over the handle.
PyObject* to_python(PyObject* engine, tsl_engine handle, tsl_value value) {
  tsl_kind kind = TSL_KIND_NIL;
  if (const tsl_status status = library.get_kind(handle, value, &kind)) return raise_null(engine, status);
  if (kind == TSL_KIND_TENSOR) return make_tensor(engine, handle, value);
  if (kind == TSL_KIND_FUNCTION) return make_reference(engine, function_type, value, nullptr);
  PyObject* made = read_simple(engine, handle, value, kind);
  if (made || PyErr_Occurred()) {
    library.release(handle, value);
    return made;
  }
  PyObject* const reference = make_handle(value);
  if (!reference) return nullptr;
  made = PyObject_CallMethodObjArgs(engine, names.to_python, reference, nullptr);
  Py_DECREF(reference);
  return made;
}

/// Does what the engine could not do while another thread used it.
bool catch_up(PyObject* engine) {
  Engine& state = *engine_of(engine);
  Py_CLEAR(state.cause);
  if (PyObject_Size(state.released) == 0 && PyObject_Size(given) == 0) return true;
  PyObject* const done = PyObject_CallMethodObjArgs(engine, names.catch_up, nullptr);
  Py_XDECREF(done);
  return done;
}

/// Calls the function, watched for signals. Returns the result; null with an error.
PyObject* run(Call& call, tsl_value function) {
  if (!catch_up(call.engine)) return nullptr;
  tsl_value result = {};
  Watched watched;
  if (!begin_watch(call.engine, &watched)) return nullptr;
  PyThreadState* const state = PyEval_SaveThread();
  const tsl_status status =
      library.call_named(call.handle, function, call.arguments, call.count, call.names, call.named, &result);
  PyEval_RestoreThread(state);
  if (end_watch(call.engine, call.handle, watched)) {
    if (status != TSL_OK) return raise_null(call.engine, status);
    return to_python(call.engine, call.handle, result);
  }
  if (status == TSL_OK) library.release(call.handle, result);
  return nullptr;
}

}  // namespace

namespace {

/// Calls a function as the package does without this extension.
PyObject* call_by_ctypes(PyObject* engine, tsl_value function, PyObject* arguments, PyObject* named) {
  PyObject* const handle = make_handle(function);
  if (!handle) return nullptr;
  PyObject* const result =
      PyObject_CallMethodObjArgs(engine, names.call_by_ctypes, handle, arguments, named ? named : Py_None, nullptr);
  Py_DECREF(handle);
  return result;
}

}  // namespace

PyObject* call_function(PyObject* engine, tsl_value function, PyObject* arguments, PyObject* named) {
  const Py_ssize_t count = PyTuple_Size(arguments) + (named ? PyDict_Size(named) : 0);
  if (count > static_cast<Py_ssize_t>(kMostArguments) || !can_watch())
    return call_by_ctypes(engine, function, arguments, named);
  Call call;
  call.engine = engine;
  call.handle = handle_of(engine);
  if (!begin_use(engine)) return nullptr;
  PyObject* const result = add_arguments(call, arguments, named) ? run(call, function) : nullptr;
  release_arguments(call);
  return end_use(engine, result);
}

PyObject* get_variable(PyObject*, PyObject* arguments) {
  PyObject *engine = nullptr, *name = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!O", engine_type, &engine, &name)) return nullptr;
  PyObject* const text = PyUnicode_AsUTF8String(name);
  const tsl_engine handle = handle_of(engine);
  PyObject* result = nullptr;
  if (text && begin_use(engine)) {
    tsl_value value = {};
    const tsl_string wanted = {PyBytes_AsString(text), static_cast<size_t>(PyBytes_Size(text))};
    const tsl_status status = library.get(handle, wanted, &value);
    result = status == TSL_OK ? to_python(engine, handle, value) : raise_null(engine, status);
    result = end_use(engine, result);
  }
  Py_XDECREF(text);
  return result;
}

namespace {

/// Makes a number of Python of an element; NotImplemented for dtypes that C++ does not have.
PyObject* number_of(tsl_dtype dtype, const unsigned char* data) {
  const auto read = [data](auto number) {
    memcpy(&number, data, sizeof number);
    return number;
  };
  switch (dtype) {
    case TSL_DTYPE_BOOL: return PyBool_FromLong(data[0]);
    case TSL_DTYPE_U8: return PyLong_FromLong(data[0]);
    case TSL_DTYPE_I8: return PyLong_FromLong(read(int8_t{}));
    case TSL_DTYPE_I16: return PyLong_FromLong(read(int16_t{}));
    case TSL_DTYPE_I32: return PyLong_FromLong(read(int32_t{}));
    case TSL_DTYPE_I64: return PyLong_FromLongLong(read(int64_t{}));
    case TSL_DTYPE_U16: return PyLong_FromLong(read(uint16_t{}));
    case TSL_DTYPE_U32: return PyLong_FromUnsignedLong(read(uint32_t{}));
    case TSL_DTYPE_U64: return PyLong_FromUnsignedLongLong(read(uint64_t{}));
    case TSL_DTYPE_F32: return PyFloat_FromDouble(read(float{}));
    case TSL_DTYPE_F64: return PyFloat_FromDouble(read(double{}));
    default: Py_RETURN_NOTIMPLEMENTED;
  }
}

size_t item_size(tsl_dtype dtype) {
  switch (dtype) {
    case TSL_DTYPE_BOOL:
    case TSL_DTYPE_U8:
    case TSL_DTYPE_I8: return 1;
    case TSL_DTYPE_I16:
    case TSL_DTYPE_U16: return 2;
    case TSL_DTYPE_I32:
    case TSL_DTYPE_U32:
    case TSL_DTYPE_F32: return 4;
    case TSL_DTYPE_I64:
    case TSL_DTYPE_U64:
    case TSL_DTYPE_F64: return 8;
    default: return 0;
  }
}

PyObject* read_element(PyObject* engine, tsl_engine handle, tsl_value value) {
  tsl_tensor_type type;
  if (const tsl_status status = library.tensor_get_type(handle, value, &type)) return raise_null(engine, status);
  const size_t size = item_size(type.dtype);
  int64_t count = 1;
  for (int32_t i = 0; i < type.rank; ++i) count *= type.shape[i];
  if (count != 1 || size == 0) Py_RETURN_NOTIMPLEMENTED;
  unsigned char data[8];
  PyThreadState* const state = PyEval_SaveThread();  // a GPU may still compute it
  const tsl_status status = library.tensor_read(handle, value, data, size);
  PyEval_RestoreThread(state);
  return status == TSL_OK ? number_of(type.dtype, data) : raise_null(engine, status);
}

}  // namespace

PyObject* read_only_element(PyObject* self, PyObject*) {
  PyObject* const engine = reference_of(self)->engine;
  if (!engine) Py_RETURN_NOTIMPLEMENTED;
  if (!begin_use(engine)) return nullptr;
  return end_use(engine, read_element(engine, handle_of(engine), {reference_of(self)->id}));
}
