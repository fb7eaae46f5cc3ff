// The tables of builtins: each file has the rows of a family; tensor_builtins() and host_builtins() join them.
#pragma once

#include <span>
#include <vector>

#include "value/builtin.h"

namespace tsl {

std::span<const Builtin> tensor_builtins();       // create, shape, reduce, order, index, linear algebra
std::span<const Constant> constants();            // pi, e, inf, nan
std::span<const Builtin> elementwise_builtins();  // from the op table; also on host numbers and lists of them
std::span<const Builtin> host_builtins();         // print, len, str, range, map, split, load, …

std::span<const Builtin> create_builtins();
std::span<const Builtin> dtype_builtins();  // finfo, iinfo
std::span<const Builtin> shape_builtins();
std::span<const Builtin> reduce_builtins();
std::span<const Builtin> order_builtins();
std::span<const Builtin> index_builtins();
std::span<const Builtin> linear_algebra_builtins();
std::span<const Builtin> fourier_builtins();
std::span<const Builtin> neural_builtins();
std::span<const Builtin> world_builtins();  // between ranks

std::span<const Builtin> value_builtins();       // print, len, str, int, type, …
std::span<const Builtin> help_builtins();        // help
std::span<const Builtin> collection_builtins();  // range, enumerate, map, sorted, …
std::span<const Builtin> entry_builtins();       // keys, get, remove, dict, set, union, …
std::span<const Builtin> text_builtins();        // join, replace, strip, lines, …
std::span<const Builtin> character_builtins();   // upper, isdigit, ord, …
std::span<const Builtin> search_builtins();      // find, rfind, count, contains
std::span<const Builtin> regex_builtins();       // search, findall, substitute
std::span<const Builtin> data_builtins();        // from_json, to_json, flatten_tree, unflatten_tree
std::span<const Builtin> file_builtins();        // load, save, read_text, write_text, encode, …
std::span<const Builtin> rows_builtins();        // load_rows, load_shapes, line_starts
std::span<const Builtin> stream_builtins();      // input, eprint, exit, env
std::span<const Builtin> argument_builtins();    // parse_args
std::span<const Builtin> time_builtins();        // now, sleep, format_time, parse_time
std::span<const Builtin> observe_builtins();     // profile, with_range, recompile, wait
std::span<const Builtin> bench_builtins();       // bench

/// Returns all items of a value that a loop can run over.
std::vector<Value> items_of(Context& context, const Value& iterable);

/// Ends the program, or the run of a host, with an exit code.
void exit_program(Context&, int64_t code);

/// Splits a string at a separator (nil: at white space), at most `limit` times.
Value split_text(Context&, const Value& text, const Value& separator, const Value& limit);

}  // namespace tsl
