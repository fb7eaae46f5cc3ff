// The backends that an engine may open besides the host's, by their names.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "exec/backend.h"
#include "exec/backend_options.h"

namespace tsl::exec {

/// What a backend tells of itself before any of its devices is open.
struct BackendEntry {
  std::string_view name;       // of its devices: "cuda" for cuda:0, cuda:1, …
  bool is_default_place;       // if it has a device, tensors are made there unless a program names another one
  void (*probe)(int ordinal);  // throws Failure (device), with the reason, if there is no such device; opens nothing
  /// Opens a device. What it cannot compute may run on `host`, which outlives the backend.
  std::unique_ptr<exec::Backend> (*open)(int ordinal, exec::Backend& host, const BackendOptions& options);
};

class BackendRegistry {
 public:
  /// Gives each entry's name a number.
  explicit BackendRegistry(std::vector<BackendEntry> entries);

  struct Row {
    uint8_t backend;  // a backend_number()
    BackendEntry entry;
  };
  std::span<const Row> rows() const { return rows_; }
  /// The backend of a device that is not the host. Throws Failure (device) if it is not registered.
  const BackendEntry& at(Device device) const;

 private:
  std::vector<Row> rows_;
};

}  // namespace tsl::exec
