// CUPTI, which reports when kernels and copies ran on the GPU, also those of CUDA graphs. Opened at run time.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/cuda/driver/library.h"

namespace tsl::cuda {

/// Work of a GPU as CUPTI reports it, with times in nanoseconds of CUPTI's clock.
struct GpuRecord {
  enum class Kind : uint8_t { kernel, to_device, to_host, on_device, fill } kind = Kind::kernel;
  uint64_t begin = 0, end = 0;
  uint64_t call = 0;                  // the number that the host pushed for the call; 0: it pushed none
  uint64_t node = 0;                  // of a graph: see node_number(); 0: not of a graph, or its first node
  uint64_t bytes = 0;                 // copied or filled
  const std::string* name = nullptr;  // of a kernel
  uint32_t graph = 0;                 // 0: not of a graph
};

/// Declares what TSL uses of cupti.h. NVIDIA's packages for compilers lack that header, and its records have had these
/// fields at these offsets since CUDA 11.8; a test compares them where there is the header.
namespace cupti {

inline constexpr int kSuccess = 0;
enum ActivityKind : int {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kConcurrentKernel = 10,
  kMemcpyPeer = 22,
  kExternalCorrelation = 39,
};
inline constexpr int kCustom = 3;       // the kind of TSL's external correlation numbers
inline constexpr uint32_t kForced = 1;  // flushes buffers that are not full
enum CopyKind : uint8_t { kHostToDevice = 1, kDeviceToHost = 2 };

struct Activity {
  int kind;
};
struct KernelRecord {
  int kind;
  uint8_t configuration[12];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total, correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued, submitted;
  uint8_t launch[8];
  uint64_t node;
  uint32_t shared_limit, graph;
};
struct CopyRecord {
  int kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, padding;
  void* reserved;
  uint64_t node;
  uint32_t graph;
};
struct PeerCopyRecord {
  int kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, source_device, source_context, target_device, target_context, correlation;
};
struct FillRecord {
  int kind;
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void* reserved;
  uint64_t node;
  uint32_t graph;
};
struct CorrelationRecord {
  int kind, external_kind;
  uint64_t external;
  uint32_t correlation;
};

using Requested = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using Completed = void (*)(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

}  // namespace cupti

#define TSL_CUPTI_FUNCTIONS(X)                                                                      \
  X(cuptiActivityRegisterCallbacks, int (*)(cupti::Requested, cupti::Completed))                    \
  X(cuptiActivityEnable, int (*)(int kind))                                                         \
  X(cuptiActivityDisable, int (*)(int kind))                                                        \
  X(cuptiActivityFlushAll, int (*)(uint32_t flags))                                                 \
  X(cuptiActivityGetNextRecord, int (*)(uint8_t * buffer, size_t valid, cupti::Activity * *record)) \
  X(cuptiActivityGetNumDroppedRecords, int (*)(CUcontext context, uint32_t stream, size_t * count)) \
  X(cuptiActivityPushExternalCorrelationId, int (*)(int kind, uint64_t id))                         \
  X(cuptiActivityPopExternalCorrelationId, int (*)(int kind, uint64_t* last))                       \
  X(cuptiGetContextId, int (*)(CUcontext context, uint32_t * id))                                   \
  X(cuptiGetTimestamp, int (*)(uint64_t * nanoseconds))                                             \
  X(cuptiGetResultString, int (*)(int result, const char** text))

/// The activity records of this process. There is one object, since CUPTI has one list of records a process; any thread
/// may use it.
class Cupti {
 public:
  /// Opens CUPTI; later calls return the same object. Fails (device) if it is missing, cannot be used here, or
  /// TSL_CUPTI is "off".
  static Cupti& open(int driver_version);
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  /// Begins to record, and returns the user's number. Fails (device) if CUPTI refuses.
  uint32_t add_user();
  void remove_user(uint32_t user);
  /// Makes numbers of calls for a user.
  static uint64_t call_number(uint32_t user, uint64_t count) { return (uint64_t{user} << kCountBits) | count; }

  /// Numbers the calls of this thread until pop().
  void push(uint64_t call) const { cuptiActivityPushExternalCorrelationId(cupti::kCustom, call); }
  void pop() const {
    uint64_t last = 0;
    cuptiActivityPopExternalCorrelationId(cupti::kCustom, &last);
  }
  /// Whether so much is recorded that take() should be called soon.
  bool is_full() const { return count_.load(std::memory_order_relaxed) > kMany; }
  /// Returns the user's work so far, all of which has finished, and work in the context that no user has numbered.
  std::vector<GpuRecord> take(uint32_t user, CUcontext context);
  /// Returns the number of records that were lost since the last call, for lack of memory.
  uint64_t take_dropped();
  uint64_t now() const;

 private:
  static constexpr int kCountBits = 40;
  // Records of 72 bytes. A flush waits for the device, so it should be rare.
  static constexpr size_t kMany = size_t{1} << 18, kMost = size_t{1} << 21;
  static constexpr size_t kBufferBytes = size_t{1} << 20, kMostBuffers = 64;

  struct Record : GpuRecord {
    uint32_t correlation = 0, context = 0;
  };

  explicit Cupti(int driver_version);
  void check(int result, std::string_view doing) const;
  void disable() const;
  static void give_buffer(uint8_t** buffer, size_t* size, size_t* max_records);
  static void read_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid);
  void read(const cupti::Activity* activity);
  void add(const Record& record);

  Library library_;
#define TSL_DECLARE(name, type) std::type_identity_t<type> name = nullptr;
  TSL_CUPTI_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE

  std::mutex users_mutex_;  // for the following two; held while CUPTI starts and stops
  uint32_t users_ = 0, last_user_ = 0;
  std::atomic<size_t> count_{0}, buffers_{0};
  std::mutex mutex_;  // for the following; never held in a call of CUPTI, which may call back
  std::vector<Record> records_;
  std::unordered_map<uint32_t, uint64_t> calls_;  // by CUPTI's correlation number
  std::unordered_set<std::string> names_;
  uint64_t dropped_ = 0;
};

}  // namespace tsl::cuda
