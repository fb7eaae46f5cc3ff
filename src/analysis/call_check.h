// Checks the calls of a program before it runs: the number and the names of arguments, and the members of modules.
#pragma once

#include <vector>

#include "analysis/names.h"
#include "base/error.h"
#include "syntax/ast.h"

namespace tsl::analysis {

/// Returns the errors of a resolved module that each run of the code at fault would raise. Reads the modules that it
/// imports, but runs none. Code in a `try` is not checked: it may be there for its error.
std::vector<Error> find_call_errors(Names& names, const ast::Module& module);

}  // namespace tsl::analysis
