#include "analysis/occurrences.h"

#include <algorithm>

#include "analysis/unfinished_source.h"
#include "syntax/tree_walk.h"

namespace tsl::analysis {

using ast::as;

namespace {

struct Occurrence {
  const ast::Variable* variable;
  Span span;
};

/// Collects the places of a tree that name a variable.
class OccurrenceWalk {
 public:
  explicit OccurrenceWalk(const Names& names) : names_(names) {}

  std::vector<Occurrence> run(const ast::Function& main) {
    function(main);
    const auto at_statement = [this](const ast::Stmt& statement, bool) {
      if (statement.kind == ast::StmtKind::function) function(*as<ast::FunctionStmt>(statement).function);
    };
    const auto at_expression = [this](const ast::Expr& e, bool) {
      if (e.kind == ast::ExprKind::lambda) function(*as<ast::LambdaExpr>(e).function);
      if (e.kind == ast::ExprKind::name) add(as<ast::NameExpr>(e).variable, e.span);
    };
    walk_tree(main, {at_statement, at_expression});
    return std::move(found_);
  }

 private:
  void add(const ast::Variable* variable, Span span) {
    if (variable && span.valid()) found_.push_back({variable, names_.span_in_text(span)});
  }
  void function(const ast::Function& function) {
    for (const ast::Variable* variable : function.variables) add(variable, variable->span);
    for (const ast::Parameter& parameter : function.parameters) annotation(parameter.annotation);
    annotation(function.returns);
  }
  void annotation(const ast::Annotation* annotation) {
    for_each_dim(annotation, [&](const ast::AnnotatedDim& dim) { add(dim.variable, dim.span); });
  }

  const Names& names_;
  std::vector<Occurrence> found_;
};

}  // namespace

std::optional<Occurrences> find_occurrences(Names& names, std::string_view text, size_t offset,
                                            const std::string& path) {
  const std::shared_ptr<const ast::Module> module = read_unfinished(names, std::string(text), path);
  if (!module) return {};
  const std::vector<Occurrence> all = OccurrenceWalk(names).run(*module->main);
  const auto at = std::find_if(all.begin(), all.end(), [&](const Occurrence& each) {
    return each.span.begin <= offset && offset < each.span.end;
  });
  if (at == all.end() || names.span_in_text(at->variable->span).source != module->source) return {};
  Occurrences found{names.span_in_text(at->variable->span), {}};
  for (const Occurrence& each : all) {
    if (each.variable == at->variable) found.spans.push_back(each.span);
  }
  const auto is_before = [](Span a, Span b) { return a.begin < b.begin; };
  std::sort(found.spans.begin(), found.spans.end(), is_before);
  found.spans.erase(std::unique(found.spans.begin(), found.spans.end()), found.spans.end());
  return found;
}

}  // namespace tsl::analysis
