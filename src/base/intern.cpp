#include "base/intern.h"

namespace tsl {

Interner::~Interner() {
  for (Entry* entry : buckets_) {
    while (entry) delete std::exchange(entry, entry->next);
  }
}

Interner::Entry& Interner::add(std::string_view text, uint64_t hash) {
  if (size_ == buckets_.size()) grow();
  auto* const entry = new Entry(text, hash, *this);
  entry->next = std::exchange(bucket_of(hash), entry);
  ++size_;
  return *entry;
}

void Interner::grow() {
  std::vector<Entry*> before(2 * buckets_.size());
  before.swap(buckets_);
  for (Entry* entry : before) {
    while (entry) {
      Entry* const next = entry->next;
      entry->next = std::exchange(bucket_of(entry->hash), entry);
      entry = next;
    }
  }
}

void Interner::free(Entry& entry) {
  Entry** link = &bucket_of(entry.hash);
  while (*link != &entry) link = &(*link)->next;
  *link = entry.next;
  --size_;
  delete &entry;
}

void HeldName::make(Interner& names, std::string_view text, uint64_t hash) {
  constexpr size_t kOfTable = 16;  // what its bucket and the allocator take besides
  const size_t bytes = text.size() + sizeof(Interner::Entry) + kOfTable;
  require_host_bytes(bytes);
  Interner::Entry& entry = names.add(text, hash);
  entry.bytes.set(bytes);
  name_ = &entry;
}

}  // namespace tsl
