// A library whose ops the host runs where it is missing.
#pragma once

#include <memory>
#include <utility>

#include "base/error.h"

namespace tsl::cuda {

template <class Opened> class OptionalLibrary {
 public:
  /// Opens the library when first asked, by Opened's constructor. Returns null if it is not installed, or cannot be
  /// used here.
  template <class... Arguments> Opened* open(Arguments&&... arguments) {
    if (is_tried_) return opened_.get();
    try {
      opened_ = std::make_unique<Opened>(std::forward<Arguments>(arguments)...);
    } catch (const Failure& failure) {
      if (failure.error().kind() != ErrorKind::device) throw;
    }
    is_tried_ = true;
    return opened_.get();
  }

 private:
  bool is_tried_ = false;
  std::unique_ptr<Opened> opened_;
};

}  // namespace tsl::cuda
