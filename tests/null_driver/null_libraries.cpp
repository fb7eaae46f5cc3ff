// cuBLAS and cuFFT that compute nothing, for the null driver: tools/kernels compiles this file as both. What they take
// is of no matter to functions that read none of it.
#include <cstddef>
#include <cstdint>

namespace {

constexpr int kCublas = 13, kCufft = 12;  // the versions of CUDA 13

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) { return *handle = reinterpret_cast<void*>(std::uintptr_t{16}), 0; }
int cublasGetProperty(int, int* value) { return *value = kCublas, 0; }
const char* cublasGetStatusString(int) { return "?"; }
int cufftCreate(int* plan) { return *plan = 1, 0; }
int cufftGetProperty(int, int* value) { return *value = kCufft, 0; }
int cufftMakePlanMany64(int, int, long long*, long long*, long long, long long, long long*, long long, long long, int,
                        long long, std::size_t* bytes) {
  return *bytes = 1024, 0;
}

#define TSL_DOES_NOTHING(name) \
  int name(...) { return 0; }
TSL_DOES_NOTHING(cublasSetStream_v2)
TSL_DOES_NOTHING(cublasSetWorkspace_v2)
TSL_DOES_NOTHING(cublasStrsm_v2)
TSL_DOES_NOTHING(cublasDtrsm_v2)
TSL_DOES_NOTHING(cublasStrsmBatched)
TSL_DOES_NOTHING(cublasDtrsmBatched)
TSL_DOES_NOTHING(cublasDgetrfBatched)
TSL_DOES_NOTHING(cublasDgetrsBatched)
TSL_DOES_NOTHING(cublasDgeqrfBatched)
TSL_DOES_NOTHING(cufftSetAutoAllocation)
TSL_DOES_NOTHING(cufftSetStream)
TSL_DOES_NOTHING(cufftSetWorkArea)
TSL_DOES_NOTHING(cufftExecC2C)
TSL_DOES_NOTHING(cufftExecZ2Z)
TSL_DOES_NOTHING(cufftExecR2C)
TSL_DOES_NOTHING(cufftExecD2Z)
TSL_DOES_NOTHING(cufftExecC2R)
TSL_DOES_NOTHING(cufftExecZ2D)
}
