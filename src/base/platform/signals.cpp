#include "base/platform/signals.h"

#include <cstring>

#include <signal.h>

namespace tsl::platform {

int number_of(Signal signal) {
  switch (signal) {
    case Signal::interrupt: return SIGINT;
    case Signal::terminate: return SIGTERM;
    case Signal::hang_up: return SIGHUP;
    case Signal::kill: return SIGKILL;
    case Signal::resize: return SIGWINCH;
    case Signal::resume: return SIGCONT;
  }
  return 0;
}

std::string signal_text(int number) { return ::strsignal(number); }

bool handle_signal(Signal signal, SignalHandler handler, Interrupted calls) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = calls == Interrupted::goes_on ? SA_RESTART : 0;
  return ::sigaction(number_of(signal), &action, nullptr) == 0;
}

struct SignalScope::Before {
  int number;
  struct sigaction action;
};

SignalScope::SignalScope(Signal signal, SignalHandler handler) : before_(new Before{number_of(signal), {}}) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(before_->number, &action, &before_->action);
}

SignalScope::~SignalScope() { ::sigaction(before_->number, &before_->action, nullptr); }

struct BlockedSignals::Before {
  sigset_t mask;
};

BlockedSignals::BlockedSignals() : before_(new Before) {
  sigset_t all;
  ::sigfillset(&all);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&all, signal);
  ::pthread_sigmask(SIG_BLOCK, &all, &before_->mask);
}

BlockedSignals::~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_->mask, nullptr); }

}  // namespace tsl::platform
