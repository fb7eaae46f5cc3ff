// A check for tests: runs each plan a second time with every buffer in memory of its own, and compares bits launch by
// launch. It finds values that are overwritten too early, and reads of memory that nothing wrote.
#pragma once

#include <memory>
#include <string_view>

#include "exec/backend.h"

namespace tsl::exec {

/// How the message of a difference begins.
inline constexpr std::string_view kWrongSharing = "memory is shared wrongly";

/// Whether plans are checked: the environment variable TSL_CHECK_SHARING=1 was set when the program started.
bool checks_sharing();

/// Returns the plan without aliases, donors and reuse of the arena.
graph::Plan isolated(graph::Plan plan);

/// Makes an executable that runs `checked` and, before it, its isolated plan as Backend::prepare_plain() prepares it.
/// Memory is compared before and after each launch. A run with a difference throws a final Failure that names the
/// launch, the buffer, the first element that differs, and the line.
std::unique_ptr<Executable> check_sharing(Backend& backend, std::unique_ptr<Executable> checked);

}  // namespace tsl::exec
