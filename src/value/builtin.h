// Builtin functions: C++ behind a signature of the language.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace tsl {

class Engine;

/// Arguments of a builtin, bound to the parameters of its signature in order: named arguments are in place,
/// defaults filled in. For a signature that ends in `...name`, further positional arguments follow.
/// Builtins may move out of `values`.
struct Args {
  std::span<Value> values;
  std::span<const Value> bound;  // Native::bound
  Value& operator[](size_t i) const { return values[i]; }
  size_t size() const { return values.size(); }
};

struct Builtin {
  std::string_view name;
  /// "sum(x, axis = nil, keepdims = false)": parameters, constant defaults, `...rest` last. Parsed once.
  std::string_view signature;
  std::string_view doc;  // one line or more; shown by help()
  Value (*function)(Engine&, Args);
  std::string_view family;  // "reduce", "host", …: a heading of the reference
  /// Calls bound[0] with the arguments it is given: they are bound by the signature of that callable, and those it
  /// has defaults for may be absent() (signature.h).
  bool forwards = false;
};

/// The rows of each family. builtins() of an Engine joins them.
std::span<const Builtin> tensor_builtins();       // create, shape, reduce, order, index, linear algebra
std::span<const Builtin> elementwise_builtins();  // from the op table; also on host numbers and lists of them
std::span<const Builtin> host_builtins();         // print, len, str, range, map, split, load, …
std::span<const Builtin> autodiff_builtins();     // grad, value_and_grad, vjp, stop_gradient

// Reading arguments. Each throws Failure (type) naming `what` and the type it got. Symbols are pinned where a
// plain number is needed.
int64_t expect_int(Engine&, const Value&, const char* what);
double expect_real(Engine&, const Value&, const char* what);  // int or float
bool expect_bool(Engine&, const Value&, const char* what);
const std::string& expect_string(Engine&, const Value&, const char* what);
Tensor expect_tensor(Engine&, const Value&, const char* what);  // no conversion
/// A tensor from a tensor, a host number, or nested lists of them (ints give i64, floats f32, bools bool).
Tensor to_tensor(Engine&, const Value&, const char* what);
/// The same of a dtype, to which lists of nothing but numbers are converted at once.
Tensor to_tensor_of(Engine&, DType dtype, const Value&, const char* what);
/// dtype(v): a tensor cast, or made of a number or lists. bool(v) of a host number is a host bool.
Value convert(Engine&, DType dtype, const Value& v);
DType expect_dtype(Engine&, const Value&, const char* what);
/// "cpu", "cuda" (of several GPUs the one that tensors are made on by default) or "cuda:N".
Device expect_device(Engine&, const Value&, const char* what);
Shape expect_shape(Engine&, const Value&, const char* what);  // an int, or a list or tuple of ints (symbols stay)
/// nil means all axes; an int or a list of ints. The result is normalised, sorted and unique.
std::vector<int64_t> expect_axes(Engine&, const Value&, int rank, const char* what);

}  // namespace tsl
