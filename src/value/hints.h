// Hints of errors at run time: what to write where a value of another type, or a member of an object, is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"
#include "value/value.h"

namespace tsl {

/// What an argument, an operand or a condition must be.
enum class Wanted : uint8_t { tensor, list, text, integer, real, boolean, function, dtype };

/// Returns a hint that says how to make what is wanted of a value of another type; "" if there is no one way.
std::string hint_to_make(Wanted wanted, const Value& given);
/// Returns a hint that says how values of a kind, as annotations name it, are written; "" if there is none.
std::string hint_for_kind(std::string_view kind);
/// As a list of hints, for errors.
std::vector<std::string> hints_to_make(Wanted wanted, const Value& given);

/// Returns a hint for a value that an operator, a call, an index or a loop does not take, and that is nil; else "".
std::string hint_for_nil(const Value& given);
/// Returns a hint for the call of a value that is no function.
std::string hint_for_call(const Value& callee);
/// Whether a value is a function by which other languages name a type, and the other the text that names one.
bool is_type_beside_name(const Value& function, const Value& name);
/// Returns a hint for a loop over a value that has no items.
std::string hint_for_loop(const Value& iterable);

/// Says what a tensor has for a member of other libraries, read or called; "" if it has nothing.
std::string hint_for_tensor_member(std::string_view name);
/// Returns a hint for `object.field`, which does not exist. `members` are the fields and `functions` what can be called
/// as a method.
std::string hint_for_field(const Value& object, const std::string& field, const std::vector<std::string>& members,
                           const std::vector<std::string>& functions);

/// Returns the list of a hint, or an empty one if there is no hint.
std::vector<std::string> hints_of(std::string hint);

}  // namespace tsl
