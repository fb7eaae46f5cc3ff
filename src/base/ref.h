// Intrusive reference counts.
#pragma once

#include <cstdint>
#include <utility>

namespace tsl {

/// Base of counted objects. The count is not atomic: an object belongs to one engine, and an engine to one thread at a
/// time; worker threads access raw memory only.
class Counted {
 public:
  uint32_t use_count() const { return count_; }
  void retain() const { ++count_; }
  bool release() const { return --count_ == 0; }

 protected:
  Counted() = default;
  Counted(const Counted&) : count_(0) {}
  Counted& operator=(const Counted&) { return *this; }
  ~Counted() = default;

 private:
  mutable uint32_t count_ = 0;
};

/// A counted pointer to a T, which derives from Counted. T may define `static void destroy(T*)` to recycle objects
/// instead of deleting them.
template <class T> class Ref {
 public:
  Ref() = default;
  Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ~Ref() { drop(); }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool unique() const { return object_ && object_->use_count() == 1; }
  /// Returns the pointer without releasing its reference.
  T* detach() { return std::exchange(object_, nullptr); }
  /// Takes over a reference from detach().
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }

  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  void drop() {
    if (object_ && object_->release()) {
      if constexpr (requires { T::destroy(object_); }) T::destroy(object_);
      else delete object_;
    }
  }
  T* object_ = nullptr;
};

template <class T, class... Args> Ref<T> make_ref(Args&&... args) { return Ref<T>(new T(std::forward<Args>(args)...)); }

}  // namespace tsl
