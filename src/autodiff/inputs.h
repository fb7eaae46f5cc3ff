// The arguments by which a function is differentiated, and gradients that are given for its value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "autodiff/leaves.h"
#include "autodiff/tape.h"

namespace tsl {

class Context;

/// The arguments by which a function is differentiated.
class Inputs {
 public:
  /// Adds an argument. Its tensors are replaced by new handles on the tape, so that only computations from this
  /// argument are differentiated, and not those from other uses of the same tensors.
  void add(Context& context, Tape& tape, Value& argument);

  size_t count() const { return count_; }

  /// Arranges the gradients of the tape's inputs in the structure of each argument; nil where nothing can be
  /// differentiated.
  std::vector<Value> assemble(std::span<const Tensor> gradients) const;

 private:
  std::vector<Value> input_masks_;  // the arguments' structure: true at the tape's inputs, nil elsewhere
  size_t count_ = 0;
};

/// Who gives gradients, and of what, for messages.
struct GradientGiver {
  std::string_view gradient, needs, like;
};
inline constexpr GradientGiver kForPullback{"the gradient given to a pullback", "a pullback needs",
                                            "the function's value"};
inline constexpr GradientGiver kByRule{"the gradient that a rule returns", "a rule must return",
                                       "the function's argument"};

/// Collects the tensors of a value that receive a gradient, with those gradients.
class GivenGradients {
 public:
  GivenGradients(Context& context, const GradientGiver& giver) : context_(context), giver_(giver) {}

  /// Adds the gradients of a value, which are built like it. Either may be nil, where nothing flows.
  void match(const Value& value, const Value& gradient);

  std::span<const Tensor> tensors() const { return tensors_; }
  std::span<const Tensor> gradients() const { return gradients_; }

 private:
  [[noreturn]] void differs(const std::string& how) const;
  void match_items(const std::vector<Value>& values, const std::vector<Value>& gradients);
  void match_records(Record& values, Record& gradients);
  void match_maps(const Value& values, Map& gradients);
  void add(const Tensor& tensor, const Value& given);

  Context& context_;
  const GradientGiver& giver_;
  std::vector<Tensor> tensors_, gradients_;
};

}  // namespace tsl
