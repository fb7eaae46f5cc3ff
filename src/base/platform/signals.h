// Signals: what a process is told from outside.
#pragma once

#include <csignal>
#include <memory>
#include <string>

namespace tsl::platform {

enum class Signal {
  interrupt,  // by Ctrl-C
  terminate,  // asks to end
  hang_up,    // the terminal has gone
  kill,       // ends, whatever the process does
  resize,     // the terminal has another size
  resume,     // goes on after a stop
};

/// Returns the system's number of a signal, to which shells add 128 for exit codes.
int number_of(Signal signal);
/// Returns the system's words for a signal.
std::string signal_text(int number);

/// What a handler may set besides lock-free atomics.
using SignalFlag = volatile std::sig_atomic_t;

/// A function that a signal calls at any moment. It may set globals, and do nothing that a signal may not interrupt.
using SignalHandler = void (*)(int number);

/// Whether a call of the system that a signal interrupts ends with EINTR, or goes on after the handler.
enum class Interrupted { ends, goes_on };

/// Sets the handler of a signal. Returns whether this succeeded.
bool handle_signal(Signal signal, SignalHandler handler, Interrupted calls = Interrupted::ends);

/// Sets the handler of a signal, which ends waiting calls, and at the end of a scope the one before.
class SignalScope {
 public:
  SignalScope(Signal signal, SignalHandler handler);
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  struct Before;
  const std::unique_ptr<Before> before_;
};

/// Blocks the signals that a process is sent, which are the host program's: the threads that this one starts inherit
/// that. Those of defects stay, so that a host that writes reports of crashes sees them.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  struct Before;
  const std::unique_ptr<Before> before_;
};

}  // namespace tsl::platform
