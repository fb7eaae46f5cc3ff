#include "base/platform/child_process.h"

#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/platform/process.h"

namespace tsl::platform {

namespace {

struct Pipe {
  FileDescriptor read, write;
};

/// Makes a pipe if a stream is one. Returns false if that fails.
bool make_pipe(ChildStream stream, Pipe& pipe) {
  std::array<int, 2> ends;
  if (stream != ChildStream::piped) return true;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe = {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  return true;
}

/// Replaces a standard stream of the new process. It stays open there until the program is executed.
void lead(ChildStream stream, const Pipe& pipe, int standard) {
  if (stream == ChildStream::shared) return;
  const int file = stream == ChildStream::piped
                       ? pipe.write.number()
                       : ::open(kNullFile, (standard == kStandardInput ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
  if (file >= 0) ::dup2(file, standard);
}

/// Executes the program in the new process.
[[noreturn]] void become(char** arguments, const ChildOptions& options, const Pipe& output, const Pipe& errors) {
#if defined(__linux__)
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
  for (const auto& [name, value] : options.variables) set_variable(name, value);
  lead(options.output, output, kStandardOutput);
  lead(options.errors, errors, kStandardError);
  lead(options.input, {}, kStandardInput);
  ::execv("/proc/self/exe", arguments);
  ::execvp(arguments[0], arguments);
  ::_exit(options.refuse());
}

}  // namespace

Child start_this_program(char** arguments, const ChildOptions& options) {
  Pipe output, errors;
  if (!make_pipe(options.output, output) || !make_pipe(options.errors, errors)) return {};
  const int process = ::fork();
  if (process == 0) become(arguments, options, output, errors);
  return {process, std::move(output.read), std::move(errors.read)};
}

ChildChange look_at_child(int process) {
  int status = 0;
  if (::waitpid(process, &status, WNOHANG | WUNTRACED | WCONTINUED) != process) return {};
  if (WIFSTOPPED(status)) return {ChildChange::Kind::stopped, WSTOPSIG(status)};
  if (WIFCONTINUED(status)) return {ChildChange::Kind::resumed, 0};
  return change_of_status(status);
}

ChildChange change_of_status(int status) {
  if (WIFEXITED(status)) return {ChildChange::Kind::exited, WEXITSTATUS(status)};
  if (WIFSIGNALED(status)) return {ChildChange::Kind::signalled, WTERMSIG(status)};
  return {};
}

void send_signal(int process, Signal signal) { ::kill(process, number_of(signal)); }

}  // namespace tsl::platform
