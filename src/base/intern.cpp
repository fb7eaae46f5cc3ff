#include "base/intern.h"

namespace tsl {

void HeldName::make(Interner& names, std::string_view text) {
  constexpr size_t kOfNode = 32;  // what the table takes for it besides
  constexpr size_t kRounding = 16;
  require_host_bytes(text.size() + sizeof(Interner::Entry) + kOfNode + kRounding);
  const Interner::Entry& entry = names.entry_of(text);
  entry.bytes.set(text.size() + sizeof(Interner::Entry) + kOfNode);
  name_ = &entry;
  retain();
}

void HeldName::free(const Interner::Entry& entry) {
  auto& names = entry.owner->names_;
  names.erase(names.find(std::string_view(entry)));
}

}  // namespace tsl
