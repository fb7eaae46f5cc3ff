#include "tensor/device_names.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace tsl {

namespace {

constexpr size_t kMaxKinds = 128;  // keys of plans have 7 bits for a kind

struct Kinds {
  std::mutex mutex;
  std::vector<std::string_view> names{"cpu"};  // by kind
};

Kinds& kinds() {
  static Kinds* const kinds = new Kinds;  // never destroyed: tensors may be described until the process ends
  return *kinds;
}

std::vector<std::string_view> kind_names() {
  const std::lock_guard lock(kinds().mutex);
  return kinds().names;
}

/// "cpu, cuda or cuda:N"
std::string describe_names(const std::vector<std::string_view>& names) {
  std::string text(names[0]);
  for (size_t i = 1; i < names.size(); ++i)
    text += fmt::format(", {0}{1}{0}:N", names[i], i + 1 < names.size() ? ", " : " or ");
  return text;
}

}  // namespace

Device::Kind device_kind(std::string_view name) {
  const std::lock_guard lock(kinds().mutex);
  std::vector<std::string_view>& names = kinds().names;
  const auto found = std::find(names.begin(), names.end(), name);
  const size_t kind = static_cast<size_t>(found - names.begin());
  assert(kind < kMaxKinds);
  if (found == names.end()) names.push_back(name);
  return static_cast<Device::Kind>(kind);
}

std::string_view name_of(Device::Kind kind) {
  const std::lock_guard lock(kinds().mutex);
  return kinds().names[static_cast<size_t>(kind)];
}

Device parse_device(std::string_view name, Device preferred) {
  const std::vector<std::string_view> names = kind_names();
  if (name == names[0]) return {};
  const size_t colon = name.find(':');
  const auto found = std::find(names.begin() + 1, names.end(), name.substr(0, colon));
  if (found != names.end()) {
    Device device{static_cast<Device::Kind>(found - names.begin()), 0};
    if (colon == std::string_view::npos) return preferred.kind == device.kind ? preferred : device;
    const char* const last = name.data() + name.size();
    const auto [end, status] = std::from_chars(name.data() + colon + 1, last, device.ordinal);
    if (status == std::errc() && end == last) return device;
  }
  fail(ErrorKind::device, "unknown device '{}': {}", name, describe_names(names));
}

}  // namespace tsl
