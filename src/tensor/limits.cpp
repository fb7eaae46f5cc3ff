#include "tensor/limits.h"

#include <algorithm>
#include <array>

#include "base/error_names.h"
#include "base/platform/machine.h"
#include "tensor/tensor.h"

namespace tsl {

int64_t memory_limit() { return as_limit(platform::machine_limits().memory); }

int64_t as_limit(uint64_t memory) {
  return static_cast<int64_t>(std::min(memory, static_cast<uint64_t>(kMaxTensorBytes)));
}

std::optional<int64_t> count_if_representable(const Shape& shape) {
  int64_t count = 1, signs = 0;
  bool overflows = false, is_empty = false;
  for (const Dim& extent : shape) {
    signs |= extent.hint();
    is_empty |= extent.hint() == 0;
    overflows |= __builtin_mul_overflow(count, extent.hint(), &count);
  }
  if (signs < 0 || (overflows && !is_empty)) return std::nullopt;
  return is_empty ? 0 : count;
}

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

void check_size(std::string_view op, DType dtype, const Shape& shape, const SizeLimits& limits) {
  const int64_t item = static_cast<int64_t>(size_of(dtype));
  const std::optional<int64_t> count = count_if_representable(shape);
  if (count && *count <= limits.bytes / item && *count <= limits.elements) return;
  if (std::any_of(shape.begin(), shape.end(), [](const Dim& extent) { return extent.hint() < 0; }))
    fail(ErrorName::negative_size, "{}: {} has a negative extent", op, describe(dtype, shape));
  if (limits.elements < kMaxTensorBytes && (!count || *count > limits.elements))
    end_program(ErrorName::element_limit, fmt::format("{}: a tensor may have {} elements, and {} has more", op,
                                                      limits.elements, describe(dtype, shape)));
  double bytes = static_cast<double>(item);
  for (const Dim& extent : shape) bytes *= static_cast<double>(extent.hint());
  fail(ErrorName::tensor_too_large, "{}: {} needs {}, but a tensor may take {}", op, describe(dtype, shape),
       format_bytes(bytes), format_bytes(static_cast<double>(limits.bytes)));
}

}  // namespace tsl
