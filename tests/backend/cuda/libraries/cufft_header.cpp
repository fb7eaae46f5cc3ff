// What TSL declares of cuFFT equals NVIDIA's header, where there is one.
#include "backend/cuda/libraries/cufft.h"

#include "backend/cuda/libraries/same_call.h"
#include "catch.h"

#if __has_include(<cufft.h>)
#include <cufft.h>

using namespace tsl::cuda;

TEST_CASE("the functions of cuFFT take what its header says") {
#define TSL_COMPARE(name, type) CHECK(is_same_call<cufftResult, cufft::type, decltype(::name)>);
  TSL_CUFFT_FUNCTIONS(TSL_COMPARE)
#undef TSL_COMPARE
  CHECK(cufft::kSuccess == CUFFT_SUCCESS);
  CHECK(cufft::kAllocFailed == CUFFT_ALLOC_FAILED);
  CHECK(cufft::kForward == CUFFT_FORWARD);
  CHECK(cufft::kInverse == CUFFT_INVERSE);
  CHECK(cufft::kR2C == CUFFT_R2C);
  CHECK(cufft::kC2R == CUFFT_C2R);
  CHECK(cufft::kC2C == CUFFT_C2C);
  CHECK(cufft::kD2Z == CUFFT_D2Z);
  CHECK(cufft::kZ2D == CUFFT_Z2D);
  CHECK(cufft::kZ2Z == CUFFT_Z2Z);
}
#endif
