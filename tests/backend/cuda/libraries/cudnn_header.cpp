// What TSL declares of cuDNN equals NVIDIA's header, where there is one.
#include "backend/cuda/libraries/cudnn.h"

#include "catch.h"

#if __has_include(<cudnn.h>)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>

#include <cstddef>
#include <type_traits>

using namespace tsl::cuda;

namespace {

template <class Own, class Theirs>
constexpr bool is_like = sizeof(Own) == sizeof(Theirs) && std::is_pointer_v<Own> == std::is_pointer_v<Theirs>;

template <class Own, class Theirs> constexpr bool is_same_call = false;
template <class Result, class Status, class... Own, class... Theirs>
requires(sizeof...(Own) == sizeof...(Theirs)) constexpr bool is_same_call<Result(Own...), Status(Theirs...)> =
    is_like<Result, Status> && (is_like<Own, Theirs> && ...);

}  // namespace

TEST_CASE("the functions of cuDNN take what its header says") {
#define TSL_COMPARE(name, type) CHECK(is_same_call<cudnn::type, decltype(::name)>);
  TSL_CUDNN_FUNCTIONS(TSL_COMPARE)
#undef TSL_COMPARE
  CHECK(cudnn::kSuccess == CUDNN_STATUS_SUCCESS);
  CHECK(cudnn::kFloat == CUDNN_DATA_FLOAT);
  CHECK(cudnn::kDouble == CUDNN_DATA_DOUBLE);
  CHECK(cudnn::kHalf == CUDNN_DATA_HALF);
  CHECK(cudnn::kBfloat16 == CUDNN_DATA_BFLOAT16);
  CHECK(cudnn::kDefaultMath == CUDNN_DEFAULT_MATH);
  CHECK(cudnn::kTensorOpMath == CUDNN_TENSOR_OP_MATH);
  CHECK(cudnn::kFmaMath == CUDNN_FMA_MATH);
  CHECK(cudnn::kRowMajor == CUDNN_TENSOR_NCHW);
  CHECK(cudnn::kCrossCorrelation == CUDNN_CROSS_CORRELATION);
  CHECK(cudnn::kDeterministic == CUDNN_DETERMINISTIC);
  CHECK(sizeof(cudnn::Algorithm) == sizeof(cudnnConvolutionFwdAlgoPerf_t));
  CHECK(offsetof(cudnn::Algorithm, workspace_bytes) == offsetof(cudnnConvolutionBwdDataAlgoPerf_t, memory));
  CHECK(offsetof(cudnn::Algorithm, math) == offsetof(cudnnConvolutionBwdFilterAlgoPerf_t, mathType));
}
#endif
