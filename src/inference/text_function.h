// A function of a text, as a value of the Evaluator that reads the text.
#pragma once

#include "inference/evaluator.h"
#include "value/signature.h"

namespace tsl::inference {

struct Evaluator::TextFunction final : Function {
  explicit TextFunction(FunctionInfo known) : declared(std::move(known)) { info = &declared; }
  const FunctionInfo declared;
  const ast::Function* tree = nullptr;
  Activation* enclosing = nullptr;
  DType reals = DType::f32;  // of its file
};

/// Returns what a body returns; unknown if that fails, or depends on what is not known.
template <class Body> Value Evaluator::if_known(Body&& body) {
  try {
    return body();
  } catch (const Failure&) { return unknown(); }
}

}  // namespace tsl::inference
