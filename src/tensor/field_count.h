// Counts the fields of a struct, so that a list of them is known to be complete.
#pragma once

#include <cstddef>

namespace tsl {

namespace fields {

/// Stands for a value of any field, where nothing is evaluated.
struct Any {
  template <class T> operator T() const;
};

template <class Struct, class... Before> consteval size_t count() {
  if constexpr (requires { Struct{Before()..., Any()}; }) return count<Struct, Before..., Any>();
  else return sizeof...(Before);
}

}  // namespace fields

/// Returns the number of fields of an aggregate without bases, whose fields are no arrays.
template <class Struct> consteval size_t count_fields() { return fields::count<Struct>(); }

}  // namespace tsl
