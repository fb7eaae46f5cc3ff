// A language server: it answers an editor's requests about the texts that are open in it.
#pragma once

#include "analysis/workspace.h"

namespace tsl::lsp {

/// Serves the editor at two file descriptors until it leaves. `find_module` finds the modules that are no part of the
/// library. Returns the exit code: 0 if the editor has said that it would leave.
int serve(const Library& library, analysis::Workspace::FindModule find_module, int input, int output);

}  // namespace tsl::lsp
