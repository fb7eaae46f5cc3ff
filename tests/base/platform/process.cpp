// Tests what the system knows of this process and of its children, and its signals.
#include "base/platform/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/platform/child_process.h"
#include "base/platform/dynamic_library.h"
#include "base/platform/memory_pages.h"
#include "base/platform/signals.h"
#include "base/platform/terminal.h"
#include "base/platform/timing.h"
#include "catch.h"

using namespace tsl::platform;

namespace {

SignalFlag flag = 0;
void set_flag(int number) { flag = number; }
void set_flag_below(int number) { flag = -number; }

/// Waits until a child has changed.
ChildChange next_change(int process) {
  for (;;) {
    const ChildChange change = look_at_child(process);
    if (change.kind != ChildChange::Kind::none) return change;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Reads a pipe until its end.
std::string text_from(const FileDescriptor& file) {
  std::string text(1 << 16, '\0');
  size_t size = 0;
  for (ptrdiff_t count; (count = read_some(file.number(), text.data() + size, text.size() - size)) > 0;)
    size += static_cast<size_t>(count);
  text.resize(size);
  return text;
}

}  // namespace

TEST_CASE("a process has a number, a user, a program and a beginning") {
  CHECK(process_number() == getpid());
  CHECK(parent_number() == getppid());
  CHECK(user_number() == getuid());
  CHECK(std::filesystem::path(program_path()).filename() == "test_base");
  CHECK(file_of_code(reinterpret_cast<const void*>(&set_flag)).ends_with("test_base"));
  CHECK(file_of_code(nullptr).empty());
  const std::string start = start_of_process(process_number());
  CHECK(std::stoull(start) > 0);
  CHECK(start_of_process(process_number()) == start);
  CHECK(start_of_process(-1).empty());
  const auto bits = random_of_process();
  CHECK(bits == random_of_process());
  CHECK(bits[0] != bits[1]);
}

TEST_CASE("a fork is counted in the child, and a child that has ended has no beginning") {
  const std::atomic<uint32_t>& forks = fork_counter();
  const uint32_t before = forks;
  const int child = fork();
  if (child == 0) _exit(static_cast<int>(forks.load() - before));
  siginfo_t ended = {};
  CHECK(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(start_of_process(child).empty());
  const ChildChange change = look_at_child(child);
  CHECK(change.kind == ChildChange::Kind::exited);
  CHECK(change.number == 1);
  CHECK(forks == before);
}

TEST_CASE("a program starts itself, and reads what its child writes") {
  std::string name = "test_base", list = "--list-tags";
  char* arguments[] = {name.data(), list.data(), nullptr};
  ChildOptions options;
  options.variables = {{"TSL_TEST_OF_CHILD", "set"}};
  options.input = ChildStream::nowhere;
  options.output = ChildStream::piped;
  options.errors = ChildStream::piped;
  options.refuse = [] { return 3; };
  const Child child = start_this_program(arguments, options);
  REQUIRE(child.process > 0);
  CHECK(text_from(child.output).find("tag") != std::string::npos);
  CHECK(text_from(child.errors).empty());
  CHECK(next_change(child.process).kind == ChildChange::Kind::exited);
  CHECK(!std::getenv("TSL_TEST_OF_CHILD"));
  CHECK(look_at_child(child.process).kind == ChildChange::Kind::none);
}

TEST_CASE("what becomes of a child is seen: stopped, resumed, signalled, exited") {
  const int child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  CHECK(look_at_child(child).kind == ChildChange::Kind::none);
  kill(child, SIGSTOP);
  CHECK(next_change(child).kind == ChildChange::Kind::stopped);
  send_signal(child, Signal::resume);
  CHECK(next_change(child).kind == ChildChange::Kind::resumed);
  send_signal(child, Signal::kill);
  const ChildChange last = next_change(child);
  CHECK(last.kind == ChildChange::Kind::signalled);
  CHECK(last.number == number_of(Signal::kill));
  CHECK(signal_text(last.number) == "Killed");
  const ChildChange end = change_of_status(std::system("exit 3"));
  CHECK(end.kind == ChildChange::Kind::exited);
  CHECK(end.number == 3);
}

TEST_CASE("a signal calls its handler during a scope") {
  const SignalScope outer(Signal::resize, set_flag_below);
  {
    const SignalScope inner(Signal::resize, set_flag);
    send_signal(process_number(), Signal::resize);
    CHECK(flag == SIGWINCH);
  }
  send_signal(process_number(), Signal::resize);
  CHECK(flag == -SIGWINCH);
}

TEST_CASE("blocked signals are those of the host program, and wait until the end of the scope") {
  const SignalScope scope(Signal::resize, set_flag);
  flag = 0;
  {
    const BlockedSignals blocked;
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    CHECK(sigismember(&now, SIGINT) == 1);
    CHECK(sigismember(&now, SIGSEGV) == 0);
    pthread_kill(pthread_self(), SIGWINCH);
    CHECK(flag == 0);
  }
  CHECK(flag == SIGWINCH);
}

TEST_CASE("libraries are loaded, and say why not") {
  DynamicLibrary library("libc.so.6");
  REQUIRE(library);
  CHECK(library.find("malloc"));
  CHECK(!library.find("tsl_no_such_function"));
  CHECK(library.path().find("libc.so.6") != std::string::npos);
  const DynamicLibrary moved = std::move(library);
  CHECK(moved.find("malloc"));
  CHECK(!library.find("malloc"));
  const std::string missing = "libtsl-is-not-there.so";
  CHECK(!DynamicLibrary(missing, DynamicLibrary::Binding::eager));
  const std::string problem = loading_problem();
  CHECK(says_no_such_library(problem, missing));
  CHECK(!says_no_such_library(problem, "other.so"));
  CHECK(loading_problem().empty());
}

TEST_CASE("memory of the system is zeros, which can be large pages") {
  constexpr size_t kBytes = size_t{4} << 20;
  auto* const bytes = static_cast<char*>(take_pages(kBytes));
  REQUIRE(bytes);
  ask_for_large_pages(bytes, kBytes);
  CHECK(bytes[0] == 0);
  bytes[kBytes - 1] = 1;
  CHECK(bytes[kBytes - 2] == 0);
  CHECK(!take_pages(~size_t{0} >> 1));
}

TEST_CASE("the coarse clock is near the steady one, and a file is no terminal") {
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  CHECK(std::abs(coarse_seconds() - now) < 1);
  const FileDescriptor nowhere = open_to_read(kNullFile);
  CHECK(!is_terminal(nowhere.number()));
  CHECK(size_of_terminal(nowhere.number()).columns == 0);
}
