// Defines what the formats of numbers hold, finfo and iinfo, and which of them floats have: default_dtype.
#include <cmath>

#include "base/error_names.h"
#include "builtins/builtins.h"
#include "tensor/bodies/scalar_math.h"
#include "tensor/promotion.h"
#include "value/context.h"
#include "value/runtime.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

template <class Element> constexpr int kExponentBits = 0;
template <> constexpr int kExponentBits<float> = 8;
template <> constexpr int kExponentBits<double> = 11;
template <int E> constexpr int kExponentBits<math::Short<E>> = E;

int exponent_bits(DType dtype) {
  using math::BFloat16, math::Half;
  switch (dtype) {
#define TSL_DTYPE(id, name, element, ...) \
  case DType::id:                         \
    return kExponentBits<element>;
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
  }
  return 0;
}

int64_t bits_of(DType dtype) { return static_cast<int64_t>(size_of(dtype)) * 8; }

Value record_of(Context& context, std::initializer_list<std::pair<std::string_view, Value>> fields) {
  std::vector<std::pair<Name, Value>> entries;
  // bounded: a builtin names them
  for (const auto& [name, value] : fields) entries.emplace_back(context.names().intern(name), value);
  return make_record(std::move(entries));
}

Value finfo_builtin(Context& context, Args args) {
  const DType dtype = args[0].dtype();
  if (!is_float(dtype)) {
    fail_argument(ErrorName::wrong_dtype, "dtype", fmt::format("finfo: {} is no dtype of floats", name_of(dtype)),
                  {"`iinfo(dtype)` is for integers"});
  }
  const int exponent = exponent_bits(dtype), fraction = static_cast<int>(bits_of(dtype)) - 1 - exponent;
  const int greatest = (1 << (exponent - 1)) - 1;
  const double eps = std::ldexp(1.0, -fraction), max = std::ldexp(2.0 - eps, greatest);
  return record_of(context, {{"dtype", Value(dtype)},
                             {"bits", bits_of(dtype)},
                             {"eps", eps},
                             {"min", -max},
                             {"max", max},
                             {"tiny", std::ldexp(1.0, 1 - greatest)},
                             {"smallest_subnormal", std::ldexp(1.0, 1 - greatest - fraction)}});
}

Value iinfo_builtin(Context& context, Args args) {
  const DType dtype = args[0].dtype();
  if (!is_integer(dtype)) {
    fail_argument(ErrorName::wrong_dtype, "dtype", fmt::format("iinfo: {} is no dtype of integers", name_of(dtype)),
                  {"`finfo(dtype)` is for floats"});
  }
  const IntegerRange range = range_of(dtype);
  const bool fits = range.greatest <= static_cast<uint64_t>(INT64_MAX);
  const Value max =
      fits ? Value(static_cast<int64_t>(range.greatest))
           : Value(context.ops().call(Op::bit_not, {fill(context.ops(), {}, dtype, Scalar::of(int64_t{0}))}));
  return record_of(context,
                   {{"dtype", Value(dtype)}, {"bits", bits_of(dtype)}, {"min", Value(range.least)}, {"max", max}});
}

Value default_dtype_builtin(Context& context, Args) { return Value(context.ops().reals()); }

constexpr Builtin kDtypeRows[] = {
    {"default_dtype", "default_dtype()",
     "the dtype of floats of which nothing names a dtype: f32, or f64 in a file that begins with `use f64`",
     default_dtype_builtin, "create"},
    {"finfo", "finfo(dtype: dtype)",
     "what a dtype of floats holds, as a record: bits, eps (from 1 to the next number), min, max, tiny (the least "
     "normal\n"
     "number) and smallest_subnormal",
     finfo_builtin, "create"},
    {"iinfo", "iinfo(dtype: dtype)",
     "what a dtype of integers holds, as a record: bits, min, max; that of u64 is a tensor, since it fits no int",
     iinfo_builtin, "create"},
};

}  // namespace

std::span<const Builtin> dtype_builtins() { return kDtypeRows; }

}  // namespace tsl
