#include "inference/types.h"

#include <algorithm>

#include "analysis/unfinished_source.h"
#include "inference/evaluator.h"

namespace tsl::inference {

Types::Types(const Library& library) : library_(library) {}
Types::~Types() = default;

std::vector<TypedName> Types::find(analysis::Names& names, const std::string& text, const std::string& path) {
  std::vector<TypedName> found;
  const std::shared_ptr<const ast::Module> module = analysis::read_unfinished(names, text, path);
  if (!module) return found;
  if (!sketch_) sketch_ = std::make_unique<Sketch>(library_);
  const RunWatch::Scope scope(sketch_->watch, {});
  sketch_->begin();
  for (auto& [variable, type] : Evaluator(*sketch_, names).run(*module)) {
    const Span place = names.span_in_text(variable->span);
    if (!type.text.empty() && variable->span.valid() && place.source == module->source)
      found.push_back({place, std::move(type.text), type.has_tensor});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name.begin < b.name.begin; });
  return found;
}

}  // namespace tsl::inference
