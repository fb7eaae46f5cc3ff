// The base class of the generated parser.
#pragma once

#include <cstdint>

#include "antlr4-runtime.h"  // and nothing of the project: the generated files are C++17

namespace tsl {

/// Bounds the recursion of the generated parser, so that no input can overflow the stack.
class ParserBase : public antlr4::Parser {
 public:
  using Parser::Parser;

  /// Rules that may be active at once. A nested parenthesis takes three of them, an `if` in a block six. A
  /// rule's frames take up to 2 KiB under AddressSanitizer, of the 8 MiB that a main thread has.
  static constexpr int kMaxActiveRules = 3000;

  /// The id that the spans of errors carry.
  void set_source(uint32_t id) { source_ = id; }

  void enterRule(antlr4::ParserRuleContext* context, size_t state, size_t rule) override;
  void enterRecursionRule(antlr4::ParserRuleContext* context, size_t state, size_t rule, int precedence) override;
  /// Generated code calls it from a destructor, which must not throw: what is left out of the tree for want of memory,
  /// lacks_memory() tells.
  void unrollRecursionContexts(antlr4::ParserRuleContext* parent) override;

  bool lacks_memory() const { return lacks_memory_; }

 protected:
  /// Not virtual in the runtime: hides its namesake from the generated code, which calls it by name.
  void exitRule();

 private:
  void descend();

  uint32_t source_ = 0;
  int active_rules_ = 0;
  bool lacks_memory_ = false;
};

}  // namespace tsl
