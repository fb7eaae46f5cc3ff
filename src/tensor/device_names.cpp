#include "tensor/device_names.h"

#include <charconv>

#include "base/error.h"

namespace tsl {

Device parse_device(std::string_view name, Device cuda) {
  constexpr std::string_view kPrefix = "cuda:";
  if (name == "cpu") return {};
  if (name == "cuda") return cuda.is_host() ? Device{Device::Kind::cuda, 0} : cuda;
  if (name.starts_with(kPrefix)) {
    uint8_t ordinal = 0;
    const char* last = name.data() + name.size();
    const auto [end, status] = std::from_chars(name.data() + kPrefix.size(), last, ordinal);
    if (status == std::errc() && end == last) return {Device::Kind::cuda, ordinal};
  }
  fail(ErrorKind::device, "unknown device '{}': cpu, cuda or cuda:N", name);
}

}  // namespace tsl
