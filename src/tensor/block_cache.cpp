#include "tensor/block_cache.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error_names.h"
#include "base/integers.h"

namespace tsl {

namespace {

constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr uint64_t kAbsurd = uint64_t{1} << 62;  // no machine has this much, and smaller sizes cannot overflow

}  // namespace

uint64_t SizeClasses::size_for(uint64_t bytes) const {
  bytes = std::max(bytes, alignment);
  const uint64_t power = std::bit_floor(bytes);
  const uint64_t step = std::max(alignment, power / (bytes < fine_from ? 4 : 16));
  return rounded_up(bytes, step);
}

int SizeClasses::class_of(uint64_t size) {
  const int e = std::bit_width(size) - 1;
  return 16 * e + static_cast<int>((size - (uint64_t{1} << e)) >> (e - 4));
}

BlockCache::BlockCache(Device device, SizeClasses classes)
    : device_(device), classes_(classes), free_(SizeClasses::kCount) {}

Ref<Storage> BlockCache::allocate(uint64_t bytes) {
  static constexpr BlockPurpose kUnknown;
  return allocate(bytes, kUnknown);
}

Ref<Storage> BlockCache::allocate(uint64_t bytes, const BlockPurpose& purpose) {
  if (bytes >= kAbsurd) refuse(bytes, 0);
  const uint64_t size = classes_.size_for(bytes);
  Storage*& first = free_[static_cast<size_t>(SizeClasses::class_of(size))];
  Storage* storage = first;
  if (storage) {
    first = std::exchange(storage->next_free_, nullptr);
    stats_.cached_bytes -= storage->bytes();
  } else {
    storage = make_block(bytes, size);
  }
  storage->requested_bytes_ = bytes;
  stats_.live_bytes += bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  Ref<Storage> block(storage);
  if (observer_) static_cast<Block*>(storage)->number = observer_->on_allocate(bytes, purpose);
  on_hand_out(*storage, bytes);
  return block;
}

bool BlockCache::exceeds_limit(uint64_t more) const {
  return limit_ > 0 && (more > limit_ || held_bytes_ > limit_ - more);
}

Storage* BlockCache::make_block(uint64_t bytes, uint64_t size) {
  const uint64_t cached = stats_.cached_bytes;
  if (exceeds_limit(size) && cached > 0) release_cache();
  if (exceeds_limit(size)) refuse(bytes, cached);
  ++stats_.system_allocations;
  void* data = take_from_system(size);
  if (!data && stats_.cached_bytes > 0) {
    release_cache();
    data = take_from_system(size);
  }
  if (!data) refuse(bytes, cached);
  try {
    Storage* storage = new Block(this, data, size, device_);
    held_bytes_ += size;
    return storage;
  } catch (...) {
    give_to_system(data, size);
    throw;
  }
}

void BlockCache::refuse(uint64_t bytes, uint64_t given_up) const {
  std::string text = fmt::format("out of memory: {} asked for, {} in use by tensors", describe_bytes(bytes),
                                 describe_bytes(stats_.live_bytes));
  if (given_up > 0) text += fmt::format(", {} given back from the cache in vain", describe_bytes(given_up));
  if (limit_ > 0) text += fmt::format(", limit {}", describe_bytes(limit_));
  const std::string system = describe_system();
  if (!system.empty()) text += "; " + system;
  throw OutOfMemory({ErrorName::out_of_memory, std::move(text), {}, {}, {}}, device_);
}

BlockCache::Request BlockCache::request_of(const Storage& storage) const {
  if (storage.allocator_ != this) return {};
  return {storage.requested_bytes_, static_cast<const Block&>(storage).number};
}

void BlockCache::free(Storage* storage) {
  stats_.live_bytes -= storage->requested_bytes_;
  if (observer_) observer_->on_free(static_cast<Block*>(storage)->number, storage->requested_bytes_);
  stats_.cached_bytes += storage->bytes();
  on_take_back(*storage);
  storage->next_free_ = std::exchange(free_[static_cast<size_t>(SizeClasses::class_of(storage->bytes()))], storage);
}

void BlockCache::release_cache() {
  if (stats_.cached_bytes == 0) return;
  synchronize();
  for (Storage*& first : free_) {
    while (Storage* storage = first) {
      first = storage->next_free_;
      stats_.cached_bytes -= storage->bytes();
      held_bytes_ -= storage->bytes();
      give_to_system(storage->data(), storage->bytes());
      delete static_cast<Block*>(storage);
    }
  }
}

std::string describe_bytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::optional<uint64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (status != std::errc() || value < 0) return {};
  std::string unit(end, text.data() + text.size());
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (!unit.empty() && unit != "b") {
    const size_t power = std::string_view("kmgtpe").find(unit[0]);
    const std::string rest = unit.substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return {};
    value = std::ldexp(value, 10 * (static_cast<int>(power) + 1));
  }
  if (!(value < static_cast<double>(kAbsurd))) return {};
  return static_cast<uint64_t>(value);
}

}  // namespace tsl
