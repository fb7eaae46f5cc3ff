// What tests leave out in a build without OpenBLAS, which has no LAPACK. Such a case is counted as skipped, and says
// how many of its programs are left out.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "catch/skip.h"

namespace tsl {

/// Says whether a message is that of a program that needs OpenBLAS, in a build without it.
inline bool lacks_openblas(std::string_view text) {
  return text.find("TSL was built without OpenBLAS") != std::string_view::npos;
}

/// Counts the programs that a case leaves out, and tells their number at its end.
class WithoutOpenBlas {
 public:
  WithoutOpenBlas() = default;
  WithoutOpenBlas(const WithoutOpenBlas&) = delete;
  WithoutOpenBlas& operator=(const WithoutOpenBlas&) = delete;
  ~WithoutOpenBlas() {
    if (count_ > 0) skip_case(fmt::format("TSL was built without OpenBLAS: {} of its programs need it", count_));
  }

  /// Counts a program if it needs OpenBLAS, as its message says. Returns whether it does.
  bool leaves_out(std::string_view message) {
    const bool lacks = lacks_openblas(message);
    count_ += lacks;
    return lacks;
  }
  /// Runs what a case does with one program, which is left out if the program needs OpenBLAS.
  template <class Part> void run(const Part& part) {
    try {
      part();
    } catch (const Failure& failure) {
      if (!leaves_out(failure.error().message)) throw;
    }
  }
  long count() const { return count_; }

 private:
  long count_ = 0;
};

}  // namespace tsl
