// Shows the signature of the call whose arguments are being typed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/meaning.h"

namespace tsl::analysis {

struct CallHelp {
  std::string declaration;            // "sum(x: array, axis: integers | nil = nil)"
  std::vector<ByteRange> parameters;  // where each is in it
  int active = -1;                    // the parameter that is being typed; -1: there is none for it
  std::string doc;
};

/// Returns the help for the innermost call around the cursor; nothing outside of calls, or if the function is not
/// known. `path` is the file of the text, or empty.
std::optional<CallHelp> call_help(Names& names, std::string_view text, size_t cursor, const std::string& path = "");

}  // namespace tsl::analysis
