// What TSL declares of cuSOLVER equals NVIDIA's header, where there is one.
#include "backend/cuda/libraries/cusolver.h"

#include "catch.h"

#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>

#include <type_traits>

using namespace tsl::cuda;

namespace {

template <class Own, class Theirs>
constexpr bool is_like = sizeof(Own) == sizeof(Theirs) && std::is_pointer_v<Own> == std::is_pointer_v<Theirs>;

template <class Own, class Theirs> constexpr bool is_same_call = false;
template <class... Own, class... Theirs>
requires(sizeof...(Own) == sizeof...(Theirs)) constexpr bool is_same_call<int(Own...), cusolverStatus_t(Theirs...)> =
    (is_like<Own, Theirs> && ...);

}  // namespace

TEST_CASE("the functions of cuSOLVER take what its header says") {
#define TSL_COMPARE(name, type) CHECK(is_same_call<cusolver::type, decltype(::name)>);
  TSL_CUSOLVER_FUNCTIONS(TSL_COMPARE)
#undef TSL_COMPARE
  CHECK(cusolver::kSuccess == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolver::kAllocFailed == CUSOLVER_STATUS_ALLOC_FAILED);
  CHECK(cusolver::kVectors == CUSOLVER_EIG_MODE_VECTOR);
}
#endif
