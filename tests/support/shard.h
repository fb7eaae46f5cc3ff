// A test of many cases as several processes, each of which runs some of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "catch.h"

namespace tsl {

/// The cases of one loop that this process runs: all of them, or with TSL_TEST_SHARD=k/n every n-th from the k-th on, k
/// from 1 to n. At its end it says how many there were, so that a shard without any does not look like one that passed.
/// Of one thread.
class Shard {
 public:
  /// With `together`, up to so many neighbours go to the same shard, as what they have in common is then made once;
  /// fewer if some shards would have none of the `count` cases. Throws std::invalid_argument if the variable is
  /// anything else: a typing error must not leave cases out.
  explicit Shard(uint64_t together = 1, uint64_t count = 0, const char* text = std::getenv("TSL_TEST_SHARD")) {
    if (!text) return;
    name_ = text;
    const size_t slash = name_.find('/');
    const auto number = [&](const std::string& digits) {
      if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos) {
        throw std::invalid_argument("TSL_TEST_SHARD=" + name_ + " is not k/n, with k from 1 to n");
      }
      return std::stoull(digits);
    };
    const uint64_t which = number(name_.substr(0, slash));
    shards_ = number(slash == std::string::npos ? "" : name_.substr(slash + 1));
    if (which < 1 || which > shards_) number("");
    which_ = which - 1;
    together_ = std::clamp<uint64_t>(count / shards_, 1, together);
  }
  ~Shard() {
    if (!name_.empty()) WARN("TSL_TEST_SHARD=" << name_ << ": ran " << taken_ << " of " << asked_ << " cases");
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// Whether the next case of the loop is one of ours.
  bool takes_next() {
    const bool is_ours = asked_++ / together_ % shards_ == which_;
    taken_ += is_ours;
    return is_ours;
  }

 private:
  std::string name_;
  uint64_t together_ = 1, which_ = 0, shards_ = 1, asked_ = 0, taken_ = 0;
};

}  // namespace tsl
