#include "syntax/parser_base.h"

#include <new>

#include "base/error_names.h"
#include "base/platform/stack_room.h"
#include "base/run_watch.h"
#include "syntax/fail_at.h"

namespace tsl {

namespace {

// Of a rule: its node, the list of its children, and its place in the runtime's list of nodes.
constexpr uint64_t kNodeBytes = 160;

}  // namespace

void ParserBase::descend() {
  if (active_rules_ >= kMaxActiveRules || platform::is_stack_short()) {
    const antlr4::Token* token = getCurrentToken();
    const auto begin = static_cast<uint32_t>(token->getStartIndex());
    fail_at(ErrorName::program_too_deep, {source_, begin, begin + 1}, "the program is nested too deeply here");
  }
  if (bytes_) bytes_->add(kNodeBytes);
  ++active_rules_;
}

void ParserBase::enterRule(antlr4::ParserRuleContext* context, size_t state, size_t rule) {
  descend();
  Parser::enterRule(context, state, rule);
}

void ParserBase::exitRule() {
  Parser::exitRule();
  --active_rules_;
}

void ParserBase::enterRecursionRule(antlr4::ParserRuleContext* context, size_t state, size_t rule, int precedence) {
  descend();
  Parser::enterRecursionRule(context, state, rule, precedence);
}

void ParserBase::unrollRecursionContexts(antlr4::ParserRuleContext* parent) {
  try {
    Parser::unrollRecursionContexts(parent);
  } catch (const std::bad_alloc&) { lacks_memory_ = true; }
  --active_rules_;
}

}  // namespace tsl
