// Converts ANTLR's parse tree to the abstract syntax tree.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "TslParser.h"
#include "base/text_names.h"
#include "syntax/ast.h"
#include "syntax/literals.h"
#include "syntax/token_source.h"

namespace tsl {

/// Builds the tree of one module in its arena. Names remain unbound; patterns and parameters get their Variables.
/// Throws Failure (syntax) for errors that the grammar accepts, and (limit) for a tree that is too high.
class TreeBuilder {
 public:
  using Parser = grammar::TslParser;

  /// The most levels of the tree: nesting, and chained operators and calls. Bounds the recursion of everything that
  /// walks it.
  static constexpr int kMaxHeight = 2000;

  TreeBuilder(const TokenSource& tokens, std::string_view text, TextNames& names, ast::Module& module)
      : tokens_(tokens), text_(text), names_(names), module_(module), arena_(module.arena) {}

  ast::Function* build(Parser::ModuleContext* context);
  /// Builds the function that a builtin's signature declares; it has no body. `rest` receives the last parameter if it
  /// is `...name`.
  ast::Function* build(Parser::DeclaredSignatureContext* context, ast::Parameter*& rest);

 private:
  // tree_builder.cpp: statements, functions and patterns.
  ast::Stmt* statement(Parser::StatementContext* context);
  ast::Stmt* statement_of(Parser::StatementContext* context);
  ast::Stmt* declaration(Parser::DeclarationContext* context);
  ast::Stmt* evaluation(Parser::EvaluationContext* context);
  ast::Stmt* module_import(Parser::ModuleImportContext* context);
  void use(Parser::DtypeUseContext* context);
  ast::Stmt* function_statement(Parser::FunctionContext* context);
  ast::Block* block(Parser::BlockContext* context);
  ast::List<ast::Stmt*> statements(const std::vector<Parser::StatementContext*>& contexts);
  ast::Pattern* pattern(Parser::PatternContext* context, bool is_mutable);
  ast::Pattern* parts(Parser::PartsContext* context, bool is_mutable);
  ast::Pattern* name_pattern(const antlr4::Token& name, bool is_mutable);
  ast::Function* function(Span span, Parser::SignatureContext* signature, Parser::FunctionBodyContext* body);
  ast::Parameter parameter(Parser::ParameterContext* context);
  void parameters(ast::Function& function, const std::vector<Parser::ParameterContext*>& contexts,
                  Parser::AnnotationContext* result);
  ast::Block* body(Parser::FunctionBodyContext* context);
  ast::Attribute attribute(Parser::AttributeContext* context);
  void check_target(const ast::Expr& target, bool has_op) const;

  // annotations.cpp
  /// The names of dimensions that a signature has bound.
  using Dims = std::vector<ast::Variable*>;
  ast::Annotation* annotation(ast::Function& function, Parser::AnnotationContext* context, Dims& dims);
  ast::Annotation* alternative(ast::Function& function, Parser::AlternativeContext* context, Dims& dims);
  ast::List<ast::Annotation*> parts(ast::Function& function, const std::vector<Parser::AnnotationContext*>& contexts,
                                    Dims& dims);
  ast::List<ast::Annotation*> held(ast::Function& function, Parser::BracketedContext* context, Dims& dims);
  ast::Annotation* held_type(ast::Function& function, Parser::ItemContext* context, Dims& dims);
  ast::List<ast::AnnotatedDim> sizes(ast::Function& function, Parser::BracketedContext* context, Dims& dims);
  ast::AnnotatedDim size(ast::Function& function, Parser::ItemContext* context, Dims& dims, bool is_operand);
  ast::AnnotatedDim named_size(ast::Function& function, const antlr4::Token& name, Dims& dims, bool is_operand);
  ast::Limits limits(Parser::LimitsContext* context);
  double limit(Parser::LimitContext* context);

  // expression_builder.cpp
  ast::Expr* expression(Parser::ExpressionContext* context);
  ast::Expr* operand(Parser::ExpressionContext* context);
  ast::Expr* negation(Parser::ExpressionContext* context);
  ast::Expr* extend(ast::Expr* left, Parser::ExpressionContext* context);
  ast::Expr* suffix(ast::Expr* object, Parser::ExpressionContext* context);
  ast::Expr* binary(ast::Expr* left, Parser::ExpressionContext* context);
  ast::Expr* chain(ast::Expr* left, Parser::ExpressionContext* context);
  ast::Expr* pipe(ast::Expr* left, Parser::ExpressionContext* context);
  void check_chain(Parser::ExpressionContext* context) const;
  ast::Expr* primary(Parser::PrimaryContext* context);
  ast::Expr* number(const antlr4::Token& token, Span span, bool negative);
  ast::Expr* parenthesized(Parser::ParenthesizedContext* context);
  ast::Expr* list(Parser::ListContext* context);
  [[noreturn]] void fail_on_item(Parser::ListItemContext& item, bool is_map) const;
  ast::Expr* record(Parser::RecordContext* context);
  ast::RecordEntry record_entry(Parser::RecordEntryContext* context);
  ast::Expr* conditional(Parser::ConditionalContext* context);
  ast::Expr* attempt(Parser::AttemptContext* context);
  ast::Expr* fstring(Parser::FstringContext* context);
  ast::FStringPart fstring_value(Parser::HoleContext* hole);
  ast::List<ast::Expr*> expressions(const std::vector<Parser::ExpressionContext*>& contexts);
  ast::List<ast::Argument> arguments(const std::vector<Parser::ArgumentContext*>& contexts);
  ast::IndexItem index_item(Parser::IndexItemContext* context);

  // Both
  template <class T, class... Args> T* make(ast::ExprKind kind, Span span, Args&&... args) {
    return arena_.make<T>(ast::Expr{kind, span}, std::forward<Args>(args)...);
  }
  template <class T, class... Args> T* make(ast::StmtKind kind, Span span, Args&&... args) {
    return arena_.make<T>(ast::Stmt{kind, span}, std::forward<Args>(args)...);
  }
  Span span_of(const antlr4::Token& token) const;
  Span span_of(const antlr4::ParserRuleContext& context) const;
  std::string_view text_of(const antlr4::Token& token) const;
  Name name_of(const antlr4::Token& token) { return names_.intern(text_of(token)); }
  Name string_of(const antlr4::Token& token);
  ast::Variable* variable(const antlr4::Token& token, bool is_mutable = false);
  /// Runs `build` for a node one level above its highest child.
  template <class Build> auto nested(Span span, Build build) {
    const int siblings = std::exchange(height_, 0);
    auto* node = build();
    grow(span);
    if (siblings > height_) height_ = siblings;
    return node;
  }
  void grow(Span span);

  const TokenSource& tokens_;
  std::string_view text_;
  TextNames& names_;
  ast::Module& module_;
  Arena& arena_;
  ast::Function* function_ = nullptr;  // the function being built
  bool is_described_ = false;          // within a function's type, whose dimensions bind nothing
  int height_ = 0;                     // of the highest node built since its parent was started
};

}  // namespace tsl
