// What an editor asks about an open text. Each function takes the parameters of a request, and returns its result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/names.h"
#include "inference/types.h"
#include "lsp/document.h"

namespace tsl::lsp {

using Feature = Json (*)(analysis::Names& names, const Document& document, const Json& parameters);

/// Returns the diagnostics of a text: what check() finds.
Json find_diagnostics(analysis::Names& names, const Document& document);

/// What is known besides the text.
struct Project {
  analysis::Names& names;
  inference::Types& types;
  const std::map<std::string, Document>& open;  // by URI
};
using ProjectFeature = Json (*)(const Project& project, const Document& document, const Json& parameters);

Json hover(const Project& project, const Document& document, const Json& parameters);
/// Returns the types of variables that hold tensors, behind their names in a range.
Json inlay_hints(const Project& project, const Document& document, const Json& parameters);

Json completion(analysis::Names& names, const Document& document, const Json& parameters);
Json signature_help(analysis::Names& names, const Document& document, const Json& parameters);

/// These also know the files that the open texts import, and those beside the one that declares a name.
Json definition(const Project& project, const Document& document, const Json& parameters);
Json references(const Project& project, const Document& document, const Json& parameters);
Json highlights(analysis::Names& names, const Document& document, const Json& parameters);
Json prepare_rename(const Project& project, const Document& document, const Json& parameters);
/// Refuses a name that is none, and one with which the text would have errors that it has not now.
Json rename(const Project& project, const Document& document, const Json& parameters);

Json formatting(analysis::Names& names, const Document& document, const Json& parameters);
/// Returns the quick fixes of the diagnostics in a range: what their hints name.
Json code_actions(analysis::Names& names, const Document& document, const Json& parameters);

Json symbols(analysis::Names& names, const Document& document, const Json& parameters);
Json semantic_tokens(analysis::Names& names, const Document& document, const Json& parameters);
/// The kinds of tokens, as semantic_tokens() numbers them.
Json token_legend();

}  // namespace tsl::lsp
