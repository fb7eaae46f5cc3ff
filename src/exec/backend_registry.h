// The backends that an engine may open besides the host's, by name.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_names.h"
#include "exec/backend.h"
#include "exec/backend_options.h"

namespace tsl::exec {

/// The error where there is no device at all, which is usual: no driver, no GPU, or a build without the backend. Any
/// other error says that a device cannot be used.
class NoDevice : public Failure {
 public:
  explicit NoDevice(std::string message) : Failure(Error{ErrorName::no_device, std::move(message), {}, {}, {}}) {}
};

/// The properties of a backend that are known before a device is open.
struct BackendEntry {
  std::string_view name;       // of its devices: "cuda" for cuda:0, cuda:1, …
  bool is_default_place;       // if it has a device, tensors are made there by default
  void (*probe)(int ordinal);  // opens nothing; throws NoDevice, or Failure (device) for a device that cannot be used
  /// Opens a device. What it cannot compute runs on `host`, which outlives the backend.
  std::unique_ptr<exec::Backend> (*open)(int ordinal, exec::Backend& host, const BackendOptions& options);
  /// Returns what is missing for programs to run on a device that probe() accepts, or "": such a device is no default
  /// place. Null: nothing ever is.
  std::string (*missing)(int ordinal) = nullptr;
  /// Returns the ranges of the vendor's profiler, if one is attached to the process, else null. Null: it has none.
  RangeSink* (*ranges)() = nullptr;
};

class BackendRegistry {
 public:
  /// Numbers each entry's name.
  explicit BackendRegistry(std::vector<BackendEntry> entries);

  struct Row {
    uint8_t backend;  // a backend_number()
    BackendEntry entry;
  };
  std::span<const Row> rows() const { return rows_; }
  /// Returns the backend of a device that is not the host. Throws Failure (device) if it is not registered.
  const BackendEntry& at(Device device) const;
  /// Returns the ranges of a profiler that is attached, or null.
  RangeSink* ranges() const;

 private:
  std::vector<Row> rows_;
};

}  // namespace tsl::exec
