// Accesses elements of tensors on the host. No other code of the language layer accesses tensor memory.
#pragma once

#include <cstddef>
#include <optional>

#include "tensor/elements.h"
#include "value/value.h"

namespace tsl {

class Context;

/// Makes a contiguous tensor in host memory, to be filled and then passed to Runtime::to_device.
Tensor new_host_tensor(Context&, DType dtype, const Shape& shape);
/// Returns the tensor in host memory with its elements; computes and copies it if necessary.
Tensor read_to_host(Context&, const Tensor& tensor);

/// Whether `lists` is a number, or contains only numbers in lists and tuples.
bool holds_only_host_numbers(const Value& lists);
/// Makes a tensor of nested lists of numbers with one extent per level. Without `dtype`: bools if there are only bools,
/// i64 for ints, Ops::reals() for floats. Throws Failure that names `what` if the lists are ragged or contain anything
/// else.
Tensor tensor_from_lists(Context&, const Value& lists, const DType* dtype, const char* what);

/// Returns the dtype that tensor_from_lists would choose, or throws what it would throw, for lists that contain only
/// numbers (a trace may not know their values). Returns nothing for other lists.
std::optional<DType> dtype_of_number_lists(Context&, const Value& lists, const char* what);

/// Returns the element of a one-element tensor as a host number. Throws Failure (value) for any other size.
Value read_item(Context&, const Tensor& tensor);
/// Converts a tensor to nested lists of host numbers.
Value to_nested_lists(Context&, const Tensor& tensor);

/// Whether `object`, a tensor, may be changed in place: it is the only reference to its elements.
bool may_write_elements(Context&, const Value& object);
/// Writes a host number to one element. may_write_elements must hold.
void write_element(TensorData& tensor, int64_t offset, Scalar value);
/// Copies elements into a view of the tensor's storage. `value` has the view's shape and the tensor's dtype.
void write_elements(TensorData& tensor, const Layout& view, const Tensor& value);
void write_elements(TensorData& tensor, const Layout& view, Scalar value);

}  // namespace tsl
