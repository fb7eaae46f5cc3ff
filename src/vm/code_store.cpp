#include "vm/code_store.h"

#include <algorithm>

#include "vm/cycles.h"
#include "vm/region_hooks.h"

namespace tsl {

namespace {

constexpr size_t kFewest = 16;              // texts between two searches
constexpr uint64_t kFewBytes = 1 << 20;     // or bytes of texts
constexpr uint64_t kWorkPerText = 1 << 17;  // of a search, in nanoseconds: the share of each text before the next
constexpr uint64_t kMostWork = 1ULL << 24;  // of one search: a third of the time by which a run may be late

}  // namespace

CodeStore::~CodeStore() {
  std::vector<Ref<Cell>> cells;  // which hold functions, which hold code
  for (const Ref<Code>& code : all_) take_globals(*code, cells);
  all_.clear();
}

Ref<Code> CodeStore::add(std::unique_ptr<Proto> main, uint32_t source, uint64_t source_bytes) {
  Ref<Code> code = make_ref<Code>(std::move(main), source, source_bytes);
  all_.push_back(code);
  ++new_codes_;
  new_bytes_ += code->bytes;
  return code;
}

bool CodeStore::release(Ref<Code> code, RegionHooks& regions) {
  if (code->use_count() > 2) return false;  // `code` and all_
  const auto at = std::find(all_.rbegin(), all_.rend(), code);
  all_.erase(std::next(at).base());
  new_codes_ -= std::min<size_t>(new_codes_, 1);
  new_bytes_ -= std::min(new_bytes_, code->bytes);
  regions.forget_regions(*code->main);
  return true;
}

bool CodeStore::is_due() const {
  return new_codes_ >= std::max(kFewest, next_codes_) || new_bytes_ >= std::max(kFewBytes, left_bytes_);
}

std::vector<uint32_t> CodeStore::free_unused(CycleCollector& cycles, RegionHooks& regions) {
  uint64_t work = 0;
  const std::vector<Ref<Code>> unused = cycles.collect(all_, regions, kMostWork, work);
  std::vector<uint32_t> sources;
  for (const Ref<Code>& code : unused) sources.push_back(code->source);
  new_codes_ = 0;
  new_bytes_ = left_bytes_ = 0;
  next_codes_ = std::max<size_t>(all_.size(), work / kWorkPerText);
  for (const Ref<Code>& code : all_) left_bytes_ += code->bytes;
  return sources;
}

}  // namespace tsl
