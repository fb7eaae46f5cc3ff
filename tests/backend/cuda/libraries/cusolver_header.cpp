// What TSL declares of cuSOLVER equals NVIDIA's header, where there is one.
#include "backend/cuda/libraries/cusolver.h"

#include "backend/cuda/libraries/same_call.h"
#include "catch.h"

#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>

using namespace tsl::cuda;

TEST_CASE("the functions of cuSOLVER take what its header says") {
#define TSL_COMPARE(name, type) CHECK(is_same_call<cusolverStatus_t, cusolver::type, decltype(::name)>);
  TSL_CUSOLVER_FUNCTIONS(TSL_COMPARE)
#undef TSL_COMPARE
  CHECK(cusolver::kSuccess == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolver::kAllocFailed == CUSOLVER_STATUS_ALLOC_FAILED);
  CHECK(cusolver::kVectors == CUSOLVER_EIG_MODE_VECTOR);
}
#endif
