// The module that the package loads.
#include <initializer_list>

#include "fast.h"

Library library;
Names names;
PyObject *value_handle, *tensor_type, *function_type, *given, *release_untaken;

bool read_id(PyObject* handle, uint64_t* id) {
  PyObject* const number = PyObject_GetAttr(handle, names.id);
  if (!number) return false;
  *id = PyLong_AsUnsignedLongLong(number);
  Py_DECREF(number);
  return *id != UINT64_MAX || !PyErr_Occurred();
}

PyObject* make_handle(tsl_value value) {
  return PyObject_CallFunction(value_handle, "K", static_cast<unsigned long long>(value.id));
}

bool raise(PyObject* engine, tsl_status status) {
  PyObject* const number = PyLong_FromLong(status);
  Py_XDECREF(number ? PyObject_CallMethodObjArgs(engine, names.check, number, nullptr) : nullptr);
  Py_XDECREF(number);
  return false;
}

PyObject* raise_null(PyObject* engine, tsl_status status) {
  raise(engine, status);
  return nullptr;
}

namespace {

/// call(engine, handle, arguments, named)
PyObject* call(PyObject*, PyObject* arguments) {
  PyObject *engine = nullptr, *handle = nullptr, *values = nullptr, *named = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!OO!O!", engine_type, &engine, &handle, &PyTuple_Type, &values, &PyDict_Type,
                        &named))
    return nullptr;
  tsl_value function;
  return read_id(handle, &function.id) ? call_function(engine, function, values, named) : nullptr;
}

/// set_library({"call_named": address, …}, ValueHandle)
PyObject* set_library(PyObject*, PyObject* arguments) {
  static bool is_known = false;
  if (is_known) return PyErr_Format(PyExc_ImportError, "another interpreter of this process uses the module");
  is_known = true;
  PyObject* addresses = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!O", &PyDict_Type, &addresses, &value_handle)) return nullptr;
  Py_INCREF(value_handle);
#define X(name)                                                                         \
  if (PyObject* const address = PyDict_GetItemString(addresses, #name))                 \
    library.name = reinterpret_cast<decltype(library.name)>(PyLong_AsVoidPtr(address)); \
  if (!library.name) return PyErr_Format(PyExc_ImportError, "libtsl has no tsl_" #name);
#include "functions.def"
#undef X
  Py_RETURN_NONE;
}

/// set_classes(Tensor, Function, capsules, release_untaken)
PyObject* set_classes(PyObject*, PyObject* arguments) {
  if (!PyArg_ParseTuple(arguments, "OOOO", &tensor_type, &function_type, &given, &release_untaken)) return nullptr;
  for (PyObject* each : {tensor_type, function_type, given, release_untaken}) Py_INCREF(each);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"call", call, METH_VARARGS, nullptr},
    {"get", get_variable, METH_VARARGS, nullptr},
    {"set_library", set_library, METH_VARARGS, nullptr},
    {"set_classes", set_classes, METH_VARARGS, nullptr},
    {"set_watcher", set_watcher, METH_VARARGS, nullptr},
    {"set_main_thread", set_main_thread, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_fast",
                          "Calls of the package tsl in C.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

bool make_names() {
#define X(name, text) \
  if (!(names.name = PyUnicode_InternFromString(text))) return false;
#include "names.def"
#undef X
  return true;
}

}  // namespace

PyMODINIT_FUNC PyInit__fast() {
  PyObject* const module = PyModule_Create(&definition);
  if (!module || !make_names()) return nullptr;
  if (!make_types(module) || PyModule_AddIntConstant(module, "version", TSL_VERSION_MAJOR << 8 | TSL_VERSION_MINOR) < 0)
    return nullptr;
  return module;
}
