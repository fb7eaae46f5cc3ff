// Hints about the form of a call: mistakes of one function or one parameter that habits of other languages lead to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "value/hints.h"
#include "value/signature.h"

namespace tsl {

/// Returns a hint for a value that the parameter of that name does not take; "" if its type says all.
std::string hint_for_argument(const Signature& signature, const std::string& parameter, const Value& given);
/// Returns a hint for a call with more arguments than the function has parameters; "" if there is nothing to say.
std::string hint_for_extra_argument(const Signature& signature);
/// Returns a call as it is written: "clamp(x, min, max)". Parameters with defaults may stand for "…".
std::string usage(const Signature& signature, bool with_defaults);
/// Returns the parameter that is meant by a name that the function has not: the one of another library's name, else the
/// nearest; "" if none is.
std::string parameter_for(std::string_view name, const std::vector<std::string>& parameters);
/// Returns a hint for a call that names a parameter which other languages have; "" if there is none.
std::string hint_for_parameter(const Signature& signature, std::string_view name);
/// Returns what a kind of value, as annotations name it, wants; nothing if there is no one way to make it.
std::optional<Wanted> wanted_by(std::string_view kind);

}  // namespace tsl
