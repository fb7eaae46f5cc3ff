// Watches a run for signals, as the class _Watcher of the package does, whose thread interrupts the engine.
#include <initializer_list>

#include <unistd.h>

#include "fast.h"

namespace {

// The watcher of this process, with what its lock does, signal.set_wakeup_fd, and the arguments that give it the
// watcher's file descriptor; null before the first run, and in the child of a fork.
PyObject *watcher = nullptr, *acquire = nullptr, *release = nullptr, *set_wakeup = nullptr;
PyObject *wakeup = nullptr, *is_silent = nullptr;
PyObject *sys_names = nullptr, *hook = nullptr;  // of the module sys; the watcher's hook
int reader = -1, writer = -1;
unsigned long main_thread = 0;

bool is_main_thread() { return PyThread_get_thread_ident() == main_thread; }

/// Sets an attribute of the watcher to a new reference, which it takes over.
bool set(PyObject* name, PyObject* value) {
  const bool is_set = value && PyObject_SetAttr(watcher, name, value) == 0;
  Py_XDECREF(value);
  return is_set;
}

PyObject* counted(PyObject* value) {
  Py_XINCREF(value);
  return value;
}

/// Calls a function without arguments again until it returns: a handler of a signal may raise what then is raised at
/// the end.
bool call_surely(PyObject* function) {
  bool has_raised = false;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyObject* done = PyObject_CallObject(function, nullptr);
  while (!done) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Fetch(&type, &value, &trace);
    has_raised = true;
    done = PyObject_CallObject(function, nullptr);
  }
  Py_DECREF(done);
  if (has_raised) PyErr_Restore(type, value, trace);
  return !has_raised;
}

/// Has signals written to the watcher's file descriptor. Returns the one before; -2 with an error.
int take_wakeup() {
  PyObject* const before = PyObject_Call(set_wakeup, wakeup, is_silent);
  if (!before) return -2;
  const long previous = PyLong_AsLong(before);
  Py_DECREF(before);
  return previous == writer ? -1 : static_cast<int>(previous);
}

bool give_wakeup_back(int previous) {
  PyObject* const before = PyObject_CallFunction(set_wakeup, "i", previous);
  Py_XDECREF(before);
  return before;
}

bool is_none(PyObject* owner, PyObject* name) {
  PyObject* const value = PyObject_GetAttr(owner, name);
  Py_XDECREF(value);
  return value == Py_None;
}

/// Puts the hook of exceptions that nobody can raise back in its place, unless somebody has replaced it.
bool restore_hook() {
  if (PyDict_GetItem(sys_names, names.unraisablehook) != hook) return true;
  PyObject* const before = PyObject_GetAttr(watcher, names.before);
  const bool is_done = before && PyDict_SetItem(sys_names, names.unraisablehook, before) == 0;
  Py_XDECREF(before);
  return is_done;
}

bool set_hook() {
  PyObject* const before = PyDict_GetItem(sys_names, names.unraisablehook);
  return before && PyObject_SetAttr(watcher, names.before, before) == 0 &&
         PyDict_SetItem(sys_names, names.unraisablehook, hook) == 0;
}

/// Passes on the signals that have come since the thread of the watcher has read last.
void pass_on(int previous) {
  char numbers[256];
  const ssize_t count = read(reader, numbers, sizeof numbers);
  if (count > 0 && previous >= 0 && write(previous, numbers, static_cast<size_t>(count)) < 0) return;  // it is full
}

/// Takes an interrupt back that may have come after the run.
void end_interrupt(PyObject* engine, tsl_engine handle) {
  if (!engine_of(engine)->is_interrupted) return;
  engine_of(engine)->is_interrupted = false;
  library.cancel_interrupt(handle);
}

}  // namespace

bool can_watch() { return watcher || !is_main_thread(); }

bool begin_watch(PyObject* engine, Watched* watched) {
  if (!is_main_thread() || !is_none(watcher, names.engine)) return !PyErr_Occurred();
  watched->previous = take_wakeup();
  if (watched->previous == -2) return false;
  watched->is_watched = true;
  if (watched->previous != -1 && !set(names.previous, PyLong_FromLong(watched->previous))) return false;
  return set(names.engine, counted(engine)) && set_hook();
}

bool end_watch(PyObject* engine, tsl_engine handle, const Watched& watched) {
  bool is_quiet = true;
  if (watched.is_watched) {
    is_quiet = call_surely(acquire);
    const bool is_ended = set(names.engine, counted(Py_None)) && restore_hook();
    pass_on(watched.previous);
    if (watched.previous != -1) set(names.previous, PyLong_FromLong(-1));
    const bool is_given_back = give_wakeup_back(watched.previous);
    is_quiet = call_surely(release) && is_ended && is_given_back && is_quiet;
    end_interrupt(engine, handle);
  }
  const PyObject* const ending = engine_of(engine)->ending;
  if (!is_quiet || !ending || ending == Py_None) return is_quiet;
  Py_XDECREF(PyObject_CallMethodObjArgs(engine, names.raise_ending, nullptr));
  return false;
}

PyObject* set_watcher(PyObject*, PyObject* arguments) {
  PyObject *given_watcher = nullptr, *given_acquire = nullptr, *given_release = nullptr;
  if (!PyArg_ParseTuple(arguments, "OOOOOOii", &given_watcher, &given_acquire, &given_release, &set_wakeup, &sys_names,
                        &hook, &reader, &writer))
    return nullptr;
  for (PyObject* each : {set_wakeup, sys_names, hook}) Py_INCREF(each);
  wakeup = Py_BuildValue("(i)", writer);
  is_silent = Py_BuildValue("{s:O}", "warn_on_full_buffer", Py_False);
  if (!wakeup || !is_silent) return nullptr;
  watcher = counted(given_watcher);  // for as long as the process
  acquire = counted(given_acquire);
  release = counted(given_release);
  Py_RETURN_NONE;
}

PyObject* set_main_thread(PyObject*, PyObject* ident) {
  main_thread = PyLong_AsUnsignedLong(ident);
  watcher = nullptr;  // in the child of a fork it has no thread
  if (PyErr_Occurred()) return nullptr;
  Py_RETURN_NONE;
}
