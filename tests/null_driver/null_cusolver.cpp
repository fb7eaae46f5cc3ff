// A cuSOLVER that computes nothing, for the null driver, whose memory is the host's: no matrix fails.
#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

namespace {

template <typename Handle> int make(Handle* handle) { return *handle = reinterpret_cast<Handle>(uintptr_t{16}), 0; }

}  // namespace

extern "C" {

int cusolverDnCreate(void** handle) { return make(handle); }
int cusolverDnSetStream(void*, cudaStream_t) { return 0; }
int cusolverGetProperty(libraryPropertyType, int* value) { return *value = 12, 0; }
int cusolverDnCreateParams(void** params) { return make(params); }
int cusolverDnDestroyParams(void*) { return 0; }
int cusolverDnCreateSyevjInfo(void** jacobi) { return make(jacobi); }
int cusolverDnDestroySyevjInfo(void*) { return 0; }
int cusolverDnXpotrf_bufferSize(void*, void*, int, int64_t, int, const void*, int64_t, int, size_t* device_bytes,
                                size_t* host_bytes) {
  return *device_bytes = 1024, *host_bytes = 0, 0;
}
int cusolverDnXpotrf(void*, void*, int, int64_t, int, void*, int64_t, int, void*, size_t, void*, size_t, int*) {
  return 0;
}
int cusolverDnDpotrfBatched(void*, int, int, double**, int, int*, int) { return 0; }
int cusolverDnXsyevd_bufferSize(void*, void*, int, int, int64_t, int, const void*, int64_t, int, const void*, int,
                                size_t* device_bytes, size_t* host_bytes) {
  return *device_bytes = 1024, *host_bytes = 64, 0;
}
int cusolverDnXsyevd(void*, void*, int, int, int64_t, int, void*, int64_t, int, void*, int, void*, size_t, void*,
                     size_t, int*) {
  return 0;
}
int cusolverDnDsyevjBatched_bufferSize(void*, int, int, int, const double*, int, const double*, int* elements, void*,
                                       int) {
  return *elements = 128, 0;
}
int cusolverDnDsyevjBatched(void*, int, int, int, double*, int, double*, double*, int, int*, void*, int) { return 0; }
int cusolverDnCreateGesvdjInfo(void** jacobi) { return make(jacobi); }
int cusolverDnDestroyGesvdjInfo(void*) { return 0; }
int cusolverDnXgetrf_bufferSize(void*, void*, int64_t, int64_t, int, const void*, int64_t, int, size_t* device_bytes,
                                size_t* host_bytes) {
  return *device_bytes = 1024, *host_bytes = 0, 0;
}
int cusolverDnXgetrf(void*, void*, int64_t, int64_t, int, void*, int64_t, int64_t*, int, void*, size_t, void*, size_t,
                     int*) {
  return 0;
}
int cusolverDnXgetrs(void*, void*, int, int64_t, int64_t, int, const void*, int64_t, const int64_t*, int, void*,
                     int64_t, int*) {
  return 0;
}
int cusolverDnXgeqrf_bufferSize(void*, void*, int64_t, int64_t, int, const void*, int64_t, int, const void*, int,
                                size_t* device_bytes, size_t* host_bytes) {
  return *device_bytes = 1024, *host_bytes = 0, 0;
}
int cusolverDnXgeqrf(void*, void*, int64_t, int64_t, int, void*, int64_t, int, void*, int, void*, size_t, void*, size_t,
                     int*) {
  return 0;
}
int cusolverDnDorgqr_bufferSize(void*, int, int, int, const double*, int, const double*, int* elements) {
  return *elements = 128, 0;
}
int cusolverDnDorgqr(void*, int, int, int, double*, int, const double*, double*, int, int*) { return 0; }
int cusolverDnXgesvd_bufferSize(void*, void*, signed char, signed char, int64_t, int64_t, int, const void*, int64_t,
                                int, const void*, int, const void*, int64_t, int, const void*, int64_t, int,
                                size_t* device_bytes, size_t* host_bytes) {
  return *device_bytes = 1024, *host_bytes = 64, 0;
}
int cusolverDnXgesvd(void*, void*, signed char, signed char, int64_t, int64_t, int, void*, int64_t, int, void*, int,
                     void*, int64_t, int, void*, int64_t, int, void*, size_t, void*, size_t, int*) {
  return 0;
}
int cusolverDnXgesvdp_bufferSize(void*, void*, int, int, int64_t, int64_t, int, const void*, int64_t, int, const void*,
                                 int, const void*, int64_t, int, const void*, int64_t, int, size_t* device_bytes,
                                 size_t* host_bytes) {
  return *device_bytes = 1024, *host_bytes = 64, 0;
}
int cusolverDnXgesvdp(void*, void*, int, int, int64_t, int64_t, int, void*, int64_t, int, void*, int, void*, int64_t,
                      int, void*, int64_t, int, void*, size_t, void*, size_t, int*, double* change) {
  return *change = 1, 0;
}
int cusolverDnDgesvdjBatched_bufferSize(void*, int, int, int, const double*, int, const double*, const double*, int,
                                        const double*, int, int* elements, void*, int) {
  return *elements = 128, 0;
}
int cusolverDnDgesvdjBatched(void*, int, int, int, double*, int, double*, double*, int, double*, int, double*, int,
                             int*, void*, int) {
  return 0;
}
}
