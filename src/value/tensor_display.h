// Formats tensors in NumPy's style.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace tsl {

class Context;

inline constexpr size_t kRowWidth = 75;  // the most columns of a row, as NumPy's

/// Formats a tensor: "f32[2, 3]", the device if it is not the host, then rows; a 0-d tensor is one line, "f32[] 3.5".
/// Of more than 1000 elements, only three at each edge of each axis are shown, and read, unless it is to be full.
std::string display_tensor(Context&, const Tensor& tensor, bool full = false, size_t width = kRowWidth);
/// Formats a tensor inside a container on one line: the elements if they are few or it is to be full, else only the
/// type.
std::string display_tensor_inline(Context&, const Tensor& tensor, bool full = false);

/// Joins the texts of a real and an imaginary part: "1.5-2.0i".
std::string complex_text(const std::string& re, const std::string& im);
/// Describes the type of a complex tensor by its real part: "c64[2]".
std::string describe_complex(const Tensor& re);
/// Formats a complex tensor of these parts likewise: "c64[2]", then rows of "1.+2.i".
std::string display_complex(Context&, const Tensor& re, const Tensor& im, bool full = false);
std::string display_complex_inline(Context&, const Tensor& re, const Tensor& im, bool full = false);

}  // namespace tsl
