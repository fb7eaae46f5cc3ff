// Compares what TSL declares of a library's functions with the library's own header.
#pragma once

#include <type_traits>

namespace tsl::cuda {

template <class Own, class Theirs>
constexpr bool is_like = sizeof(Own) == sizeof(Theirs) && std::is_pointer_v<Own> == std::is_pointer_v<Theirs>;

/// Whether both functions take the same arguments; `Status` is the library's type for what TSL calls an int.
template <class Status, class Own, class Theirs> constexpr bool is_same_call = false;
template <class Status, class... Own, class... Theirs>
requires(sizeof...(Own) == sizeof...(Theirs)) constexpr bool is_same_call<Status, int(Own...), Status(Theirs...)> =
    (is_like<Own, Theirs> && ...);

}  // namespace tsl::cuda
