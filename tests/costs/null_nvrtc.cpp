// An NVRTC that compiles nothing: each program becomes the same few bytes. With it and benchmarks/gpu/null_driver.cpp
// in front (LD_LIBRARY_PATH), CUDA kernels are generated as for a GPU, where there is neither GPU nor NVRTC, in no
// time.
#include <nvrtc.h>

#include <cstring>

namespace {

constexpr char kCubin[] = "no cubin";

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, NVRTC_SUCCESS; }
const char* nvrtcGetErrorString(nvrtcResult) { return "?"; }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) { return *count = 0, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetSupportedArchs(int*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char*, const char*, int, const char* const*,
                               const char* const*) {
  return *program = reinterpret_cast<nvrtcProgram>(16), NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t* size) { return *size = 1, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) { return *log = '\0', NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t* size) { return *size = sizeof kCubin, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char* cubin) { return memcpy(cubin, kCubin, sizeof kCubin), NVRTC_SUCCESS; }

}  // extern "C"
