// The base class of the generated parser.
#pragma once

#include <cstdint>

#include "antlr4-runtime.h"  // and nothing of the project: the generated files are C++17

namespace tsl {

class GrowingBytes;

/// Bounds the recursion of the generated parser, so that no input can overflow the stack, and counts the tree.
class ParserBase : public antlr4::Parser {
 public:
  using Parser::Parser;

  /// The most active rules. A nested parenthesis takes three, an `if` in a block six. A rule's frames take up to 2 KiB
  /// under AddressSanitizer, of the main thread's 8 MiB.
  static constexpr int kMaxActiveRules = 3000;

  /// Sets the source id of errors' spans.
  void set_source(uint32_t id) { source_ = id; }
  /// Sets where the bytes of the tree's nodes are counted. It throws Failure (limit).
  void count_in(GrowingBytes& bytes) { bytes_ = &bytes; }

  void enterRule(antlr4::ParserRuleContext* context, size_t state, size_t rule) override;
  void enterRecursionRule(antlr4::ParserRuleContext* context, size_t state, size_t rule, int precedence) override;
  /// Called by generated code in a destructor, so it must not throw: if memory runs out, the tree is incomplete, and
  /// lacks_memory() returns true.
  void unrollRecursionContexts(antlr4::ParserRuleContext* parent) override;

  bool lacks_memory() const { return lacks_memory_; }

 protected:
  /// Not virtual in the runtime: replaces the runtime's function for generated code, which calls it by name.
  void exitRule();

 private:
  void descend();

  uint32_t source_ = 0;
  GrowingBytes* bytes_ = nullptr;
  int active_rules_ = 0;
  bool lacks_memory_ = false;
};

}  // namespace tsl
