// The tables of builtins: each file has the rows of a family; tensor_builtins() and host_builtins() join them.
#pragma once

#include <span>

#include "value/builtin.h"

namespace tsl {

std::span<const Builtin> tensor_builtins();       // create, shape, reduce, order, index, linear algebra
std::span<const Builtin> elementwise_builtins();  // from the op table; also on host numbers and lists of them
std::span<const Builtin> host_builtins();         // print, len, str, range, map, split, load, …

std::span<const Builtin> create_builtins();
std::span<const Builtin> shape_builtins();
std::span<const Builtin> reduce_builtins();
std::span<const Builtin> order_builtins();
std::span<const Builtin> index_builtins();
std::span<const Builtin> linear_algebra_builtins();

std::span<const Builtin> value_builtins();       // print, len, str, int, type, help, …
std::span<const Builtin> collection_builtins();  // range, enumerate, map, sorted, …
std::span<const Builtin> entry_builtins();       // keys, get, remove, dict, set, union, …
std::span<const Builtin> text_builtins();        // join, replace, upper, …
std::span<const Builtin> file_builtins();        // load, save, read_text, write_text
std::span<const Builtin> observe_builtins();     // profile, with_range, recompile, wait
std::span<const Builtin> bench_builtins();       // bench

/// Splits a string at a separator (nil: at white space), at most `limit` times.
Value split_text(Context&, const Value& text, const Value& separator, const Value& limit);

}  // namespace tsl
