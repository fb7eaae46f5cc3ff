// Divides a test of many cases among several processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "catch.h"

namespace tsl {

/// Gives the share of a test that takes turns: of TSL_TEST_SHARD, or else of TSL_TEST_TURN, a third in a run of
/// tools/test.
inline const char* shard_or_turn() {
  const char* const shard = std::getenv("TSL_TEST_SHARD");
  return shard ? shard : std::getenv("TSL_TEST_TURN");
}

/// Selects the cases of one loop that this process runs: all, or with TSL_TEST_SHARD=k/n every n-th from the k-th on, k
/// from 1 to n. At its end it prints how many these were, so that a shard without cases is noticed. Used by one thread.
class Shard {
 public:
  /// `together`: up to this many neighbours are in the same shard, so that what they share is made once; fewer if some
  /// shards would get none of the `count` cases. Throws std::invalid_argument for an invalid variable, since a typing
  /// error must not skip cases.
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
    if (!name_.empty()) WARN("shard " << name_ << ": ran " << taken_ << " of " << asked_ << " cases");
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// Whether this process runs the next case.
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
