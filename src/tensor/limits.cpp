#include "tensor/limits.h"

#include <algorithm>
#include <array>

#include <unistd.h>

#include "base/error.h"
#include "tensor/tensor.h"

namespace tsl {

int64_t memory_limit() {
  static const int64_t limit = [] {
    const int64_t pages = sysconf(_SC_PHYS_PAGES);
    const int64_t page_size = sysconf(_SC_PAGESIZE);
    int64_t bytes = 0;
    if (pages <= 0 || __builtin_mul_overflow(pages, page_size, &bytes)) return kMaxTensorBytes;
    return std::min(bytes, kMaxTensorBytes);
  }();
  return limit;
}

std::optional<int64_t> count_if_representable(const Shape& shape) {
  int64_t count = 1;
  bool overflows = false;
  for (const Dim& extent : shape) {
    if (extent.hint() == 0) return 0;
    overflows |= __builtin_mul_overflow(count, extent.hint(), &count);
  }
  if (overflows) return std::nullopt;
  return count;
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

void check_size(std::string_view op, DType dtype, const Shape& shape, bool is_view) {
  const int64_t limit = is_view ? kMaxTensorBytes : memory_limit();
  const int64_t item = static_cast<int64_t>(size_of(dtype));
  const std::optional<int64_t> count = count_if_representable(shape);
  if (count && *count <= limit / item) return;
  double bytes = static_cast<double>(item);
  for (const Dim& extent : shape) bytes *= static_cast<double>(extent.hint());
  fail(ErrorKind::memory, "{}: {} needs {}, but a tensor may take {}", op, describe(dtype, shape), format_bytes(bytes),
       format_bytes(static_cast<double>(limit)));
}

}  // namespace tsl
