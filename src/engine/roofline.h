// The speed of a device at most, measured and kept.
#pragma once

#include <functional>
#include <string>

#include "engine/engine.h"
#include "profile/roofline.h"

namespace tsl {

/// The speed of a device's memory and of its f32 arithmetic, as TSL's own kernels reach it. The first use for its
/// hardware measures it, which takes about a second, and keeps it in the user's cache folder.
class RooflineStore {
 public:
  /// `options`: threads, device options.
  RooflineStore(const exec::Backend& backend, Device device, const EngineOptions& options);

  /// Measures again if kernels exceed what was measured, at most a few times in all.
  void check(const std::function<bool(const report::Roofline&)>& exceeds);
  /// Returns what was measured; nothing but zeros if that failed.
  report::Roofline roofline() const;

 private:
  void measure_once_more();

  const exec::Backend& backend_;
  const Device device_;
  const EngineOptions& options_;
  const std::string hardware_;
  std::string path_;  // of the file of measurements; "": none
  report::Roofline roofline_;
  int times_measured_ = 0;
};

/// Returns the roofline of a device.
report::Roofline roofline_of(const exec::Backend& backend, Device device, const EngineOptions& options);

}  // namespace tsl
