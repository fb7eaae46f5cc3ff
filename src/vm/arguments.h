// Reads the arguments of builtins. Each function throws Failure (type) that names `what` and the value's type. Symbols
// are pinned where a plain number is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "value/builtin.h"
#include "value/value.h"

namespace tsl {

class Context;

int64_t expect_int(Context&, const Value&, const char* what);
/// As expect_int(), but a trace may keep it a symbol.
Dim expect_size(Context&, const Value&, const char* what);
double expect_real(Context&, const Value&, const char* what);  // int or float
bool expect_bool(Context&, const Value&, const char* what);
const std::string& expect_string(Context&, const Value&, const char* what);
const String& expect_text(Context&, const Value&, const char* what);  // likewise, to find code points in it
Tensor expect_tensor(Context&, const Value&, const char* what);       // no conversion
/// Makes a tensor from a tensor, a host number, or nested lists of them (ints give i64, floats f32, bools bool).
Tensor to_tensor(Context&, const Value&, const char* what);
/// As to_tensor(), with a given dtype: lists that contain only numbers are converted to it directly.
Tensor to_tensor_of(Context&, DType dtype, const Value&, const char* what);
/// Makes tensors of operands that are computed together: beside a tensor of f64, host numbers and lists take f64.
std::vector<Tensor> to_tensors(Context&, std::span<const Value>, const char* what);
/// Converts to a dtype: casts a tensor, or makes one of a number or lists. bool(v) of a host number is a host bool.
Value convert(Context&, DType dtype, const Value& v);
/// Reads a device: "cpu", "cuda" (of several GPUs, the one on which tensors are made by default) or "cuda:N".
Device expect_device(Context&, const Value&, const char* what);
/// Reads an int, a list or a tuple of ints, or an integer tensor of at most one dimension. Symbols stay.
Shape expect_shape(Context&, const Value&, const char* what);
/// Returns the items of a list, a tuple or a tensor of one dimension; nothing for other values.
std::optional<std::vector<Value>> sequence_items(Context&, const Value& v);
/// Reads an axis, an int or an integer tensor of one element and at most one dimension; normalised. An
/// error about its size is about the argument for `parameter`.
int expect_axis(Context&, const Value&, int rank, const char* what, const char* parameter = "axis");
/// Reads axes: nil for all axes, an int, a list of ints, or an integer tensor of at most one dimension. The result is
/// normalised, sorted and unique.
std::vector<int64_t> expect_axes(Context&, const Value&, int rank, const char* what);

}  // namespace tsl
