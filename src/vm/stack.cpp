#include "vm/stack.h"

#include <algorithm>
#include <new>

#include "base/error_names.h"
#include "base/integers.h"

namespace tsl {

ValueStack::ValueStack() : values_(static_cast<Value*>(::operator new(kCapacity * sizeof(Value)))), made_(values_) {}

ValueStack::~ValueStack() {
  for (Value* v = values_; v < made_; ++v) v->~Value();
  ::operator delete(values_);
}

void ValueStack::grow(const Value* end) {
  constexpr ptrdiff_t kStep = 1024;  // registers constructed at a time
  const ptrdiff_t wanted = end - values_;
  if (wanted > static_cast<ptrdiff_t>(kCapacity))
    fail(ErrorName::recursion_limit, "the functions being called have too many variables");
  Value* target = values_ + std::min<ptrdiff_t>(kCapacity, rounded_up(wanted, kStep));
  for (; made_ < target; ++made_) new (made_) Value();
}

void FrameStack::fail_full() const {
  if (limit_ < kCapacity) end_program(ErrorName::recursion_limit, fmt::format("more than {} calls are nested", limit_));
  fail(ErrorName::recursion_limit, "more than {} calls are nested; does the recursion end?", kCapacity);
}

}  // namespace tsl
