// What a group does beside linked devices: its ranks agree later on what they do, and what waits on a device for a rank
// that has ended is ended, too.
#include <algorithm>
#include <array>
#include <chrono>

#include "base/error_names.h"
#include "base/run_watch.h"
#include "world/group.h"

namespace tsl::world {

namespace {

constexpr std::chrono::milliseconds kPoll{20};
constexpr const char* kEndOfProgram = "the end of the program";

/// What a rank says at a time.
struct Batch {
  uint64_t count = 0;
  std::array<Announcement, 32> entries{};
};

}  // namespace

// ---- Agreement beside the program ---------------------------------------------------------------------------------

void Group::announce(std::string_view call, std::string_view where) {
  const Announcement own = next_announcement(call, where, true);
  std::unique_lock lock(mutex_);
  if (disagreement_ || is_cut_) {
    lock.unlock();
    await_agreement();
  }
  announced_.push_back(own);
  if (!comparer_.joinable()) comparer_ = std::thread([this] { compare_announced(); });
  announced_or_agreed_.notify_all();
}

bool Group::is_linked() const {
  const std::lock_guard lock(mutex_);
  return link_ != nullptr;
}

/// Agrees on what was announced, in order, until something differs or a rank has ended.
void Group::compare_announced() {
  std::unique_lock lock(mutex_);
  while (true) {
    announced_or_agreed_.wait(lock, [this] { return is_ending_ || !announced_.empty(); });
    if (is_ending_) return;
    lock.unlock();
    std::optional<Failure> problem;
    try {
      exchange_announced();
    } catch (const Failure& failure) { problem = failure; }
    lock.lock();
    if (problem) {
      disagreement_ = std::move(problem);
      announced_.clear();
      cut_link(lock);
    }
    announced_or_agreed_.notify_all();
    if (disagreement_) return;
  }
}

/// Sends what the others do not have, and compares what all have said. A rank that has less to say is heard later.
void Group::exchange_announced() {
  Batch own;
  {
    const std::lock_guard lock(mutex_);
    waits_for_ = fmt::format("`{}` at {}", announced_.front().call.data(), announced_.front().where.data());
    for (; own.count < own.entries.size() && sent_ < announced_.size(); ++sent_)
      own.entries[own.count++] = announced_[sent_];
  }
  std::vector<Batch> all(static_cast<size_t>(size()));
  std::vector<Piece> sent, received;
  for (int i = 0; i < size(); ++i) {
    sent.push_back({i, reinterpret_cast<std::byte*>(&own), sizeof own});
    received.push_back({i, reinterpret_cast<std::byte*>(&all[static_cast<size_t>(i)]), sizeof own});
  }
  exchange(sent, received);
  heard_.resize(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    heard_[i].insert(heard_[i].end(), all[i].entries.begin(), all[i].entries.begin() + all[i].count);
  const auto has_any = [](const std::deque<Announcement>& heard) { return !heard.empty(); };
  while (std::all_of(heard_.begin(), heard_.end(), has_any)) {
    std::vector<Announcement> firsts;
    for (std::deque<Announcement>& heard : heard_) {
      firsts.push_back(heard.front());
      heard.pop_front();
    }
    expect_same(firsts);
    const std::lock_guard lock(mutex_);
    announced_.pop_front();
    --sent_;
  }
}

void Group::await_agreement() {
  std::unique_lock lock(mutex_);
  while (!disagreement_ && !is_cut_ && !announced_.empty()) {
    announced_or_agreed_.wait_for(lock, kPoll);
    lock.unlock();
    poll_stop();
    lock.lock();
  }
  const std::optional<Failure> problem = disagreement_;
  const std::string why = is_cut_ ? cut_reason_ : "";
  const bool is_cut = is_cut_;
  lock.unlock();
  if (problem) throw Failure(*problem);
  if (!is_cut) return;
  is_broken_ = true;
  poll_stop();
  fail_exchange(why);
}

// ---- The link ------------------------------------------------------------------------------------------------------

void Group::add_link(std::shared_ptr<RankLink> link, std::function<void()> wait) {
  const std::lock_guard lock(mutex_);
  link_ = std::move(link);
  wait_for_devices_ = std::move(wait);
}

void Group::remove_link() {
  std::unique_lock lock(mutex_);
  announced_or_agreed_.wait(lock, [this] { return !is_cutting_; });
  link_.reset();
}

void Group::begin_wait() {
  {
    const std::lock_guard lock(mutex_);
    must_end_wait_ = stop_of_run();
  }
  changed_.notify_all();
}

void Group::end_wait() {
  {
    const std::lock_guard lock(mutex_);
    must_end_wait_ = nullptr;
  }
  await_agreement();
}

/// Whether what waits on the device waits in vain, or is to stop. `mutex_` is held.
bool Group::must_cut() const {
  if (!link_ || is_cut_) return false;
  return silent_ >= 0 || !cut_reason_.empty() || (must_end_wait_ && must_end_wait_());
}

/// Cuts the link without holding the mutex, since that may take long.
void Group::cut_link(std::unique_lock<std::mutex>& lock) {
  if (!link_ || is_cut_) return;
  is_cut_ = is_cutting_ = true;
  lock.unlock();
  link_->cut();
  lock.lock();
  is_cutting_ = false;
  announced_or_agreed_.notify_all();
}

/// Returns a rank that has said why it ends; -1: none has.
int Group::ended_rank() const {
  for (int other = 0; other < size(); ++other) {
    if (other != rank() && !meeting_.end_of(other).empty()) return other;
  }
  return -1;
}

void Group::finish() {
  Group* const group = known_;
  if (!group) return;
  {
    const std::lock_guard lock(group->mutex_);
    if (!group->link_) return;
  }
  group->wait_for_devices_();
  group->agree(kEndOfProgram, "its last line", true);
  group->remove_link();
}

}  // namespace tsl::world
