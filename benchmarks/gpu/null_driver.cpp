// A CUDA driver that computes nothing: memory is the host's, copies copy, kernels do not run. With it in front
// (LD_LIBRARY_PATH), a TSL script goes through all that the host does for a GPU, where there is none: to count
// instructions, and to test what does not depend on values. The environment sets what the GPU is:
//   NULL_DRIVER_CUDA=12040      the CUDA version of the driver (default 13000: 13.0)
//   NULL_DRIVER_COMPUTE=75      the compute capability (default 90)
//   NULL_DRIVER_COUNT=2         how many there are (default 1)
//   NULL_DRIVER_PEERS=1         processes share memory, as it seems
//   NULL_DRIVER_MEMORY=N        the bytes of memory (default 8 GiB), which must be virtual memory of the host only
#include <cuda.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

template <typename Handle> Handle handle() {
  static uintptr_t next = 16;
  return reinterpret_cast<Handle>(next += 16);
}
void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

size_t setting(const char* name, size_t otherwise) {
  const char* value = getenv(name);
  return value ? strtoull(value, nullptr, 10) : otherwise;
}

size_t memory() { return setting("NULL_DRIVER_MEMORY", size_t{8} << 30); }

/// An event is the time at which it was recorded, since all work is done at once.
struct Event {
  CUstream stream;
  std::chrono::steady_clock::time_point time;
};
Event* event_of(CUevent event) { return reinterpret_cast<Event*>(event); }

int attribute(CUdevice_attribute which) {
  const int compute = static_cast<int>(setting("NULL_DRIVER_COMPUTE", 90));
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return compute / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return compute % 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    default: return 0;
  }
}

/// What tests ask for: the stream of the last launch or copy, and the last wait of a stream for another one's event.
CUstream last_stream = nullptr, last_waiting = nullptr, last_awaited = nullptr;

/// How often the host has waited for a stream or an event.
uint64_t waits = 0;
/// How many nodes of graphs have been patched.
uint64_t patches = 0;

CUresult on_stream(CUstream stream) { return last_stream = stream, CUDA_SUCCESS; }

}  // namespace

extern "C" {

CUstream null_driver_last_stream() { return last_stream; }
CUstream null_driver_last_waiting() { return last_waiting; }
CUstream null_driver_last_awaited() { return last_awaited; }
uint64_t null_driver_waits() { return waits; }
uint64_t null_driver_patches() { return patches; }

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) {
  return *version = static_cast<int>(setting("NULL_DRIVER_CUDA", 13000)), CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** text) { return *text = "?", CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "?", CUDA_SUCCESS; }
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  return *table = nullptr, CUDA_ERROR_NOT_FOUND;
}  // NVRTC asks
CUresult cuDeviceGetCount(int* count) {
  return *count = static_cast<int>(setting("NULL_DRIVER_COUNT", 1)), CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int size, CUdevice) { return strncpy(name, "null", size), CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  return *value = attribute(which), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) { return *bytes = memory(), CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return *context = handle<CUcontext>(), CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; }
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = nullptr, CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuStreamCreate(CUstream* stream, unsigned) { return *stream = handle<CUstream>(), CUDA_SUCCESS; }
CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream) { return ++waits, CUDA_SUCCESS; }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  last_waiting = stream;
  last_awaited = event_of(event)->stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream, CUstreamCaptureMode) { return CUDA_SUCCESS; }
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) { return *graph = handle<CUgraph>(), CUDA_SUCCESS; }

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = reinterpret_cast<CUdeviceptr>(block);
  return block != MAP_FAILED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFree(CUdeviceptr) { return CUDA_SUCCESS; }  // at the end of the process
CUresult cuMemAllocHost(void** block, size_t bytes) { return *block = malloc(bytes), CUDA_SUCCESS; }
CUresult cuMemFreeHost(void* block) { return free(block), CUDA_SUCCESS; }
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t n, CUstream stream) {
  return memcpy(host(to), from, n), on_stream(stream);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t n, CUstream stream) {
  return memcpy(to, host(from), n), on_stream(stream);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) {
  return memmove(host(to), host(from), n), CUDA_SUCCESS;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n, CUstream stream) {
  return cuMemcpyDtoDAsync(to, from, n, stream);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream) {
  return memset(host(to), value, n), CUDA_SUCCESS;
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream) {
  for (size_t i = 0; i < height; ++i) memset(static_cast<char*>(host(to)) + i * pitch, value, width);
  return CUDA_SUCCESS;
}
// No process reaches another one's memory, of which kernels alone make use.
CUresult shared() { return setting("NULL_DRIVER_PEERS", 0) != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr) { return shared(); }
CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle, unsigned) { return *address = 16, shared(); }
CUresult cuIpcCloseMemHandle(CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuMemGetInfo(size_t* free, size_t* total) { return *free = *total = memory(), CUDA_SUCCESS; }

CUresult cuModuleLoadData(CUmodule* module, const void*) { return *module = handle<CUmodule>(), CUDA_SUCCESS; }
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  return *function = handle<CUfunction>(), CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction) {
  return *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0, CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t) {
  return *blocks = 1024 / threads, CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void**, void**) {
  return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph* graph, unsigned) { return *graph = handle<CUgraph>(), CUDA_SUCCESS; }
CUresult cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph, const CUgraphNode*, size_t, const CUDA_KERNEL_NODE_PARAMS*) {
  return *node = handle<CUgraphNode>(), CUDA_SUCCESS;
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph, const CUgraphNode*, size_t, CUgraph) {
  return *node = handle<CUgraphNode>(), CUDA_SUCCESS;
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph, const CUgraphNode*, size_t, CUevent) {
  return *node = handle<CUgraphNode>(), CUDA_SUCCESS;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode, CUgraph* graph) { return *graph = nullptr, CUDA_SUCCESS; }
CUresult cuGraphGetNodes(CUgraph, CUgraphNode*, size_t* count) { return *count = 0, CUDA_SUCCESS; }
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph, unsigned long long) {
  return *exec = handle<CUgraphExec>(), CUDA_SUCCESS;
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*) {
  return ++patches, CUDA_SUCCESS;
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec, CUgraphNode, CUgraph) { return ++patches, CUDA_SUCCESS; }
CUresult cuGraphNodeSetEnabled(CUgraphExec, CUgraphNode, unsigned) { return CUDA_SUCCESS; }
CUresult cuGraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec, CUstream) { return CUDA_SUCCESS; }

CUresult cuEventCreate(CUevent* event, unsigned) { return *event = reinterpret_cast<CUevent>(new Event), CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent event, CUstream stream) {
  event_of(event)->stream = stream;
  return event_of(event)->time = std::chrono::steady_clock::now(), CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) { return ++waits, CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  const std::chrono::duration<float, std::milli> elapsed = event_of(end)->time - event_of(begin)->time;
  return *milliseconds = elapsed.count(), CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) { return delete event_of(event), CUDA_SUCCESS; }
}
