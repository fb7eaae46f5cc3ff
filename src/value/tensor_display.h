// Tensors as text, in NumPy's manner.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace tsl {

class Engine;

/// "f32[2, 3]", with the device if it is not the host, and the rows below; a 0-d tensor is one line,
/// "f32[] 3.5". Beyond 1000 elements only three at each edge of each axis are shown, and read.
std::string display_tensor(Engine&, const Tensor& tensor);
/// One line, for tensors inside containers: the elements of small ones, else the type alone.
std::string display_tensor_inline(Engine&, const Tensor& tensor);

}  // namespace tsl
