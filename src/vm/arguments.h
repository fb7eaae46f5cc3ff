// Reading the arguments of builtins. Each function throws Failure (type) that names `what` and the type it got.
// Symbols are pinned where a plain number is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "value/builtin.h"
#include "value/value.h"

namespace tsl {

class Context;

int64_t expect_int(Context&, const Value&, const char* what);
double expect_real(Context&, const Value&, const char* what);  // int or float
bool expect_bool(Context&, const Value&, const char* what);
const std::string& expect_string(Context&, const Value&, const char* what);
Tensor expect_tensor(Context&, const Value&, const char* what);  // no conversion
/// A tensor from a tensor, a host number, or nested lists of them (ints give i64, floats f32, bools bool).
Tensor to_tensor(Context&, const Value&, const char* what);
/// The same of a dtype, to which lists of nothing but numbers are converted at once.
Tensor to_tensor_of(Context&, DType dtype, const Value&, const char* what);
/// dtype(v): a tensor cast, or made of a number or lists. bool(v) of a host number is a host bool.
Value convert(Context&, DType dtype, const Value& v);
DType expect_dtype(Context&, const Value&, const char* what);
/// "cpu", "cuda" (of several GPUs the one that tensors are made on by default) or "cuda:N".
Device expect_device(Context&, const Value&, const char* what);
/// An int, a list or a tuple of ints, or an integer tensor of at most one dimension. Symbols stay.
Shape expect_shape(Context&, const Value&, const char* what);
/// The items of a list, a tuple or a tensor of one dimension; nothing if `v` is something else.
std::optional<std::vector<Value>> sequence_items(Context&, const Value& v);
/// An axis as an int, or as an integer tensor of one element and at most one dimension; normalised.
int expect_axis(Context&, const Value&, int rank, const char* what);
/// nil means all axes; an int, a list of ints, or an integer tensor of at most one dimension. The result is
/// normalised, sorted and unique.
std::vector<int64_t> expect_axes(Context&, const Value&, int rank, const char* what);

}  // namespace tsl
