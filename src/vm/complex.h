// Complex numbers: records of `re` and `im`, two numbers or two tensors (is_complex() in value.h). Operators and
// builtins that are given some call a function of the library, or work on the parts one after the other.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "value/signature.h"
#include "value/value.h"

namespace tsl {

class Context;

/// Makes a complex number or tensor of its parts.
Value make_complex(Context& context, Value re, Value im);
/// Returns a part of a complex number: `re`, or with `is_imaginary` `im`. Of another value the value itself, or 0.
Value complex_part(const Value& value, bool is_imaginary);

/// Whether one of the arguments is complex, or a list or tuple that begins with a complex number.
bool has_complex(std::span<const Value> args);
/// Whether a function of the library has a form for complex numbers: it works on the parts one after the other, or
/// there is a function _complex_<name>. Lists of complex numbers are for functions that make tensors of them. No form
/// takes a complex number where the function takes no floats, such as an axis: the check of arguments refuses it.
bool has_complex_form(Context& context, const Signature& signature, std::span<const Value> args);
/// Calls that form. `args` are bound to the function's parameters, as bind_arguments() does.
Value call_for_complex(Context& context, const Value& callee, const Signature& signature, std::span<const Value> args);
/// Calls the library's function _complex_<name>; nothing: there is none.
std::optional<Value> call_complex_form(Context& context, std::string_view name, std::span<Value> args);

/// Returns a field of a complex number or tensor: real, imag, dtype, T, or one that its parts share; nil: none.
Value complex_field(Context& context, const Value& z, const std::string& field);

}  // namespace tsl
