// The errors of functions that must be compiled in one piece, @compile(whole: true): what splits them, or has them
// interpreted. No `try` catches them, since they are not raised where nothing is compiled.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "jit/trace_observer.h"

namespace tsl {

struct Proto;

}  // namespace tsl

namespace tsl::jit {

/// Throws Failure (limit): the function is split at the operation that runs. `related`: where what it needs is
/// computed.
[[noreturn]] void fail_split(const Proto& function, SegmentEndKind kind, std::vector<RelatedPlace> related = {});
/// Throws Failure (limit): the function is interpreted, from the operation that runs on or wholly.
[[noreturn]] void fail_interpreted(const Proto& function, const std::string& reason, std::string hint = "");

}  // namespace tsl::jit
