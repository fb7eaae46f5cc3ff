// Processes that this one starts and watches.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/platform/file_descriptor.h"
#include "base/platform/signals.h"

namespace tsl::platform {

/// Where a stream of a child leads: where that of this process does, to a pipe of this process, or to no file.
enum class ChildStream { shared, piped, nowhere };

struct ChildOptions {
  std::vector<std::pair<const char*, std::string>> variables;  // set in its environment
  ChildStream input = ChildStream::shared;                     // which cannot be piped
  ChildStream output = ChildStream::shared, errors = ChildStream::shared;
  /// Says in the child that the program cannot be executed, with the reason in errno. Returns its exit code.
  std::function<int()> refuse;
};

struct Child {
  int process = -1;               // -1: it could not be started, and errno says why
  FileDescriptor output, errors;  // the ends of pipes
};

/// Starts this program once more, with other arguments, as arguments of main() are. The child is asked to end when this
/// process ends.
Child start_this_program(char** arguments, const ChildOptions& options);

/// What has become of a child.
struct ChildChange {
  enum class Kind { none, stopped, resumed, exited, signalled };
  Kind kind = Kind::none;
  int number = 0;  // the exit code, or the signal
};

/// Returns what has changed since the last look.
ChildChange look_at_child(int process);
/// Reads the status that std::system() returns: exited, signalled, or none.
ChildChange change_of_status(int status);

void send_signal(int process, Signal signal);

}  // namespace tsl::platform
