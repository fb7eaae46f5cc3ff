// Signatures from their syntax: the annotated parameters of a function, and the declarations of builtins.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "syntax/ast.h"
#include "value/signature.h"

namespace tsl {

class Builtins;

/// Returns the register that holds a dimension's name.
using RegisterOf = std::function<uint16_t(const ast::Variable&)>;

/// Converts an annotation. `builtins`: has the types of the host program; null: there are none. Throws Failure (name,
/// type) at its span.
ValueType value_type(const ast::Annotation& annotation, const Builtins* builtins, const RegisterOf& register_of);
/// Converts a parameter, except for the value of its default.
ParameterInfo parameter_info(const ast::Parameter& parameter, const Builtins* builtins, const RegisterOf& register_of);
/// Throws Failure (syntax, name) unless annotations can name a new type so.
void require_type_name(std::string_view name, Interner& names);

/// Parses a builtin's signature, such as "sum(x: array, axis: integers | nil = nil)" or "print(...values: any)".
/// Defaults are constants; dimensions have names only without `...`, and their registers follow the parameters. Throws
/// Failure (syntax, name, type).
Signature parse_signature(std::string_view text, Interner& names, const Builtins* builtins = nullptr);

}  // namespace tsl
