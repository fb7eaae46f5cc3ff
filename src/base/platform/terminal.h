// The terminal of a file descriptor.
#pragma once

namespace tsl::platform {

bool is_terminal(int file);

struct TerminalSize {
  int columns = 0, rows = 0;  // 0: unknown
};

TerminalSize size_of_terminal(int file);

/// Makes the calling thread's characters those of Unicode during a scope, whatever the environment says.
class UnicodeScope {
 public:
  UnicodeScope();
  ~UnicodeScope();
  UnicodeScope(const UnicodeScope&) = delete;
  UnicodeScope& operator=(const UnicodeScope&) = delete;

 private:
  void* const made_;
  void* const before_;
};

}  // namespace tsl::platform
