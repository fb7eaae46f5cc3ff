// Programs that reach every op of the table, on every dtype and layout.
#pragma once

#include <string>
#include <vector>

#include "tensor/op.h"

namespace tsl {

/// One way to reach an op from a program. `body` may use tensors a and b of one type (rank 2, but for 0-d layouts),
/// c: bool, of the same shape, and the dtype d.
struct MatrixCase {
  Op op;
  std::string body;
};

std::vector<MatrixCase> matrix_cases();

inline constexpr const char* kMatrixDTypes[] = {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};

/// Runs the case on operands of one dtype in every layout, with operands from memory and from the same group. Prints
/// every element, or the error.
std::string matrix_program(const MatrixCase& matrix_case, const std::string& dtype);
/// The case's derivative by operand a, in every layout.
std::string gradient_program(const MatrixCase& matrix_case, const std::string& dtype);

}  // namespace tsl
