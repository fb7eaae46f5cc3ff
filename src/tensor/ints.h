// A short list of integers: the axes, sizes and steps in an op's attributes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tensor/layout.h"

namespace tsl {

/// A list of at most kMaxRank integers, without allocation, since attributes are built at every op call.
class Ints {
 public:
  Ints() {}
  Ints(std::initializer_list<int64_t> values) { append(values.begin(), values.end()); }
  Ints(std::span<const int64_t> values) { append(values.begin(), values.end()); }
  Ints(const std::vector<int64_t>& values) { append(values.begin(), values.end()); }
  Ints(const Ints& other) : size_(other.size_) { std::copy(other.begin(), other.end(), values_); }
  Ints& operator=(const Ints& other) {
    size_ = other.size_;
    std::copy(other.begin(), other.end(), values_);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t& operator[](size_t i) { return values_[i]; }
  int64_t operator[](size_t i) const { return values_[i]; }
  int64_t front() const { return values_[0]; }
  int64_t back() const { return values_[size_ - 1]; }
  void push_back(int64_t value) {
    if (size_ == kMaxRank) fail_too_long();
    values_[size_++] = value;
  }
  void resize(size_t size) {  // shrinks only
    size_ = std::min(size_, size);
  }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  bool contains(int64_t value) const { return std::find(begin(), end(), value) != end(); }
  operator std::span<const int64_t>() const { return {values_, size_}; }

  friend bool operator==(const Ints& a, const Ints& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  template <class Iterator> void append(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }
  [[noreturn]] static void fail_too_long();

  int64_t values_[kMaxRank];  // the first size_ are valid
  size_t size_ = 0;
};

}  // namespace tsl
