#include "backend/cuda/driver/cupti.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "base/error_names.h"

namespace tsl::cuda {

namespace {

constexpr int kKinds[] = {
    cupti::kExternalCorrelation, cupti::kDriver, cupti::kRuntime, cupti::kConcurrentKernel, cupti::kMemcpy,
    cupti::kMemcpyPeer,          cupti::kMemset};
constexpr size_t kAlignment = 8;  // of a buffer
// Never destroyed: CUPTI may call back while the process ends.
Cupti* instance = nullptr;

std::string missing(int driver_version) {
  std::string names;
  for (const std::string& name : names_of("libcupti.so", driver_version)) names += (names.empty() ? "" : ", ") + name;
  return fmt::format("CUPTI was not found ({}): install the CUDA Toolkit or the PyPI package nvidia-cuda-cupti", names);
}

GpuRecord::Kind kind_of(uint8_t copy_kind) {
  if (copy_kind == cupti::kHostToDevice) return GpuRecord::Kind::to_device;
  return copy_kind == cupti::kDeviceToHost ? GpuRecord::Kind::to_host : GpuRecord::Kind::on_device;
}

}  // namespace

Cupti& Cupti::open(int driver_version) {
  static std::mutex mutex;
  static auto& problem = *new std::optional<Error>;
  const std::lock_guard lock(mutex);
  if (problem) throw Failure(*problem);
  try {
    const char* wish = std::getenv("TSL_CUPTI");
    if (wish && std::string_view(wish) == "off") fail(ErrorName::library_unusable, "TSL_CUPTI is off");
    if (!instance) instance = new Cupti(driver_version);
  } catch (const Failure& failure) {
    problem = failure.error();
    throw;
  }
  return *instance;
}

Cupti::Cupti(int driver_version) : library_(names_of("libcupti.so", driver_version), missing(driver_version)) {
#define TSL_RESOLVE(name, type) this->name = reinterpret_cast<type>(library_.function(#name));
  TSL_CUPTI_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
  check(cuptiActivityRegisterCallbacks(give_buffer, read_buffer), "starting");
}

void Cupti::check(int result, std::string_view doing) const {
  if (result == cupti::kSuccess) return;
  const char* text = nullptr;
  if (cuptiGetResultString(result, &text) != cupti::kSuccess) text = nullptr;
  fail(ErrorName::device_failed, "CUPTI failed {}: {}", doing, text ? text : "unknown error");
}

uint32_t Cupti::add_user() {
  const std::lock_guard lock(users_mutex_);
  if (users_ == 0) {
    try {
      for (const int kind : kKinds) check(cuptiActivityEnable(kind), "starting to record");
    } catch (...) {
      disable();
      throw;
    }
  }
  ++users_;
  return ++last_user_;
}

void Cupti::remove_user(uint32_t user) {
  const std::lock_guard users_lock(users_mutex_);
  const bool is_last = --users_ == 0;
  if (is_last) disable();
  const std::lock_guard lock(mutex_);
  std::erase_if(calls_, [&](const auto& each) { return each.second >> kCountBits == user; });
  if (is_last) records_.clear();
  count_ = records_.size();
}

void Cupti::disable() const {
  for (const int kind : kKinds) cuptiActivityDisable(kind);
}

uint64_t Cupti::now() const {
  uint64_t nanoseconds = 0;
  cuptiGetTimestamp(&nanoseconds);
  return nanoseconds;
}

std::vector<GpuRecord> Cupti::take(uint32_t user, CUcontext context) {
  cuptiActivityFlushAll(cupti::kForced);
  uint32_t context_number = 0;
  cuptiGetContextId(context, &context_number);
  std::vector<GpuRecord> out;
  const std::lock_guard lock(mutex_);
  std::erase_if(records_, [&](Record& record) {
    const auto call = calls_.find(record.correlation);
    record.call = call == calls_.end() ? 0 : call->second;
    if (record.call ? record.call >> kCountBits != user : record.context != context_number) return false;
    out.push_back(record);
    return true;
  });
  std::erase_if(calls_, [&](const auto& each) { return each.second >> kCountBits == user; });
  count_ = records_.size();
  return out;
}

uint64_t Cupti::take_dropped() {
  size_t lost = 0;
  if (cuptiActivityGetNumDroppedRecords(nullptr, 0, &lost) != cupti::kSuccess) lost = 0;
  const std::lock_guard lock(mutex_);
  return std::exchange(dropped_, 0) + lost;
}

// ---- Buffers ----

/// Gives CUPTI a buffer, or none if many are in use: then it drops records, and counts them.
void Cupti::give_buffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  *max_records = 0;  // as many as fit
  *size = 0;
  *buffer = nullptr;
  if (instance->buffers_ >= kMostBuffers) return;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  if (!*buffer) return;
  *size = kBufferBytes;
  ++instance->buffers_;
}

void Cupti::read_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  if (!buffer) return;
  {
    const std::lock_guard lock(instance->mutex_);
    cupti::Activity* activity = nullptr;
    while (instance->cuptiActivityGetNextRecord(buffer, valid, &activity) == cupti::kSuccess) instance->read(activity);
    instance->count_ = instance->records_.size();
  }
  std::free(buffer);
  --instance->buffers_;
}

void Cupti::read(const cupti::Activity* activity) {
  Record out;
  const auto take_times = [&](const auto& from) {
    out.begin = from.start;
    out.end = from.end;
    out.context = from.context;
    out.correlation = from.correlation;
  };
  switch (activity->kind) {
    case cupti::kExternalCorrelation: {
      const auto& from = *reinterpret_cast<const cupti::CorrelationRecord*>(activity);
      if (from.external_kind == cupti::kCustom) calls_[from.correlation] = from.external;
      return;
    }
    case cupti::kConcurrentKernel: {
      const auto& from = *reinterpret_cast<const cupti::KernelRecord*>(activity);
      take_times(from);
      out.name = &*names_.emplace(from.name ? from.name : "").first;
      out.node = from.node;
      out.graph = from.graph;
      return add(out);
    }
    case cupti::kMemcpy: {
      const auto& from = *reinterpret_cast<const cupti::CopyRecord*>(activity);
      take_times(from);
      out.kind = kind_of(from.copy_kind);
      out.bytes = from.bytes;
      out.node = from.node;
      out.graph = from.graph;
      return add(out);
    }
    case cupti::kMemcpyPeer: {
      const auto& from = *reinterpret_cast<const cupti::PeerCopyRecord*>(activity);
      take_times(from);
      out.kind = GpuRecord::Kind::on_device;
      out.bytes = from.bytes;
      return add(out);
    }
    case cupti::kMemset: {
      const auto& from = *reinterpret_cast<const cupti::FillRecord*>(activity);
      take_times(from);
      out.kind = GpuRecord::Kind::fill;
      out.bytes = from.bytes;
      out.node = from.node;
      out.graph = from.graph;
      return add(out);
    }
  }
}

void Cupti::add(const Record& record) {
  if (record.end == 0) return;  // CUPTI says so of work that it could not time
  if (records_.size() < kMost) records_.push_back(record);
  else ++dropped_;
}

}  // namespace tsl::cuda
