#include "profile/memory_ledger.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

namespace tsl::report {

// ---- Samples ---------------------------------------------------------------------------------------------------

void MemorySamples::add(uint64_t ticks, uint64_t bytes) {
  if (samples_.empty() || ticks >= samples_.back().begin + length_) {
    if (samples_.size() >= most_) merge();
    samples_.push_back({ticks, ticks, bytes, ticks, bytes});
    return;
  }
  Sample& sample = samples_.back();
  if (bytes > sample.most) {
    sample.most = bytes;
    sample.most_at = ticks;
  }
  sample.last = bytes;
  sample.last_at = ticks;
}

/// Joins neighbours, and doubles the length of later samples.
void MemorySamples::merge() {
  length_ *= 2;
  for (size_t i = 0; 2 * i + 1 < samples_.size(); ++i) {
    const Sample a = samples_[2 * i], b = samples_[2 * i + 1];
    const bool is_first = a.most >= b.most;
    samples_[i] = {a.begin, is_first ? a.most_at : b.most_at, is_first ? a.most : b.most, b.last_at, b.last};
  }
  samples_.resize(samples_.size() / 2);
}

// ---- One device ------------------------------------------------------------------------------------------------

DeviceMemory::DeviceMemory(BlockCache& cache, std::function<Origin()> where, size_t most_samples)
    : cache_(cache), where_(std::move(where)), holders_(1), keeps_samples_(most_samples > 0), samples_(most_samples) {
  live_ = peak_ = holders_[0].now.bytes = cache.stats().live_bytes;
  sample();
  cache.observe(*this);
}

size_t DeviceMemory::KeyHash::operator()(const Key& key) const {
  constexpr size_t kFactor = 0x9e3779b97f4a7c15ull;
  size_t hash = (size_t{key.origin.span.source} << 32 | key.origin.span.begin) * kFactor;
  hash = (hash ^ key.origin.span.end ^ reinterpret_cast<uintptr_t>(key.what.data())) * kFactor;
  return (hash ^ hash >> 29) + std::hash<std::string>()(key.plan);
}

/// Returns the number of the holder for a purpose; 0 if there is no memory for a new one.
uint32_t DeviceMemory::number_of(const BlockPurpose& purpose) noexcept try {
  key_.origin = purpose.origin.span.valid() ? purpose.origin : where_();
  key_.plan = purpose.plan;
  key_.what = purpose.what;
  const auto known = numbers_.find(key_);
  if (known != numbers_.end()) return known->second;
  MemoryHolder holder;
  holder.plan = purpose.plan;
  holder.what = purpose.what;
  holder.origin = key_.origin;
  if (holders_.size() == holders_.capacity()) holders_.reserve(2 * holders_.size());
  const auto number = static_cast<uint32_t>(holders_.size());
  numbers_.emplace(key_, number);
  holders_.push_back(std::move(holder));
  return number;
} catch (const std::bad_alloc&) { return 0; }

/// Returns the sum of a holder, in order to change it.
MemoryHolder::Sum& DeviceMemory::change(uint32_t number) {
  MemoryHolder& holder = holders_[number];
  if (holder.peak != peaks_) holder.at_peak = holder.now;
  holder.peak = peaks_;
  return holder.now;
}

void DeviceMemory::sample() noexcept try {
  if (keeps_samples_) samples_.add(exec::now_in_ticks(), live_);
} catch (const std::bad_alloc&) {}

uint32_t DeviceMemory::on_allocate(uint64_t bytes, const BlockPurpose& purpose) {
  const uint32_t number = number_of(purpose);
  MemoryHolder::Sum& sum = change(number);
  sum.bytes += bytes;
  if (number != 0) ++sum.blocks;  // how many there were before is not known
  live_ += bytes;
  if (live_ > peak_) {
    peak_ = live_;
    ++peaks_;
  }
  sample();
  return number;
}

void DeviceMemory::on_free(uint32_t number, uint64_t bytes) {
  MemoryHolder::Sum& sum = change(number);
  sum.bytes -= bytes;
  if (number != 0) --sum.blocks;
  live_ -= bytes;
  sample();
}

std::vector<MemoryHolder> DeviceMemory::at_peak() const {
  std::vector<MemoryHolder> holders = holders_;
  for (MemoryHolder& holder : holders) {
    if (holder.peak != peaks_) holder.at_peak = holder.now;
  }
  std::erase_if(holders, [](const MemoryHolder& holder) { return holder.at_peak.bytes == 0; });
  std::stable_sort(holders.begin(), holders.end(),
                   [](const MemoryHolder& a, const MemoryHolder& b) { return a.at_peak.bytes > b.at_peak.bytes; });
  return holders;
}

DeviceMemory::Peak DeviceMemory::begin_peak() {
  Peak before{peak_, {}};
  for (uint32_t number = 0; number < holders_.size(); ++number) {
    change(number);
    before.sums.push_back(holders_[number].at_peak);
  }
  peak_ = live_;
  ++peaks_;
  return before;
}

void DeviceMemory::end_peak(const Peak& before) {
  if (before.bytes < peak_) return;
  peak_ = before.bytes;
  for (size_t i = 0; i < holders_.size(); ++i) {
    holders_[i].at_peak = i < before.sums.size() ? before.sums[i] : MemoryHolder::Sum();
    holders_[i].peak = peaks_;
  }
}

void DeviceMemory::found(const Storage& storage, const TensorPath& path) {
  const uint32_t number = cache_.request_of(storage).number;
  if (number == 0) return;
  MemoryHolder& holder = holders_[number];
  constexpr size_t kMost = 3;
  if (holder.has_more_variables) return;
  std::string name = path.text();
  if (std::find(holder.variables.begin(), holder.variables.end(), name) != holder.variables.end()) return;
  if (holder.variables.size() == kMost) holder.has_more_variables = true;
  else holder.variables.push_back(std::move(name));
}

// ---- All devices -----------------------------------------------------------------------------------------------

MemoryLedger::MemoryLedger(exec::Devices& devices, const Interpreter& interpreter, std::function<Origin()> where,
                           size_t most_samples)
    : interpreter_(interpreter), where_(std::move(where)), most_samples_(most_samples) {
  devices.each_memory(
      [this](BlockCache& cache) { devices_.push_back(std::make_unique<DeviceMemory>(cache, where_, most_samples_)); });
}

void MemoryLedger::look_if_cheap() {
  constexpr auto kAlways = std::chrono::milliseconds(2);  // enough for the looks of most programs
  constexpr int kPart = 64;
  const Clock::time_point now = Clock::now();
  if (looking_ > kAlways + (now - begin_) / kPart) return;
  look();
  looking_ += Clock::now() - now;
}

void MemoryLedger::look() {
  for (const auto& device : devices_) device->look_begins();
  TensorWalk walk([this](const TensorPath& path, const TensorData& tensor) {
    for (const auto& device : devices_) {
      if (device->device() == tensor.device) device->found(*tensor.storage, path);
    }
  });
  walk.walk(interpreter_.variables());
}

std::vector<DeviceMemory::Peak> MemoryLedger::begin_peaks() {
  std::vector<DeviceMemory::Peak> before;
  for (const auto& device : devices_) before.push_back(device->begin_peak());
  return before;
}

/// A device that was opened meanwhile had no memory in use before.
void MemoryLedger::end_peaks(const std::vector<DeviceMemory::Peak>& before) {
  for (size_t i = 0; i < before.size(); ++i) devices_[i]->end_peak(before[i]);
}

const DeviceMemory* MemoryLedger::of(Device device) const {
  for (const auto& memory : devices_) {
    if (memory->device() == device) return memory.get();
  }
  return nullptr;
}

// ---- Text ------------------------------------------------------------------------------------------------------

namespace {

std::string line_text(const MemoryHolder& holder, const SourceMap& sources) {
  if (!holder.origin.span.valid()) return "";
  const std::string location = sources.location(holder.origin.span);
  return location.substr(location.rfind('/') + 1) + (holder.origin.is_backward ? " (backward)" : "");
}

std::string what_text(const MemoryHolder& holder) {
  std::string text(holder.what);
  if (!holder.plan.empty()) text += (text.empty() ? "in " : " in ") + holder.plan;
  return text.empty() ? "host data or working space" : text;
}

std::string variables_text(const MemoryHolder& holder) {
  return fmt::format("{}{}", fmt::join(holder.variables, ", "), holder.has_more_variables ? ", ..." : "");
}

void add_table(std::string& text, const DeviceMemory& memory, const SourceMap& sources, size_t most) {
  const std::vector<MemoryHolder> holders = memory.at_peak();
  if (memory.peak() == 0) return;
  text += fmt::format("\nmemory at the peak of {}: {}\n{:>11} {:>7}  {:<24} {:<28} variables\n",
                      to_string(memory.device()), describe_bytes(memory.peak()), "bytes", "blocks", "line", "op");
  MemoryHolder::Sum rest;
  for (size_t i = 0; i < holders.size(); ++i) {
    const MemoryHolder& holder = holders[i];
    if (i >= most) {
      rest.bytes += holder.at_peak.bytes;
      rest.blocks += holder.at_peak.blocks;
      continue;
    }
    const bool is_before = holder.at_peak.blocks == 0;
    text += fmt::format("{:>11} {:>7}  {:<24} {:<28} {}\n", describe_bytes(holder.at_peak.bytes),
                        is_before ? "" : std::to_string(holder.at_peak.blocks), line_text(holder, sources),
                        is_before ? "in use before" : what_text(holder), variables_text(holder));
  }
  if (holders.size() > most)
    text +=
        fmt::format("{:>11} {:>7}  in {} more rows\n", describe_bytes(rest.bytes), rest.blocks, holders.size() - most);
}

}  // namespace

std::string maker_text(const MemoryHolder& holder, const SourceMap& sources) {
  const std::string line = line_text(holder, sources);
  return what_text(holder) + (line.empty() ? "" : " (" + line + ")");
}

std::string memory_text(const MemoryLedger& ledger, const SourceMap& sources, size_t most) {
  std::string text;
  for (const auto& device : ledger.devices()) add_table(text, *device, sources, most);
  return text;
}

}  // namespace tsl::report
