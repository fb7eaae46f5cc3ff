// Computes with complex numbers (value/numbers.h): operators and builtins that are given some call a function of the
// library, or work on the parts one after the other.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "value/numbers.h"
#include "value/signature.h"
#include "value/value.h"

namespace tsl {

class Context;

/// Whether an argument has a tag of what has_complex() looks for: a quick test, since few have.
inline bool may_have_complex(std::span<const Value> args) {
  constexpr uint32_t kTags = tag_bit(Tag::record) | tag_bit(Tag::list) | tag_bit(Tag::tuple) | tag_bit(Tag::function);
  uint32_t tags = 0;
  for (const Value& v : args) tags |= tag_bit(v.tag());  // bounded: by the arguments of a call
  return (tags & kTags) != 0;
}
/// Whether one of the arguments is complex, c64 or c128, or a list or tuple that begins with a complex number, or that
/// holds any where arrays are taken.
bool has_complex(const Signature& signature, std::span<const Value> args);
/// Returns where a list that holds complex numbers stands for a tensor; nothing if none does, or the function knows
/// such lists itself.
std::optional<size_t> complex_list_in(const Signature& signature, std::span<const Value> args);
/// Whether a function of the library has a form for complex numbers: it works on the parts one after the other, or
/// there is a function _complex_<name>. An elementwise function maps lists itself. No form takes a complex number where
/// the function takes no floats, such as an axis: the check of arguments refuses it. A function that makes real numbers
/// in a dtype makes the real parts where that is c64 or c128.
bool has_complex_form(Context& context, const Signature& signature, std::span<const Value> args);
/// Throws Failure (type) if c64 or c128 is given to a parameter for dtypes: of a function without a form for that.
void refuse_complex_dtype(const Signature& signature, std::span<const Value> args);
/// Calls that form. `args` are bound to the function's parameters, as bind_arguments() does.
Value call_for_complex(Context& context, const Value& callee, const Signature& signature, std::span<const Value> args);
/// Calls the library's function _complex_<name>; nothing: there is none.
std::optional<Value> call_complex_form(Context& context, std::string_view name, std::span<Value> args);

/// Returns a field of a complex number or tensor: real, imag, dtype, T, or one that its parts share; nil: none.
Value complex_field(Context& context, const Value& z, const std::string& field);

}  // namespace tsl
