// Formulates the messages of syntax errors.
#pragma once

#include "antlr4-runtime.h"

#include "base/source.h"
#include "syntax/token_source.h"

namespace tsl {

/// Turns the first error of the generated parser into a Failure; there is no recovery.
class ErrorStrategy final : public antlr4::ANTLRErrorStrategy {
 public:
  ErrorStrategy(const Source& source, uint32_t id, const TokenSource& tokens)
      : source_(source), id_(id), tokens_(tokens) {}

  /// Whether the error was that the text ended too early.
  bool is_at_end() const { return is_at_end_; }

  void reset(antlr4::Parser*) override {}
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void recover(antlr4::Parser*, std::exception_ptr) override {}
  void sync(antlr4::Parser*) override {}  // would search for errors before each decision; they are found without it
  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser*) override {}
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) override;

 private:
  [[noreturn]] void raise(antlr4::Parser& parser, const antlr4::Token& found, bool is_expectation_known);

  const Source& source_;
  uint32_t id_;
  const TokenSource& tokens_;
  bool is_at_end_ = false;
};

}  // namespace tsl
