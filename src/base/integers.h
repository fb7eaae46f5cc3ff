// Divisions of whole numbers.
#pragma once

namespace tsl {

/// Returns a / b for a >= 0 and b > 0, rounded up.
template <class A, class B> constexpr auto ceil_div(A a, B b) { return (a + b - 1) / b; }

/// Returns the least multiple of b that is at least a, for a >= 0 and b > 0.
template <class A, class B> constexpr auto rounded_up(A a, B b) { return ceil_div(a, b) * b; }

}  // namespace tsl
