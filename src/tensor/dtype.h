// Element types, by the rows of dtypes.def, and their promotion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace tsl {

enum class DType : uint8_t {
#define TSL_DTYPE(id, ...) id,
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
};

// The order of the dtypes means nothing: their rows say what they have.
bool operator<(DType, DType) = delete;
bool operator>(DType, DType) = delete;
bool operator<=(DType, DType) = delete;
bool operator>=(DType, DType) = delete;

enum class DTypeKind : uint8_t { boolean, unsigned_integer, signed_integer, floating };

/// One row of dtypes.def, which describes the fields.
struct DTypeRow {
  DType dtype;
  std::string_view name;
  uint8_t bytes;
  DTypeKind kind;
  DType accumulator;
  double rounding;
  std::string_view npy, safetensors;
  uint8_t dlpack;
  std::string_view cuda;
};

inline constexpr DTypeRow kDTypes[] = {
#define TSL_DTYPE(id, name, element, bytes, kind, accumulator, ...) \
  {DType::id, name, bytes, DTypeKind::kind, DType::accumulator, __VA_ARGS__},
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
};
inline constexpr int kDTypeCount = static_cast<int>(std::size(kDTypes));

constexpr const DTypeRow& row_of(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

/// How an elementwise op's result dtype depends on its operands'.
enum class DTypeRule : uint8_t {
  same,        // any dtype but bool -> the same
  arithmetic,  // operands promote; bool counts as an integer where it makes sense -> the promoted dtype
  floating,    // integers and bools become f32 -> the float dtype
  compare,     // operands promote -> bool
  predicate,   // a question about floats -> bool (integers are converted to f32)
  bitwise,     // bool or integers
  shift,       // integers: bools among them count as ints -> the promoted dtype
  select,      // where: bool, then two operands that promote
};

/// The dtype in which a reduction computes, and that of its result.
enum class ReduceRule : uint8_t {
  total,     // any dtype, in accumulator_of(dtype) -> the float dtype, or the accumulator of integers
  same,      // any dtype -> the same
  floating,  // floats, others as f32 -> the float dtype; f16 and bf16 compute in f32
  logic,     // any dtype, as bool -> bool
  place,     // any dtype -> i64, an index along one axis
};

constexpr size_t size_of(DType dtype) { return row_of(dtype).bytes; }
constexpr std::string_view name_of(DType dtype) { return row_of(dtype).name; }
std::optional<DType> dtype_named(std::string_view name);

constexpr bool is_float(DType d) { return row_of(d).kind == DTypeKind::floating; }
constexpr bool is_signed(DType d) { return is_float(d) || row_of(d).kind == DTypeKind::signed_integer; }
constexpr bool is_integer(DType d) { return !is_float(d) && d != DType::boolean; }
/// Whether the dtype is a float of 16 bits.
constexpr bool is_half(DType d) { return is_float(d) && size_of(d) == 2; }

/// Returns the dtype of `a op b` for two tensors (0-d tensors count like any other). Throws Failure (type) for u64 with
/// a signed integer, since no integer dtype holds the values of both.
DType promote(DType a, DType b);
/// Returns the dtype in which a floating op computes: d itself if it is a float, else f32.
constexpr DType to_float(DType d) { return is_float(d) ? d : DType::f32; }
/// Returns the dtype in which sums and products of `d` accumulate.
constexpr DType accumulator_of(DType d) { return row_of(d).accumulator; }
/// Returns the dtype of sums and products of elements of `d`: floats keep theirs.
constexpr DType total_of(DType d) { return is_float(d) ? d : accumulator_of(d); }

}  // namespace tsl
