// Element types: sizes, names, classes and PyTorch's promotion table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tsl {

enum class DType : uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };
inline constexpr int kDTypeCount = 10;

/// How an elementwise op's result dtype depends on its operands'.
enum class DTypeRule : uint8_t {
  same,        // any dtype but bool -> the same
  arithmetic,  // operands promote; bool counts as an integer where it makes sense -> the promoted dtype
  floating,    // integers and bools become f32 -> the float dtype
  compare,     // operands promote -> bool
  predicate,   // a question about floats -> bool (integers are converted to f32)
  bitwise,     // bool or integers
  select,      // where: bool, then two operands that promote
};

inline constexpr size_t kDTypeSize[kDTypeCount] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
inline size_t size_of(DType dtype) { return kDTypeSize[static_cast<size_t>(dtype)]; }
/// The dtype in which a reduction computes, and that of its result.
enum class ReduceRule : uint8_t {
  total,     // any dtype, in accumulator_of(dtype) -> the float dtype, or i64
  same,      // any dtype -> the same
  floating,  // floats, others as f32 -> the float dtype; f16 and bf16 compute in f32
  logic,     // any dtype, as bool -> bool
  place,     // any dtype -> i64, an index along one axis
};

std::string_view name_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);

inline bool is_float(DType d) { return d >= DType::f16; }
inline bool is_integer(DType d) { return d >= DType::u8 && d <= DType::i64; }
inline bool is_signed(DType d) { return d >= DType::i8; }

/// Returns the dtype of `a op b` for two tensors (PyTorch's table; 0-d tensors count like any other).
DType promote(DType a, DType b);
/// Returns the dtype in which a floating op computes: d itself if it is a float, else f32.
inline DType to_float(DType d) { return is_float(d) ? d : DType::f32; }
/// Returns the dtype in which sums and products of `d` accumulate: f32 for f16, bf16 and f32; f64 for f64; else i64.
DType accumulator_of(DType d);

}  // namespace tsl
