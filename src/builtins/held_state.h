// Makes values of the states of builtins, which a program passes on and gives back.
#pragma once

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/error_names.h"
#include "value/value.h"

namespace tsl {

/// Makes a value that ends with the state that it holds.
template <class State> Value make_held(const ForeignType& type, std::unique_ptr<State> state) {
  auto value = make_ref<Foreign>(&type);
  value->data = state.release();
  value->finalizer = [](void* data) { delete static_cast<State*>(data); };
  return value;
}

/// Returns the state in a value of make_held(). Throws Failure (type) that names `call`, whose result it is to be.
template <class State> const State& expect_held(const ForeignType& type, const Value& value, const char* call) {
  if (!value.is(Tag::foreign) || value.as<Foreign>().type != &type)
    fail_argument(ErrorName::wrong_argument_type, type.name,
                  fmt::format("{} is what {}() returns, not {}", type.name, call, type_name(value)));
  return *static_cast<const State*>(original_of(value).as<Foreign>().data);
}

}  // namespace tsl
