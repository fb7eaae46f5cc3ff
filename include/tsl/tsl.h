/*
 * TSL, the tensor scripting language, for programs in C. (C++: tsl.hpp wraps this.)
 *
 *     tsl_engine engine;
 *     tsl_value f, x, y;
 *     tsl_config config;
 *     tsl_config_init(&config);
 *     tsl_engine_create(&config, &engine);
 *     tsl_run(engine, tsl_str("demo"), tsl_str("fn f(x) = x * 2.0 + 1.0"), NULL);
 *     tsl_get(engine, tsl_str("f"), &f);
 *     tsl_new_float(engine, 20.5, &x);
 *     tsl_call(engine, f, &x, 1, &y);
 *     tsl_engine_destroy(engine);
 *
 * Status. Every call returns a tsl_status. Unless it is TSL_OK, the call has changed nothing that it was to return, and
 * tsl_get_error() says what happened. No call throws, aborts or prints.
 *
 * Functions of the host. Those that TSL calls return, or end their thread by pthread_exit() or pthread_cancel(): the
 * call of TSL then does not return, and the engine can be used, and is to be ended, by another thread. Only release and
 * deallocate functions must return. A function in C++ must not let an exception pass: it catches all and fails by
 * tsl_fail(), as tsl.hpp does for it.
 *
 * Handles. A tsl_engine and a tsl_value are numbers, and {0} is no handle. A handle that is null, released, or of
 * another engine is a TSL_MISUSE, in release builds as in debug builds. A process has at most 4,096 engines at a time,
 * and an engine 16,777,215 values; more are a TSL_LIMIT. A handle's number is used again after it was released, but
 * never with the same bits: a number that has had 65,535 values is used no more, and counts among the 16,777,215.
 *
 * Ownership. Each value that a call returns is released by the caller with tsl_release(), or with its engine. Values
 * passed to a call stay the caller's. Strings passed to a call are copied. A string that a call returns belongs to the
 * engine or to the value; its lifetime is at the call. Strings are UTF-8 and need no terminating 0.
 *
 * Threads. An engine is used by one thread at a time, but not always by the same one; only tsl_interrupt() may be
 * called at any time. Engines are independent of each other, so that each thread may have its own.
 *
 * State of the process. All engines share one pool of worker threads, the CUDA context of each GPU, and the kernels on
 * disk, if these are allowed. TSL changes no state of the host: its locale, signals, floating-point state, and the
 * libraries that it uses, too. What a script computes and prints depends on none of them. Functions of the host are
 * called with the default floating-point state. The process may exit while threads run scripts.
 *
 * Versions. The API is not stable before version 1.0: a program is built and run with the same minor version.
 */
#ifndef TSL_TSL_H
#define TSL_TSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define TSL_API __attribute__((visibility("default")))
#else
#define TSL_API
#endif

/* In C++, the enumerations hold any int, so that a wrong one from C can be refused. */
#ifdef __cplusplus
#define TSL_ANY_INT : int32_t
extern "C" {
#else
#define TSL_ANY_INT
#endif

#define TSL_VERSION_MAJOR 0
#define TSL_VERSION_MINOR 1
#define TSL_VERSION_PATCH 0

/* Returns the version of the library: major << 16 | minor << 8 | patch. */
TSL_API uint32_t tsl_version(void);

/* ---- Types ---- */

typedef struct tsl_engine {
  uint64_t id;
} tsl_engine; /* all state of one running TSL */
typedef struct tsl_value {
  uint64_t id;
} tsl_value; /* a reference to a value of an engine */

typedef struct tsl_string {
  const char* data; /* may be NULL if length is 0 */
  size_t length;    /* in bytes */
} tsl_string;

/* Makes a tsl_string of a C string. */
static inline tsl_string tsl_str(const char* text) {
  tsl_string string = {text, text ? strlen(text) : 0};
  return string;
}

/* The result of a call. The kinds from TSL_SYNTAX on are those of the language's errors. */
typedef enum tsl_status TSL_ANY_INT {
  TSL_OK = 0,
  TSL_MISUSE = 1,   /* an argument of the call is wrong: a handle, a kind, a size, a null pointer */
  TSL_INTERNAL = 2, /* a defect of TSL */
  TSL_SYNTAX = 10,
  TSL_NAME,
  TSL_TYPE,
  TSL_SHAPE,
  TSL_INDEX,
  TSL_VALUE,
  TSL_IO,
  TSL_MEMORY,
  TSL_DEVICE,
  TSL_LIMIT, /* a limit of the configuration, or of the language */
  TSL_INTERRUPT,
  TSL_USER, /* error("…") of a script, or tsl_fail() of a native function */
  TSL_EXIT  /* exit(…) of a script, which no script can catch: tsl_get_exit_code() */
} tsl_status;

typedef enum tsl_kind TSL_ANY_INT {
  TSL_KIND_NIL,
  TSL_KIND_BOOL,
  TSL_KIND_INT,
  TSL_KIND_FLOAT,
  TSL_KIND_STRING,
  TSL_KIND_LIST,
  TSL_KIND_TUPLE,
  TSL_KIND_RECORD,
  TSL_KIND_RANGE,
  TSL_KIND_FUNCTION,
  TSL_KIND_MODULE,
  TSL_KIND_DTYPE,
  TSL_KIND_TENSOR,
  TSL_KIND_FOREIGN, /* a value of the host: tsl_new_foreign() */
  TSL_KIND_MAP,
  TSL_KIND_COMPLEX /* a complex number; a complex tensor is a tensor */
} tsl_kind;

typedef enum tsl_dtype TSL_ANY_INT {
  TSL_DTYPE_BOOL, /* a byte, 0 or 1; a copy makes 1 of any other, wrapping refuses it */
  TSL_DTYPE_U8,
  TSL_DTYPE_I8,
  TSL_DTYPE_I16,
  TSL_DTYPE_I32,
  TSL_DTYPE_I64,
  TSL_DTYPE_F16,
  TSL_DTYPE_BF16,
  TSL_DTYPE_F32,
  TSL_DTYPE_F64,
  TSL_DTYPE_U16,
  TSL_DTYPE_U32,
  TSL_DTYPE_U64,
  TSL_DTYPE_C64, /* complex: a real and an imaginary f32, one behind the other */
  TSL_DTYPE_C128 /* of f64 */
} tsl_dtype;

/* ---- Engines ---- */

/* What a script may do besides computing. A script that does something else fails with TSL_IO or TSL_DEVICE. */
typedef enum tsl_capability TSL_ANY_INT {
  TSL_ALLOW_FILES = 1,       /* load, save, read_text, exists, list_files, …, import "file" */
  TSL_ALLOW_ENVIRONMENT = 2, /* env(), and with TSL_ALLOW_FILES modules in the folders of $TSL_PATH */
  TSL_ALLOW_CLOCK = 4,       /* clock(), now() */
  TSL_ALLOW_COMPILE = 8,     /* @compile functions are compiled, and not interpreted */
  TSL_ALLOW_GPU = 16,        /* tensors on GPUs, and the cache of their kernels on disk */
  TSL_ALLOW_INPUT = 32       /* the standard input of the process: input(), read_text("-"), read_lines("-") */
} tsl_capability;

/* Receives text. It must not call anything with the engine that calls it. */
typedef void (*tsl_write)(void* user, tsl_string text);

/* Finds the source of a module for `import`, before files are looked for: returns true after one call of
 * found(to, source), or false if it has none. name: as the script writes it, without quotes; the module is loaded once
 * for a name. importer: the name of the source that imports it. It must not call anything with the engine. */
typedef bool (*tsl_load_module)(void* user, tsl_string name, tsl_string importer, tsl_write found, void* to);

/* Allocates memory for tensors on the host, at a multiple of `alignment`, a power of two; NULL if there is none left.
 * TSL caches what it has allocated, and the memory limit counts it. */
typedef void* (*tsl_allocate)(void* user, size_t bytes, size_t alignment);
/* Frees memory of tsl_allocate(), in the thread that uses the engine. */
typedef void (*tsl_deallocate)(void* user, void* data, size_t bytes);

/* Calls task(context, i) once for each i below `count`, in any threads, and returns when all have returned. */
typedef void (*tsl_run_tasks)(void* user, uint32_t count, void (*task)(void* context, uint32_t i), void* context);

/* An option of the program `tsl`, by its name and value there, without dashes: {"numerics", "fast"}. A flag takes "on"
 * or "off", and "profile" these or the file of a trace. `tsl --help` lists them, in its groups Running (but for what
 * chooses a script), Compiling, Devices, Reports and Messages (but for colours). */
typedef struct tsl_option {
  tsl_string name;
  tsl_string value;
} tsl_option;

/* How an engine is made. tsl_config_init() sets the defaults, which are those named here. */
typedef struct tsl_config {
  size_t struct_size;          /* set by tsl_config_init(); tells which fields the program knows */
  uint32_t capabilities;       /* tsl_capability, combined by |; default: none */
  uint32_t threads;            /* that compute; default: 0, one per core */
  tsl_string device;           /* where tensors are made: "cpu", "cuda", "cuda:1"; default: "cpu" */
  uint64_t memory_limit;       /* bytes for tensors, by device; default: 0, none */
  uint64_t source_limit;       /* bytes of a source; default: 0, 256 MiB */
  uint64_t step_limit;         /* calls and iterations of loops in one tsl_run() or tsl_call(); default: 0, none */
  double time_limit;           /* seconds for one tsl_run() or tsl_call(); default: 0, none */
  uint64_t seed;               /* of random numbers; default: 0 */
  tsl_write output;            /* receives what scripts print; default: NULL, it is dropped */
  tsl_write diagnostics;       /* receives warnings and logs; default: NULL, they are dropped */
  void* user;                  /* the first argument of all functions here */
  uint64_t host_memory_limit;  /* bytes of strings, lists, records and functions at a time; default: 0, none */
  uint64_t element_limit;      /* elements of a tensor; default: 0, as many as memory holds */
  uint32_t depth_limit;        /* calls within calls; default: 0, 200,000, whose error a script can catch. Whatever it
                                  is, calls through builtins, and nested source, take two thirds of the thread's stack
                                  at most */
  tsl_load_module load_module; /* default: NULL, only the standard library and files */
  tsl_allocate allocate;       /* default: NULL, the system's; `deallocate` likewise */
  tsl_deallocate deallocate;
  tsl_run_tasks run_tasks; /* runs the parts of an op, `threads` at most; default: NULL, TSL's threads */
  tsl_string logs;         /* what is logged to `diagnostics`: "recompiles,perf", as by `tsl --log`; default: nothing */
  /* Options of the program, which win over the fields above; default: none. TSL_MISUSE for a wrong name or value,
     TSL_IO if a report cannot be written where they say. "compile" needs TSL_ALLOW_COMPILE. */
  const tsl_option* options;
  size_t option_count;
  size_t stack_limit; /* bytes of stack below a call that runs on a stack of the host's own, as fibres and coroutines
                         have; default: 0, 256 KiB, which is the least. On a thread's own stack, its size counts */
  /* The place of this process among those that run one program, for `import world`; all engines of a process share it.
     TSL_VALUE for numbers that contradict each other, or another place than before. Default: 0 ranks, which is what the
     environment says where TSL_ALLOW_ENVIRONMENT lets scripts read it, and else one rank */
  uint32_t rank;
  uint32_t ranks;
  uint32_t local_rank;   /* among those of this host */
  uint32_t local_ranks;  /* default: 0, all are on this host, and `local_rank` is not looked at */
  tsl_string rendezvous; /* a folder that all ranks share, new for each run */
  /* Receives how far loops over progress() and reads of large files are, as the last line of a terminal: a text begins
     with "\r\33[K", and only the line that is to stay ends; default: NULL, nothing is shown */
  tsl_write progress;
} tsl_config;

/* Fills in the defaults. Use the macro, which passes the size that the program was compiled with. */
TSL_API tsl_status tsl_config_init_sized(tsl_config* config, size_t struct_size);
#define tsl_config_init(config) tsl_config_init_sized((config), sizeof(tsl_config))

/* Makes an engine. config: NULL for the defaults. If it fails, tsl_get_error() of this thread takes {0}. */
TSL_API tsl_status tsl_engine_create(const tsl_config* config, tsl_engine* engine);
/* Ends an engine. Releases its values, and calls the release functions of its wrapped tensors and native functions.
 * Writes the reports that its options ask for first: tsl_write_reports(). If that fails, the engine ends all the same,
 * and tsl_get_error() of this thread takes {0}. Must not be called from a function that the engine calls. */
TSL_API tsl_status tsl_engine_destroy(tsl_engine engine);
/* Keep an address of the host for an engine, where its native functions find it; NULL before it is set. */
TSL_API tsl_status tsl_engine_set_user(tsl_engine engine, void* user);
TSL_API tsl_status tsl_engine_get_user(tsl_engine engine, void** user);

/* Ends the tsl_run() or tsl_call() that is running, or else the next one, with TSL_INTERRUPT, which no script can
 * catch. May be called from any thread and from a signal handler, but not while tsl_engine_destroy() runs. An op that
 * is running ends early, and its result is discarded; a GPU finishes the kernels that it has been given. */
TSL_API tsl_status tsl_interrupt(tsl_engine engine);
/* Takes back an interrupt that has ended nothing yet, so that it does not end the next run. Used as tsl_interrupt(). */
TSL_API tsl_status tsl_cancel_interrupt(tsl_engine engine);

/* ---- Running ---- */

/* Runs source text, in which the names declared by earlier runs are visible. `name` stands for the text in messages.
 * result: receives the value of the last expression; NULL if it is not wanted. If the run fails, what it has declared
 * so far remains. */
TSL_API tsl_status tsl_run(tsl_engine engine, tsl_string name, tsl_string source, tsl_value* result);
/* Runs a file likewise. The host reads it, so TSL_ALLOW_FILES is not needed. Relative imports start at its folder. */
TSL_API tsl_status tsl_run_file(tsl_engine engine, tsl_string path, tsl_value* result);

/* Reads a variable that earlier runs have declared, or a function of the language. TSL_NAME if there is none. */
TSL_API tsl_status tsl_get(tsl_engine engine, tsl_string name, tsl_value* result);
/* Assigns a variable of later runs, which is declared by `var` if there is none of this name. */
TSL_API tsl_status tsl_set(tsl_engine engine, tsl_string name, tsl_value value);

/* Calls a function with arguments by position. result: NULL if it is not wanted. */
TSL_API tsl_status tsl_call(tsl_engine engine, tsl_value function, const tsl_value* arguments, size_t count,
                            tsl_value* result);
/* Calls a function with numbers, which it gets as floats, and reads the number that it returns, or that a tensor of
 * rank 0 holds: quicker than with handles for them. TSL_MISUSE for another result. result: NULL if it is not wanted. */
TSL_API tsl_status tsl_call_numbers(tsl_engine engine, tsl_value function, const double* arguments, size_t count,
                                    double* result);
/* As tsl_call(); the last `named` arguments are given by name. */
TSL_API tsl_status tsl_call_named(tsl_engine engine, tsl_value function, const tsl_value* arguments, size_t count,
                                  const tsl_string* names, size_t named, tsl_value* result);

/* ---- Errors ---- */

typedef struct tsl_error {
  tsl_status kind;
  tsl_string message;  /* one sentence */
  tsl_string file;     /* the name of the source; empty if no place is known */
  uint32_t line;       /* from 1; 0 if no place is known */
  uint32_t column;     /* from 1, in code points */
  uint32_t end_column; /* of the place's end, which it does not contain, if that is in the same line */
  size_t frames;       /* the calls that led there: tsl_get_frame() */
  size_t hints;        /* what may help, as sentences: tsl_get_hint() */
  size_t notes;        /* what else is known: tsl_get_note() */
} tsl_error;

typedef struct tsl_frame {
  tsl_string function; /* "<main>" for the code outside of functions */
  tsl_string file;
  uint32_t line; /* of the call */
} tsl_frame;

/* Reads the error of the engine's last call that failed. Its strings are valid until a call of this engine fails again.
 * Neither this nor the next five calls change it. After a call that was refused because another thread uses the engine,
 * and while one does, it is that TSL_MISUSE. engine: {0} for the last tsl_engine_create() or tsl_engine_destroy()
 * of this thread that failed. */
TSL_API tsl_status tsl_get_error(tsl_engine engine, tsl_error* error);
/* Reads its stable name, such as "shape-mismatch": docs/errors.md lists all. It is "misuse" or
 * "internal" for these two, and never becomes invalid. */
TSL_API tsl_status tsl_get_error_name(tsl_engine engine, tsl_string* name);
/* Reads the code of a script's exit(code), from 0 to 255; 0 if the error is not TSL_EXIT. */
TSL_API tsl_status tsl_get_exit_code(tsl_engine engine, int32_t* code);
/* Reads one of its calls; 0 is the innermost. */
TSL_API tsl_status tsl_get_frame(tsl_engine engine, size_t index, tsl_frame* frame);
/* Reads one of its hints or notes, from 0 on. */
TSL_API tsl_status tsl_get_hint(tsl_engine engine, size_t index, tsl_string* hint);
TSL_API tsl_status tsl_get_note(tsl_engine engine, size_t index, tsl_string* note);
/* Formats the error as the program `tsl` shows it: several lines, with the source line. */
TSL_API tsl_status tsl_get_error_text(tsl_engine engine, tsl_string* text);
/* Formats the error as a JSON object: {"kind", "name", "message", "file", "line", "column", "end_column", "hints",
 * "notes", "frames"}. Of more than 1,000 frames it lists the 500 innermost and the 500 outermost ones. */
TSL_API tsl_status tsl_get_error_json(tsl_engine engine, tsl_string* text);

/* ---- Reports ----
 *
 * Texts are valid until the next call with this engine. The keys of the JSON texts are those of the program `tsl`:
 * docs/profiling.md and docs/explain.md. */

/* Begins a profile, which takes time and memory until it is stopped. TSL_MISUSE if there is one, or if a script runs.
 */
TSL_API tsl_status tsl_profile_start(tsl_engine engine);
/* Ends the profile and formats it as JSON. TSL_MISUSE if there is none, or if a script runs. */
TSL_API tsl_status tsl_profile_stop(tsl_engine engine, tsl_string* json);
/* Formats the profile so far as the tables of `tsl --profile`. TSL_MISUSE if there is none, or if a script runs. */
TSL_API tsl_status tsl_profile_text(tsl_engine engine, tsl_string* text);
/* Writes the reports that the options "profile", "timings", "profile-json" and "dump" ask for, on what has run so far:
 * tables to `diagnostics`, the others to their files, which are replaced. TSL_IO if one cannot be written, TSL_MISUSE
 * if a script runs. */
TSL_API tsl_status tsl_write_reports(tsl_engine engine);
/* Explains in words what was compiled, and why as it was, for a function, or for all with {0}. The first call begins to
 * record, so that it explains only what is compiled later. */
TSL_API tsl_status tsl_explain(tsl_engine engine, tsl_value function, tsl_string* text);
/* Formats all of it as JSON likewise. */
TSL_API tsl_status tsl_explain_json(tsl_engine engine, tsl_string* json);
/* Formats the memory of a device as JSON: {"device", "live", "peak", "cached"}, in bytes. */
TSL_API tsl_status tsl_memory_json(tsl_engine engine, tsl_string device, tsl_string* json);

/* ---- Writing sources ----
 *
 * For editors and prompts: these calls run nothing of a source, and declare nothing. They know what earlier runs have
 * declared and the host has defined, and read the modules that a source imports, as tsl_run() would. tsl_interrupt()
 * and the limits of sources and time end them as they end a run. Texts are valid until the next call with this engine.
 */

/* Finds what is wrong with a source: its syntax, names, calls and types, and values that it does not use. json: an
 * array, empty if nothing is, with the objects of `tsl --check --json`: {"file", "line", "column", "end_line",
 * "end_column", "severity", "kind", "name", "message", "hints", "notes", "related"}. name: stands for the source, as in
 * tsl_run(). */
TSL_API tsl_status tsl_check(tsl_engine engine, tsl_string name, tsl_string source, tsl_string* json);
/* Finds what could stand at a byte of a source. json: {"begin", "candidates": [{"text", "kind", "doc"}], "call"}; each
 * text would replace the bytes from "begin" to `offset`. kind: "variable", "function", "type", "module", "field",
 * "argument", "keyword" or "file"; doc: a line. "call" is null, or the call whose arguments are being written:
 * {"declaration", "parameters", "active", "doc"}, with the bytes [begin, end] of each parameter in the declaration, and
 * the position of the one that is being written, or null. TSL_MISUSE if the source is shorter than `offset`. */
TSL_API tsl_status tsl_complete(tsl_engine engine, tsl_string source, size_t offset, tsl_string* json);
/* Says whether a source can run as it is, or is wrong: false if more lines are to follow, as within brackets. */
TSL_API tsl_status tsl_is_complete(tsl_engine engine, tsl_string source, bool* result);
/* Lays a source out as `tsl fmt` does. TSL_SYNTAX if it cannot be read; `name` stands for it in the error. */
TSL_API tsl_status tsl_format(tsl_engine engine, tsl_string name, tsl_string source, tsl_string* text);

/* ---- Values ---- */

TSL_API tsl_status tsl_new_nil(tsl_engine engine, tsl_value* result);
TSL_API tsl_status tsl_new_bool(tsl_engine engine, bool value, tsl_value* result);
TSL_API tsl_status tsl_new_int(tsl_engine engine, int64_t value, tsl_value* result);
TSL_API tsl_status tsl_new_float(tsl_engine engine, double value, tsl_value* result);
/* Makes a complex number. */
TSL_API tsl_status tsl_new_complex(tsl_engine engine, double re, double im, tsl_value* result);
/* TSL_VALUE if the text is no UTF-8. */
TSL_API tsl_status tsl_new_string(tsl_engine engine, tsl_string text, tsl_value* result);
/* Makes a list of values, which stay the caller's. */
TSL_API tsl_status tsl_new_list(tsl_engine engine, const tsl_value* items, size_t count, tsl_value* result);
TSL_API tsl_status tsl_new_tuple(tsl_engine engine, const tsl_value* items, size_t count, tsl_value* result);
/* Makes a record. TSL_VALUE if two keys are equal. */
TSL_API tsl_status tsl_new_record(tsl_engine engine, const tsl_string* keys, const tsl_value* values, size_t count,
                                  tsl_value* result);
/* Makes a map. TSL_TYPE for a key that is no bool, int, float, string, dtype, or tuple or range of such, TSL_VALUE if
 * two keys are equal. */
TSL_API tsl_status tsl_new_map(tsl_engine engine, const tsl_value* keys, const tsl_value* values, size_t count,
                               tsl_value* result);

/* Makes another handle of the same value, to be released by itself. */
TSL_API tsl_status tsl_retain(tsl_engine engine, tsl_value value, tsl_value* result);
/* Releases a handle. {0} is no error here. */
TSL_API tsl_status tsl_release(tsl_engine engine, tsl_value value);
/* Begins a scope: tsl_scope_end() releases all handles that calls have returned since, but for `kept` ({0}: for none),
 * which is of the scope around it. Scopes nest. Each handle takes 8 bytes until the scope ends, also if it is released
 * before. TSL_MISUSE if no scope has begun. */
TSL_API tsl_status tsl_scope_begin(tsl_engine engine);
TSL_API tsl_status tsl_scope_end(tsl_engine engine, tsl_value kept);

TSL_API tsl_status tsl_get_kind(tsl_engine engine, tsl_value value, tsl_kind* kind);
/* Read a number. A tensor of rank 0 counts as its element, for which the call waits: of bools as a bool, of ints as an
 * int, of floats as a float. TSL_MISUSE for any other value. */
TSL_API tsl_status tsl_get_bool(tsl_engine engine, tsl_value value, bool* result);
TSL_API tsl_status tsl_get_int(tsl_engine engine, tsl_value value, int64_t* result);
/* Reads a float, or an int as a float. */
TSL_API tsl_status tsl_get_float(tsl_engine engine, tsl_value value, double* result);
/* Reads a complex number, or another number as one without an imaginary part; of tensors as above. */
TSL_API tsl_status tsl_get_complex(tsl_engine engine, tsl_value value, double* re, double* im);
/* Reads a string, which is valid while the handle is. */
TSL_API tsl_status tsl_get_string(tsl_engine engine, tsl_value value, tsl_string* result);
/* Reads the number of items of a list, a tuple, a record or a map. */
TSL_API tsl_status tsl_get_length(tsl_engine engine, tsl_value value, size_t* length);
/* Reads an item of a list, a tuple, a record or a map; 0 is the first. TSL_INDEX if there is none. */
TSL_API tsl_status tsl_get_item(tsl_engine engine, tsl_value value, size_t index, tsl_value* result);
/* Reads a key of a record, which is valid while the engine is. */
TSL_API tsl_status tsl_get_key(tsl_engine engine, tsl_value record, size_t index, tsl_string* key);
/* Reads a key of a map. */
TSL_API tsl_status tsl_get_map_key(tsl_engine engine, tsl_value map, size_t index, tsl_value* result);
/* Reads the value of a key of a map. TSL_INDEX if there is none, TSL_TYPE as for tsl_new_map(). */
TSL_API tsl_status tsl_get_map_value(tsl_engine engine, tsl_value map, tsl_value key, tsl_value* result);
/* Reads a field of a record or a member of a module. TSL_NAME if there is none. */
TSL_API tsl_status tsl_get_field(tsl_engine engine, tsl_value record, tsl_string key, tsl_value* result);
/* Formats a value as print() does, within the limits of a run (TSL_LIMIT, TSL_INTERRUPT). The text is valid until the
 * next call with this engine. */
TSL_API tsl_status tsl_to_text(tsl_engine engine, tsl_value value, tsl_string* text);
/* Formats a value as the prompt of `tsl` does: with the dtype, shape and device of a tensor, on several lines if one
 * does not hold it, and cut where it is long; a plot as characters. The text is valid until the next call with this
 * engine. */
TSL_API tsl_status tsl_display(tsl_engine engine, tsl_value value, tsl_string* text);

/* ---- Tensors ----
 *
 * The real and the imaginary part of a complex element lie side by side, as in C's `float complex`, C++'s
 * std::complex and NumPy, and are aligned to the size of a part. Scripts compute with the two parts as with two
 * tensors: wrapped memory is read where it is, but never written (TSL_WRITABLE counts as TSL_READ_ONLY). Where a
 * result's parts are not side by side, the first call that reads its type or address puts them there, in new memory. */

#define TSL_MAX_RANK 8

typedef struct tsl_tensor_type {
  tsl_dtype dtype;
  int32_t rank;                  /* 0 to TSL_MAX_RANK */
  int64_t shape[TSL_MAX_RANK];   /* the first `rank` numbers count; at least 0 */
  int64_t strides[TSL_MAX_RANK]; /* in elements, read only if `is_strided`. For tensors that the host gives: at least 0;
                                    0 repeats an element along the axis, as broadcasting does */
  bool is_strided;               /* false: the elements are in row order, without gaps, whatever the strides are */
  uint64_t bytes;                /* of the memory from `data` on, which no element may exceed; 0: not known, and so not
                                    checked */
} tsl_tensor_type;

/* Called when nothing refers to wrapped memory, a value of the host or a native function any more: once, in the thread
 * that uses the engine, also if the call that was to make the value or the function has failed. It must not call
 * anything with this engine. */
typedef void (*tsl_release_function)(void* user);

typedef enum tsl_access TSL_ANY_INT {
  TSL_READ_ONLY, /* the host's memory never changes; writing x[i] = v in a script copies it first */
  TSL_WRITABLE   /* TSL may write results over elements that no value refers to any more; counts as TSL_READ_ONLY if
                    strides let two elements share memory */
} tsl_access;

/* Makes a tensor of the host's memory, without a copy. The memory must stay valid, and the host must not change it,
 * until `release` is called (NULL: the host knows another way). Its elements are aligned to their size. TSL_MISUSE if
 * the type is none, if an element of it lies beyond `type->bytes`, or if a bool is neither 0 nor 1 (which is not
 * checked of memory of a GPU). */
TSL_API tsl_status tsl_tensor_wrap(tsl_engine engine, const tsl_tensor_type* type, void* data, tsl_access access,
                                   tsl_release_function release, void* user, tsl_value* result);
/* Gives wrapped memory back to the host: releases the handle `tensor`, and calls `release` before it returns. What else
 * refers to the memory, such as variables, views and other handles, refers to a copy of it from then on. Addresses that
 * tsl_tensor_map() has returned remain the host's memory. TSL_MISUSE, and nothing changes, if the tensor has no memory
 * of the host, or another framework uses it (tsl_tensor_to_dlpack()); TSL_MEMORY if there is none for the copy. */
TSL_API tsl_status tsl_tensor_unwrap(tsl_engine engine, tsl_value tensor);
/* Makes a tensor of a copy of the host's memory, on the engine's device; fails as tsl_tensor_wrap() does. data: NULL
 * for zeros. */
TSL_API tsl_status tsl_tensor_copy(tsl_engine engine, const tsl_tensor_type* type, const void* data, tsl_value* result);
/* Reads dtype, shape and strides, of which is_strided says whether they are others than those of dense elements; bytes
 * is 0. (For an array of the host with the same shape, set is_strided to false.) */
TSL_API tsl_status tsl_tensor_get_type(tsl_engine engine, tsl_value tensor, tsl_tensor_type* type);
/* Copies the elements to the host's memory, densely in row order. bytes: the size of that memory, which must be that of
 * the elements. */
TSL_API tsl_status tsl_tensor_read(tsl_engine engine, tsl_value tensor, void* data, size_t bytes);
/* Copies the elements to the host's memory as its type describes it, with strides if it has any. TSL_TYPE if the tensor
 * has another dtype, TSL_SHAPE if it has another shape; TSL_MISUSE if the type is none, repeats elements, or has one
 * beyond `type->bytes`. */
TSL_API tsl_status tsl_tensor_read_into(tsl_engine engine, tsl_value tensor, const tsl_tensor_type* type, void* data);
/* Returns the address of element [0, 0, …] of a tensor in host memory, without a copy: to be read with the strides of
 * tsl_tensor_get_type(), while the handle is valid. TSL_DEVICE if the tensor is on a GPU. */
TSL_API tsl_status tsl_tensor_map(tsl_engine engine, tsl_value tensor, const void** data);

/* ---- GPUs ----
 *
 * An engine's work for a GPU runs on one stream, in the order of its calls, and calls return before it is done. These
 * calls order it with the host's streams and wait for nothing. Reading a tensor waits, and so does a script where its
 * next step depends on elements: item(), conditions, ops that check indices. Devices are named "cuda" or "cuda:1";
 * they need TSL_ALLOW_GPU. */

/* A CUstream or cudaStream_t of the host, as a number: 0 and 1 are the default stream, 2 is that of the thread. */
typedef intptr_t tsl_stream;
#define TSL_NO_STREAM ((tsl_stream)-1)

/* Runs all later work for a GPU on a stream of the host, after all earlier work; TSL_NO_STREAM: on the engine's own
 * again. The stream must exist until then, or until the engine ends. TSL_DEVICE if the device is no GPU. */
TSL_API tsl_status tsl_engine_set_stream(tsl_engine engine, tsl_string device, tsl_stream stream);
/* Returns the stream on which the work for a GPU runs. It is valid until the engine ends. */
TSL_API tsl_status tsl_engine_get_stream(tsl_engine engine, tsl_string device, tsl_stream* stream);

/* Makes a tensor of memory of a GPU (or of the host, for "cpu"), as tsl_tensor_wrap() does. stream: of the host, on
 * which the elements are ready: TSL's work waits for it, and it waits for TSL's work before `release` is called, until
 * when it must exist. TSL_NO_STREAM: the elements are ready; TSL waits for its own work before `release`. */
TSL_API tsl_status tsl_tensor_wrap_device(tsl_engine engine, tsl_string device, const tsl_tensor_type* type, void* data,
                                          tsl_access access, tsl_stream stream, tsl_release_function release,
                                          void* user, tsl_value* result);
/* Returns the address of element [0, 0, …] on any device, to be read while the handle is valid, by work on a stream
 * that waits until the elements are computed (TSL_NO_STREAM: none is made to wait). Before the handle is released, that
 * work must be done, or TSL's stream wait for it. device: receives the device's name, valid until the next call with
 * this engine; may be NULL. */
TSL_API tsl_status tsl_tensor_map_device(tsl_engine engine, tsl_value tensor, tsl_stream stream, void** data,
                                         tsl_string* device);

/* ---- Tensors of other frameworks, by DLPack 1 ----
 *
 * The structs are those of dlpack.h, which a program that uses these calls includes or declares itself. */

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* Makes a tensor of another framework's, without a copy. Takes over `from`: calls its deleter when no value refers to
 * it any more; once, in the thread that uses the engine, also if this call fails. Until then its elements must not
 * change. access: as for tsl_tensor_wrap(); TSL_WRITABLE counts unless `from` is flagged read-only. stream: as for
 * tsl_tensor_wrap_device(), for memory of a GPU. TSL_VALUE if the major version is not 1, or a stride negative;
 * TSL_TYPE for a dtype, TSL_DEVICE for a device that TSL does not have. */
TSL_API tsl_status tsl_tensor_from_dlpack(tsl_engine engine, struct DLManagedTensorVersioned* from, tsl_access access,
                                          tsl_stream stream, tsl_value* result);
/* As tsl_tensor_from_dlpack(), for frameworks that have only the struct from before version 1. */
TSL_API tsl_status tsl_tensor_from_dlpack_unversioned(tsl_engine engine, struct DLManagedTensor* from,
                                                      tsl_access access, tsl_stream stream, tsl_value* result);
/* Makes a description of a tensor for another framework, which calls its deleter once, in any thread, also after the
 * engine's end; the engine's memory, and with it wrapped memory and native functions, stays until then. The elements
 * are released with the engine's next call after that. access:
 * TSL_READ_ONLY shares the elements, which the other framework must not write; TSL_WRITABLE makes a copy for it. (A
 * tensor with negative strides is always copied.) stream: of the other framework, for a tensor on a GPU: it waits until
 * the elements are computed, and TSL's work waits for it before the elements are released, until when it must exist.
 * TSL_NO_STREAM for none. */
TSL_API tsl_status tsl_tensor_to_dlpack(tsl_engine engine, tsl_value tensor, tsl_access access, tsl_stream stream,
                                        struct DLManagedTensorVersioned** result);
/* As tsl_tensor_to_dlpack(); that the elements must not be written is then for the host to say. */
TSL_API tsl_status tsl_tensor_to_dlpack_unversioned(tsl_engine engine, tsl_value tensor, tsl_access access,
                                                    tsl_stream stream, struct DLManagedTensor** result);

/* ---- Values of the host ----
 *
 * Scripts get such values from the host, pass them on and give them back: to native functions, whose signatures may
 * name their types. type(x) is the name of the type, and == compares the identity of values. */

/* A type of the host's values: any address that the host uses for no other type, such as that of a static variable. */
typedef const void* tsl_type;

/* Defines a type by its name, which annotations of later runs may use, too. TSL_NAME if there is one of that name,
 * TSL_SYNTAX if the name is no identifier. */
TSL_API tsl_status tsl_define_type(tsl_engine engine, tsl_type type, tsl_string name);
/* Makes a value of a type. data: not read by TSL. release: called with `data` when nothing refers to the value any
 * more, as for tsl_tensor_wrap(); NULL: nothing is called. A call of a compiled function may refer to it until it
 * returns. */
TSL_API tsl_status tsl_new_foreign(tsl_engine engine, tsl_type type, void* data, tsl_release_function release,
                                   tsl_value* result);
/* Reads the data of a value, which is valid while anything refers to the value. type: its type; NULL for any.
 * TSL_MISUSE if it is of another type, or no value of the host. */
TSL_API tsl_status tsl_get_foreign(tsl_engine engine, tsl_value value, tsl_type type, void** data);

/* ---- Native functions ---- */

/* A function of the host. The arguments fit the signature, and their handles are valid during the call. The result is
 * nil unless `result` is set, whose handle TSL takes over. To fail, it returns what tsl_fail() returns. It may call
 * anything with the engine but tsl_engine_destroy(). */
typedef tsl_status (*tsl_native)(tsl_engine engine, void* user, const tsl_value* arguments, size_t count,
                                 tsl_value* result);

/* A native function with all that TSL may know of it. tsl_function_init() sets all to 0. */
typedef struct tsl_function {
  size_t struct_size;   /* set by tsl_function_init(); tells which fields the program knows */
  tsl_string signature; /* "scale(x: f32[n, m], by: float = 1.0)": parameters as in the language's declarations, with
                           defaults that are constants. Each call is checked against it; with "-> f32[n, m]" behind
                           it, so is each result */
  tsl_string doc;       /* shown by help() */
  tsl_native call;
  tsl_native derivative; /* for grad(): gets the arguments of a call, its result, and the gradient of the result.
                            Returns a list with the gradient of each argument, a tensor of its type, or nil where none
                            flows (for one argument, its gradient alone). `call` then takes tensors and numbers, and
                            returns a tensor of floats. It cannot be differentiated itself. NULL: a gradient that
                            reaches a tensor which `call` has made is an error of the kind type */
  bool is_pure; /* the result depends on the arguments alone, and the call does nothing else: compiled code with
                   constant arguments calls it once, while it is traced. Otherwise calls happen at each run, in the
                   program's order */
  void* user;   /* passed to both */
  tsl_release_function release; /* NULL: none; called with `user`, also if defining the function fails */
} tsl_function;

TSL_API tsl_status tsl_function_init_sized(tsl_function* function, size_t struct_size);
#define tsl_function_init(function) tsl_function_init_sized((function), sizeof(tsl_function))

/* Defines a function that later runs may call. TSL_NAME if there is one of that name, TSL_SYNTAX if the signature is
 * none, whose error has a place in it, in a file "<signature>". */
TSL_API tsl_status tsl_define_function(tsl_engine engine, const tsl_function* function);
/* Defines a function that has no derivative and is not pure. */
TSL_API tsl_status tsl_define(tsl_engine engine, tsl_string signature, tsl_string doc, tsl_native function, void* user,
                              tsl_release_function release);
/* Sets the error of a native function; returns `kind`, from TSL_SYNTAX on. A function that fails with a status and has
 * neither called this nor a function of TSL that failed so is an error that says no more than its status. No script
 * catches TSL_LIMIT, TSL_INTERRUPT and TSL_EXIT. */
TSL_API tsl_status tsl_fail(tsl_engine engine, tsl_status kind, tsl_string message);

#ifdef __cplusplus
}
#endif

#endif
