// The standard input of the process, which all engines share.
#pragma once

#include <mutex>
#include <optional>
#include <string>

namespace tsl {

/// Reads standard input. Waiting ends where the run ends: at an interrupt and at a deadline.
class StandardInput {
 public:
  static StandardInput& of_process();

  /// Reads a line without its end; nothing at the end of the input.
  std::optional<std::string> read_line();
  /// Reads what is left.
  std::string read_all();

 private:
  StandardInput() = default;
  /// Waits for more. Returns false at the end of the input.
  bool fill();

  std::mutex mutex_;
  std::string buffer_;
  size_t at_ = 0;  // the first byte of the buffer that was not taken
};

}  // namespace tsl
