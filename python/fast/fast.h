// What the files of the extension share: the functions of libtsl, the names of the package's attributes, and the parts
// of a call. Functions return false, or null, with an error of Python set.
#pragma once

#define Py_LIMITED_API 0x03080000  // one file for Python 3.8 and all later ones
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <tsl/tsl.h>

struct Library {
#define X(name) decltype(&tsl_##name) name;
#include "functions.def"
#undef X
};
extern Library library;

struct Names {
#define X(name, text) PyObject* name;
#include "names.def"
#undef X
};
extern Names names;

/// The use of an engine by one thread, also within itself.
struct Use {
  PyObject ob_base;
  unsigned long owner;
  long depth;
  PyObject* refuse;  // raises the error for another thread
};

/// The base of engines, with the attributes that calls need.
struct Engine {
  PyObject ob_base;
  unsigned long long id;
  PyObject *use, *released, *types, *cause, *ending;
  char is_interrupted;
};

/// The base of references to values.
struct Reference {
  PyObject ob_base;
  unsigned long long id;
  PyObject *engine, *described;
};

inline Engine* engine_of(PyObject* object) { return reinterpret_cast<Engine*>(object); }
inline tsl_engine handle_of(PyObject* engine) { return {engine_of(engine)->id}; }
inline Reference* reference_of(PyObject* object) { return reinterpret_cast<Reference*>(object); }

// Classes of the package, its queue of capsules, and the base of all references, which is defined here.
extern PyObject *value_handle, *tensor_type, *function_type, *given, *release_untaken;
extern PyTypeObject *reference_type, *engine_type;

bool make_types(PyObject* module);

/// Reads the field `id` of a handle.
bool read_id(PyObject* handle, uint64_t* id);
PyObject* make_handle(tsl_value value);
/// Raises the error of a call that has failed.
bool raise(PyObject* engine, tsl_status status);
PyObject* raise_null(PyObject* engine, tsl_status status);

/// Begins the use of an engine by this thread; an error if another one uses it.
bool begin_use(PyObject* engine);
/// Ends it, and returns the result.
PyObject* end_use(PyObject* engine, PyObject* result);

struct Watched {
  bool is_watched = false;
  int previous = -1;  // the file descriptor of signals
};
/// Whether the watcher of signals is there, or this thread needs none.
bool can_watch();
/// Begins to watch a run of the main thread, as _Watcher.begin() of the package does.
bool begin_watch(PyObject* engine, Watched* watched);
/// Ends it. Raises what has ended the run and is no error of the script.
bool end_watch(PyObject* engine, tsl_engine handle, const Watched& watched);
PyObject* set_watcher(PyObject* module, PyObject* arguments);
PyObject* set_main_thread(PyObject* module, PyObject* ident);

PyObject* call_function(PyObject* engine, tsl_value function, PyObject* arguments, PyObject* named);
PyObject* get_variable(PyObject* module, PyObject* arguments);
/// Returns the only element of a tensor; NotImplemented if there are more, or Python has no such number.
PyObject* read_only_element(PyObject* self, PyObject* arguments);
