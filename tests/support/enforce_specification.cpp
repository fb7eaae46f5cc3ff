// Part of every test program that compiles graphs: the specification is checked in release builds, too.
#include "graph/spec.h"

[[maybe_unused]] static const bool is_enforced = (tsl::graph::enforce_specification(true), true);
