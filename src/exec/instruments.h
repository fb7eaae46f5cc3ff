// The observers of one engine: its timeline, and what watches plans being made. Both may be set and unset between runs.
#pragma once

#include "exec/executable.h"
#include "exec/timeline.h"
#include "graph/compile.h"

namespace tsl::exec {

/// Watches graphs becoming plans, and plans becoming executables.
class PlanObserver : public graph::CompileObserver {
 public:
  virtual void on_executable(const Executable&) {}
};

struct Instruments {
  Timeline* timeline = nullptr;      // null: times are not recorded
  PlanObserver* observer = nullptr;  // null: nothing watches
};

}  // namespace tsl::exec
