// Elements of tensors on the host: the only code of the language layer that touches tensor memory.
#pragma once

#include <cstddef>
#include <optional>

#include "tensor/elements.h"
#include "value/value.h"

namespace tsl {

class Engine;

/// A new contiguous tensor in host memory, to fill and then pass to Runtime::to_device.
Tensor new_host_tensor(Engine&, DType dtype, const Shape& shape);
/// A tensor with elements in host memory; computes and copies if need be.
Tensor read_to_host(Engine&, const Tensor& tensor);

/// Whether `lists` is a number, or lists and tuples of nothing else.
bool holds_only_host_numbers(const Value& lists);
/// Nested lists of numbers, all of one extent per level, as a tensor: bools, else ints (i64), else floats
/// (f32), unless `dtype` says otherwise. Throws Failure naming `what` if the lists are ragged or hold
/// anything else.
Tensor tensor_from_lists(Engine&, const Value& lists, const DType* dtype, const char* what);

/// Of lists of nothing but numbers, of which a trace may not know all: the dtype that tensor_from_lists finds, or what
/// it throws. Nothing for other lists.
std::optional<DType> dtype_of_number_lists(const Value& lists, const char* what);

/// The element of a one-element tensor as a host number. Throws Failure (value) for any other size.
Value read_item(Engine&, const Tensor& tensor);
/// Nested lists of host numbers.
Value to_nested_lists(Engine&, const Tensor& tensor);

/// Whether `object`, a tensor value, may be changed where it lies: it is the only reference to its elements.
bool may_write_elements(Engine&, const Value& object);
/// Writes a host number to one element. The tensor has passed may_write_elements.
void write_element(TensorData& tensor, int64_t offset, Scalar value);
/// Copies elements into a view of the tensor's storage. `value` has the view's shape and the tensor's dtype.
void write_elements(TensorData& tensor, const Layout& view, const Tensor& value);
void write_elements(TensorData& tensor, const Layout& view, Scalar value);

}  // namespace tsl
