// Programs that cover every op of the table, on every dtype and layout.
#pragma once

#include <string>
#include <vector>

#include "tensor/op.h"

namespace tsl {

/// A program that uses an op. `body` may use tensors a and b of one type (rank 2, except for 0-d layouts), c: bool, of
/// the same shape, and the dtype d.
struct MatrixCase {
  Op op;
  std::string body;
};

std::vector<MatrixCase> matrix_cases();

inline constexpr const char* kMatrixDTypes[] = {"bool", "u8",  "i8",  "i16", "i32", "i64", "f16",
                                                "bf16", "f32", "f64", "u16", "u32", "u64"};

/// Makes a program that runs the case on operands of one dtype in every layout, from memory and from the same group. It
/// prints every element, or the error.
std::string matrix_program(const MatrixCase& matrix_case, const std::string& dtype);
/// Makes a program for the case's derivative by operand a, in every layout.
std::string gradient_program(const MatrixCase& matrix_case, const std::string& dtype);

}  // namespace tsl
