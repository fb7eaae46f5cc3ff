// What TSL declares of NCCL equals NVIDIA's header, where there is one.
#include "backend/cuda/ranks/nccl.h"

#include "catch.h"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

#include "backend/cuda/libraries/same_call.h"

using namespace tsl::cuda;

namespace {

template <class Own, class Theirs> constexpr bool is_same_function = false;
template <class Result, class Status, class... Own, class... Theirs>
requires(sizeof...(Own) == sizeof...(Theirs)) constexpr bool is_same_function<Result(Own...), Status(Theirs...)> =
    is_like<Result, Status> && (is_like<Own, Theirs> && ...);

}  // namespace

TEST_CASE("the functions of NCCL take what its header says") {
#define TSL_COMPARE(name, type) CHECK(is_same_function<nccl::type, decltype(::name)>);
  TSL_NCCL_FUNCTIONS(TSL_COMPARE)
#undef TSL_COMPARE
  CHECK(nccl::kSuccess == ncclSuccess);
  CHECK(nccl::kInProgress == ncclInProgress);
  CHECK(nccl::kBytes == ncclInt8);
  CHECK(nccl::kIdBytes == NCCL_UNIQUE_ID_BYTES);
}
#endif
