// The types of the extension, from which the package's classes are derived.
#include <initializer_list>

#include "fast.h"

PyTypeObject *reference_type, *engine_type;

namespace {

/// Frees an object of a type that counts.
void free_object(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  const auto free = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  free(self);
  Py_DECREF(type);
}

// ---- Use ----

int init_use(PyObject* self, PyObject* arguments, PyObject*) {
  PyObject** const refuse = &reinterpret_cast<Use*>(self)->refuse;
  if (!PyArg_ParseTuple(arguments, "O", refuse)) return -1;
  Py_INCREF(*refuse);
  return 0;
}

void dealloc_use(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Use*>(self)->refuse);
  free_object(self);
}

bool try_enter(Use& use) {
  const unsigned long me = PyThread_get_thread_ident();
  if (use.depth > 0 && use.owner != me) return false;
  use.owner = me;
  ++use.depth;
  return true;
}

bool enter(PyObject* self) {
  Use& use = *reinterpret_cast<Use*>(self);
  if (try_enter(use)) return true;
  Py_XDECREF(PyObject_CallObject(use.refuse, nullptr));
  return false;
}

PyObject* enter_use(PyObject* self, PyObject*) {
  if (!enter(self)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* exit_use(PyObject* self, PyObject*) {
  --reinterpret_cast<Use*>(self)->depth;
  Py_RETURN_NONE;
}

PyMethodDef use_methods[] = {{"__enter__", enter_use, METH_NOARGS, nullptr},
                             {"__exit__", exit_use, METH_VARARGS, nullptr},
                             {nullptr, nullptr, 0, nullptr}};
PyType_Slot use_slots[] = {{Py_tp_init, reinterpret_cast<void*>(init_use)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_use)},
                           {Py_tp_methods, use_methods},
                           {0, nullptr}};
PyType_Spec use_spec = {"tsl._fast.Use", sizeof(Use), 0, Py_TPFLAGS_DEFAULT, use_slots};

// ---- Engines ----

int traverse_engine(PyObject* self, visitproc visit, void* arg) {
  for (PyObject* each : {engine_of(self)->use, engine_of(self)->released, engine_of(self)->types,
                         engine_of(self)->cause, engine_of(self)->ending})
    Py_VISIT(each);
  return 0;
}

int clear_engine(PyObject* self) {
  Py_CLEAR(engine_of(self)->use);
  Py_CLEAR(engine_of(self)->released);
  Py_CLEAR(engine_of(self)->types);
  Py_CLEAR(engine_of(self)->cause);
  Py_CLEAR(engine_of(self)->ending);
  return 0;
}

void dealloc_engine(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_engine(self);
  free_object(self);
}

PyMemberDef engine_members[] = {{"_id", T_ULONGLONG, offsetof(Engine, id), 0, nullptr},
                                {"_use", T_OBJECT_EX, offsetof(Engine, use), 0, nullptr},
                                {"_released", T_OBJECT_EX, offsetof(Engine, released), 0, nullptr},
                                {"_types", T_OBJECT_EX, offsetof(Engine, types), 0, nullptr},
                                {"_cause", T_OBJECT, offsetof(Engine, cause), 0, nullptr},
                                {"_ending", T_OBJECT, offsetof(Engine, ending), 0, nullptr},
                                {"_is_interrupted", T_BOOL, offsetof(Engine, is_interrupted), 0, nullptr},
                                {nullptr, 0, 0, 0, nullptr}};
PyType_Slot engine_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_engine)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_engine)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_engine)},
                              {Py_tp_members, engine_members},
                              {0, nullptr}};
constexpr unsigned kBase = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
PyType_Spec engine_spec = {"tsl._fast.EngineBase", sizeof(Engine), 0, kBase, engine_slots};

// ---- References ----

/// Releases a value: now, or before the engine's next call if another thread uses it.
void release_value(PyObject* engine, tsl_value value) {
  const tsl_engine owner = handle_of(engine);
  Use* const use = reinterpret_cast<Use*>(engine_of(engine)->use);
  if (owner.id == 0 || value.id == 0 || !use) return;
  if (try_enter(*use)) {
    const tsl_status status = library.release(owner, value);
    --use->depth;
    if (status != TSL_MISUSE) return;
  }
  PyObject* const handle = make_handle(value);
  PyObject* const released = engine_of(engine)->released;
  if (handle && released) Py_XDECREF(PyObject_CallMethodObjArgs(released, names.append, handle, nullptr));
  Py_XDECREF(handle);
}

/// Ends a reference. What fails fails in silence: nobody could do anything about it.
void finalize(PyObject* self) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* const engine = reference_of(self)->engine;
  if (engine) release_value(engine, {reference_of(self)->id});
  PyErr_Clear();
  if (given && PyObject_Size(given) > 0) Py_XDECREF(PyObject_CallObject(release_untaken, nullptr));
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

int traverse_reference(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reference_of(self)->engine);
  Py_VISIT(reference_of(self)->described);
  return 0;
}

int clear_reference(PyObject* self) {
  Py_CLEAR(reference_of(self)->engine);
  Py_CLEAR(reference_of(self)->described);
  return 0;
}

void dealloc_reference(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_reference(self);
  free_object(self);
}

/// function(*arguments, **named)
PyObject* call_reference(PyObject* self, PyObject* arguments, PyObject* named) {
  PyObject* const engine = reference_of(self)->engine;
  if (engine) return call_function(engine, {reference_of(self)->id}, arguments, named);
  PyErr_SetString(PyExc_TypeError, "the function belongs to no engine");
  return nullptr;
}

int set_engine(PyObject* self, PyObject* engine, void*) {
  if (!engine || !PyObject_TypeCheck(engine, engine_type)) {
    PyErr_SetString(PyExc_TypeError, "an engine is needed");
    return -1;
  }
  Py_INCREF(engine);
  Py_XDECREF(reference_of(self)->engine);
  reference_of(self)->engine = engine;
  return 0;
}

PyObject* get_engine(PyObject* self, void*) {
  PyObject* const engine = reference_of(self)->engine;
  if (!engine) PyErr_SetString(PyExc_AttributeError, "_engine");
  Py_XINCREF(engine);
  return engine;
}

PyMethodDef reference_methods[] = {{"_only_element", read_only_element, METH_NOARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};
PyMemberDef reference_members[] = {{"_id", T_ULONGLONG, offsetof(Reference, id), 0, nullptr},
                                   {"_described", T_OBJECT_EX, offsetof(Reference, described), 0, nullptr},
                                   {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef reference_properties[] = {{"_engine", get_engine, set_engine, nullptr, nullptr},
                                      {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot reference_slots[] = {{Py_tp_finalize, reinterpret_cast<void*>(finalize)},
                                 {Py_tp_traverse, reinterpret_cast<void*>(traverse_reference)},
                                 {Py_tp_clear, reinterpret_cast<void*>(clear_reference)},
                                 {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_reference)},
                                 {Py_tp_methods, reference_methods},
                                 {Py_tp_members, reference_members},
                                 {Py_tp_getset, reference_properties},
                                 {0, nullptr}};
PyType_Slot callable_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_reference)}, {0, nullptr}};
PyType_Spec reference_spec = {"tsl._fast.Reference", sizeof(Reference), 0, kBase, reference_slots};
PyType_Spec callable_spec = {"tsl._fast.Callable", sizeof(Reference), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             callable_slots};

bool add(PyObject* module, const char* name, PyObject* type) {
  if (!type) return false;
  Py_INCREF(type);
  return PyModule_AddObject(module, name, type) == 0;
}

}  // namespace

bool begin_use(PyObject* engine) {
  if (engine_of(engine)->use) return enter(engine_of(engine)->use);
  PyErr_SetString(PyExc_AttributeError, "the engine was never made");
  return false;
}

PyObject* end_use(PyObject* engine, PyObject* result) {
  --reinterpret_cast<Use*>(engine_of(engine)->use)->depth;
  return result;
}

bool make_types(PyObject* module) {
  reference_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&reference_spec));
  engine_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&engine_spec));
  PyObject* const bases = reference_type ? PyTuple_Pack(1, reference_type) : nullptr;
  PyObject* const callable = bases ? PyType_FromSpecWithBases(&callable_spec, bases) : nullptr;
  return callable && engine_type && add(module, "Reference", reinterpret_cast<PyObject*>(reference_type)) &&
         add(module, "EngineBase", reinterpret_cast<PyObject*>(engine_type)) && add(module, "Callable", callable) &&
         add(module, "Use", PyType_FromSpec(&use_spec));
}
