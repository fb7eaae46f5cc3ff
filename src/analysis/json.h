// Formats what analyses find as JSON, for editors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/call_help.h"
#include "analysis/completion.h"
#include "base/error.h"

namespace tsl::analysis {

/// Formats errors and warnings as a JSON array: {"file", "line", "column", "end_line", "end_column", "severity",
/// "kind", "name", "message", "hints", "notes", "related", "frames"} each; "frames" are listed_calls().
std::string diagnostics_json(const std::vector<Error>& errors, const SourceMap& sources);

/// Formats one of them as an object in a line. The other errors that it carries follow in lines of their own.
std::string error_json(const Error& error, const SourceMap& sources);

/// Returns the calls of an error that JSON lists: of more than 1,000 the 500 innermost and the 500 outermost ones.
std::vector<CallSite> listed_calls(const Error& error);

/// Formats what could stand at a cursor as a JSON object: {"begin", "candidates": [{"text", "kind", "doc"}], "call":
/// {"declaration", "parameters": [[begin, end]], "active", "doc"}}; "call" is null without one.
std::string completion_json(const Completion& completion, const std::optional<CallHelp>& call);

}  // namespace tsl::analysis
