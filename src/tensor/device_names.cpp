#include "tensor/device_names.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "base/error_names.h"

namespace tsl {

namespace {

/// Lists the names of devices: "cpu, cuda or cuda:N".
std::string describe_names() {
  std::string text(backend_name(0));
  const int count = backend_count();
  for (int i = 1; i < count; ++i)
    text += fmt::format(", {0}{1}{0}:N", backend_name(static_cast<uint8_t>(i)), i + 1 < count ? ", " : " or ");
  return text;
}

/// Returns the number of a backend with a known name; 0 for the host and any other name.
uint8_t find_backend(std::string_view name) {
  for (int i = backend_count() - 1; i > 0; --i) {
    if (backend_name(static_cast<uint8_t>(i)) == name) return static_cast<uint8_t>(i);
  }
  return 0;
}

}  // namespace

Device parse_device(std::string_view name, Device preferred) {
  if (name == backend_name(0)) return {};
  const size_t colon = name.find(':');
  Device device{find_backend(name.substr(0, colon)), 0};
  if (!device.is_host()) {
    if (colon == std::string_view::npos) return preferred.backend == device.backend ? preferred : device;
    const char* const last = name.data() + name.size();
    const auto [end, status] = std::from_chars(name.data() + colon + 1, last, device.ordinal);
    if (status == std::errc() && end == last) return device;
  }
  fail_with(ErrorName::unknown_device, fmt::format("unknown device '{}': {}", name, describe_names()),
            {"write \"cpu\", \"cuda\" or, for one of several GPUs, \"cuda:1\""});
}

}  // namespace tsl
