#include "exec/backend_registry.h"

#include "base/error_names.h"

namespace tsl::exec {

BackendRegistry::BackendRegistry(std::vector<BackendEntry> entries) {
  for (const BackendEntry& entry : entries) rows_.push_back({backend_number(entry.name), entry});
}

const BackendEntry& BackendRegistry::at(Device device) const {
  for (const Row& row : rows_) {
    if (row.backend == device.backend) return row.entry;
  }
  fail(ErrorName::no_device, "no backend for {}", to_string(device));
}

RangeSink* BackendRegistry::ranges() const {
  for (const Row& row : rows_) {
    if (!row.entry.ranges) continue;
    if (RangeSink* ranges = row.entry.ranges()) return ranges;
  }
  return nullptr;
}

}  // namespace tsl::exec
