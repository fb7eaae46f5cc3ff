#include "world/group.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error_names.h"
#include "base/run_watch.h"
#include "world/module.h"

namespace tsl::world {

namespace {

constexpr double kJoinSeconds = 60, kConnectSeconds = 20;
/// A rank writes a file each second, and counts as hanging if it has not done so for this long.
constexpr double kSilentSeconds = 8;
constexpr std::chrono::milliseconds kBeat{1000}, kLook{20};

template <size_t N> void copy_text(std::array<char, N>& out, std::string_view text) {
  const size_t bytes = std::min(text.size(), N - 1);
  std::copy_n(text.data(), bytes, out.data());
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Returns the pieces for other ranks that have bytes.
std::vector<Piece> without_own(int rank, std::span<const Piece> pieces) {
  std::vector<Piece> others;
  std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(others),
               [&](const Piece& piece) { return piece.rank != rank && piece.bytes > 0; });
  return others;
}

const Piece* find(std::span<const Piece> pieces, int rank) {
  const auto at = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.rank == rank; });
  return at == pieces.end() ? nullptr : &*at;
}

}  // namespace

std::atomic<Group*> Group::known_{nullptr};

namespace {

/// The place that the host program has given.
struct GivenPlace {
  std::mutex mutex;
  std::optional<Membership> place;
};

GivenPlace& given_place() {
  static GivenPlace& given = *new GivenPlace;
  return given;
}

Membership place_of_process() {
  GivenPlace& given = given_place();
  const std::lock_guard lock(given.mutex);
  if (given.place) return *given.place;
  return membership_of([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace

void Group::set_place(const Membership& place) {
  if (place.rank < 0 || place.rank >= place.size || place.local_rank < 0 || place.local_rank >= place.local_size ||
      place.local_size > place.size)
    fail(ErrorName::contradicting_ranks, "there is no rank {} of {}, as number {} of {} on its host", place.rank,
         place.size, place.local_rank, place.local_size);
  if (place.size > 1 && place.folder.empty())
    fail(ErrorName::contradicting_ranks, "the {} ranks need a folder in which they find each other", place.size);
  GivenPlace& given = given_place();
  const std::lock_guard lock(given.mutex);
  const Group* const known = known_;
  const Membership* const present = given.place ? &*given.place : known ? &known->place() : nullptr;
  if (present && !(*present == place))
    fail(ErrorName::contradicting_ranks, "this process is rank {} of {} already, and cannot become rank {} of {}",
         present->rank, present->size, place.rank, place.size);
  given.place = place;
}

bool Group::is_placed() {
  GivenPlace& given = given_place();
  const std::lock_guard lock(given.mutex);
  return given.place.has_value();
}

Group& Group::of_process() {
  // Never destroyed: threads may use it while the process ends.
  static Group& group = *new Group(place_of_process());
  known_ = &group;
  return group;
}

Group::Group(Membership place) : place_(std::move(place)), meeting_(place_), beats_(static_cast<size_t>(place_.size)) {}

Group::~Group() {
  if (known_ == this) known_ = nullptr;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  announced_or_agreed_.notify_all();
  if (comparer_.joinable() && transport_) transport_->abort();
  if (comparer_.joinable()) comparer_.join();
  if (watcher_.joinable()) watcher_.join();
}

void Group::join() {
  if (transport_ || size() == 1) return;
  meeting_.open();
  meeting_.enter();
  wait_for_others();
  const char* const host = std::getenv("TSL_HOST");
  transport_ = connect({.rank = rank(),
                        .size = size(),
                        .folder = meeting_.folder_of_run(),
                        .host = host                          ? host
                                : place_.local_size == size() ? "127.0.0.1"
                                                              : "",
                        .join_seconds = kConnectSeconds});
  watcher_ = std::thread([this] { watch(); });
}

void Group::wait_for_others() const {
  const double begin = now();
  for (int other = 0; other < size(); ++other) {
    while (!meeting_.is_there(other)) {
      for (int rank = 0; rank < size(); ++rank) {
        if (const std::string reason = meeting_.end_of(rank); !reason.empty()) fail_lost(rank, reason);
      }
      if (now() - begin > kJoinSeconds)
        fail(ErrorName::rank_lost, "rank {} of {} has not come to {} within {:.0f} seconds{}", other, size(),
             place_.folder, kJoinSeconds, waiting());
      poll_stop();
      std::this_thread::sleep_for(kLook);
    }
  }
}

// ---- Exchanges ----------------------------------------------------------------------------------------------------

void Group::exchange(std::span<const Piece> sent, std::span<const Piece> received) {
  const Piece *const from = find(sent, rank()), *const to = find(received, rank());
  if (from && to && from->bytes > 0) std::memmove(to->data, from->data, from->bytes);
  if (size() == 1) return;
  join();
  if (is_broken_) fail(ErrorName::rank_lost, "the ranks are not connected any more, after an error before this one");
  run(without_own(rank(), sent), without_own(rank(), received));
}

void Group::run(std::span<const Piece> sent, std::span<const Piece> received) {
  {
    const std::lock_guard lock(mutex_);
    must_stop_ = stop_of_run();
  }
  changed_.notify_all();
  const std::string problem = transport_->exchange(sent, received);
  {
    const std::lock_guard lock(mutex_);
    must_stop_ = nullptr;
  }
  if (problem.empty()) return;
  is_broken_ = true;
  poll_stop();
  fail_exchange(problem);
}

/// Returns what tells whether this thread's run is to stop.
std::function<bool()> Group::stop_of_run() {
  return [watch = RunWatch::current()] {
    if (!watch || !watch->is_pending()) return false;
    try {
      watch->check_time();
    } catch (const Failure&) { return true; }
    return false;
  };
}

/// Fails with the rank that has ended, if one has said so, and with what this rank was waiting for.
void Group::fail_exchange(const std::string& why) {
  if (const int silent = silent_; silent >= 0)
    fail(ErrorName::rank_lost, "rank {} has not answered for {:.0f} seconds{}", silent, kSilentSeconds, waiting());
  constexpr int kTries = 50;  // for a second: a rank that ends says why once its connections are closed
  for (int i = 0; i < kTries; ++i) {
    for (int other = 0; other < size(); ++other) {
      if (const std::string reason = other == rank() ? "" : meeting_.end_of(other); !reason.empty())
        fail_lost(other, reason);
    }
    std::this_thread::sleep_for(kLook);
  }
  fail(ErrorName::rank_lost, "a rank has ended{}: {}", waiting(), why);
}

void Group::fail_lost(int rank, std::string_view why) const {
  fail(ErrorName::rank_lost, "rank {} has ended{}: {}", rank, waiting(), why);
}

/// Returns what this rank waits for, as a part of a message.
std::string Group::waiting() const {
  const std::lock_guard lock(mutex_);
  return waits_for_.empty() ? "" : ", while this rank waits in " + waits_for_;
}

Announcement Group::next_announcement(std::string_view call, std::string_view where, bool is_on_device) {
  Announcement own;
  own.number = calls_++;
  own.is_on_device = is_on_device;
  copy_text(own.call, call);
  copy_text(own.where, where);
  return own;
}

bool Group::agree(std::string_view call, std::string_view where, bool is_on_device) {
  if (size() == 1) return is_on_device;
  if (is_linked()) announce(call, where);
  await_agreement();
  return is_linked() || compare(next_announcement(call, where, is_on_device));
}

/// Exchanges what the ranks are about to do, as expect_same().
bool Group::compare(const Announcement& announced) {
  Announcement own = announced;
  {
    const std::lock_guard lock(mutex_);
    waits_for_ = fmt::format("`{}` at {}", own.call.data(), own.where.data());
  }
  std::vector<Announcement> all(static_cast<size_t>(size()));
  std::vector<Piece> sent, received;
  for (int i = 0; i < size(); ++i) {
    sent.push_back({i, reinterpret_cast<std::byte*>(&own), sizeof(own)});
    received.push_back({i, reinterpret_cast<std::byte*>(&all[static_cast<size_t>(i)]), sizeof(own)});
  }
  exchange(sent, received);
  return expect_same(all);
}

/// Fails if the ranks are about to do different things. Returns whether all have their tensors on devices.
bool Group::expect_same(std::span<const Announcement> all) {
  const auto other = std::find_if(all.begin(), all.end(), [&](const Announcement& each) {
    return each.number != all[0].number || each.call != all[0].call;
  });
  if (other == all.end())
    return std::all_of(all.begin(), all.end(), [](const Announcement& each) { return each.is_on_device; });
  is_broken_ = true;
  const auto told = [&](const Announcement& each) {
    return fmt::format("rank {} calls `{}` at {}", &each - all.data(), each.call.data(), each.where.data());
  };
  fail_with(ErrorName::ranks_disagree, fmt::format("the ranks do different things: {}, {}", told(all[0]), told(*other)),
            {"every rank must make the same calls with the same shapes, in the same order"});
}

std::vector<std::string> Group::share(const std::string& own) {
  await_agreement();
  const auto all = static_cast<size_t>(size());
  uint64_t own_bytes = own.size();
  std::vector<uint64_t> bytes(all);
  std::vector<std::string> texts(all);
  std::string copy = own;
  std::vector<Piece> sent, received;
  const auto add = [&](int rank, void* from, size_t from_bytes, void* to, size_t to_bytes) {
    sent.push_back({rank, static_cast<std::byte*>(from), from_bytes});
    received.push_back({rank, static_cast<std::byte*>(to), to_bytes});
  };
  for (size_t i = 0; i < all; ++i) add(static_cast<int>(i), &own_bytes, sizeof own_bytes, &bytes[i], sizeof own_bytes);
  exchange(sent, received);
  sent.clear();
  received.clear();
  for (size_t i = 0; i < all; ++i) {
    texts[i].resize(bytes[i]);
    add(static_cast<int>(i), copy.data(), copy.size(), texts[i].data(), texts[i].size());
  }
  exchange(sent, received);
  return texts;
}

// ---- Life and death -----------------------------------------------------------------------------------------------

void Group::leave(std::string_view why) {
  const Group* const group = known_;
  static std::atomic<bool> is_stored{false};
  if (!group || group->size() == 1 || is_stored.exchange(true)) return;
  try {
    group->meeting_.open();
    group->meeting_.leave(why);
  } catch (const Failure&) {}  // the others notice that the connection ends
}

/// Returns a rank that has not written its file for too long; -1 if all have.
int Group::silent_rank() {
  for (int other = 0; other < size(); ++other) {
    Beat& beat = beats_[static_cast<size_t>(other)];
    if (other == rank()) continue;
    std::string text = meeting_.beat_of(other);
    if (beat.seen == 0 || text != beat.text) {
      beat = {std::move(text), now()};
    } else if (now() - beat.seen > kSilentSeconds) {
      return other;
    }
  }
  return -1;
}

/// Beats, and ends an exchange whose run is to stop or whose rank is silent.
void Group::watch() {
  double last_beat = 0;
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    if (now() - last_beat > std::chrono::duration<double>(kBeat).count()) {
      last_beat = now();
      meeting_.beat();
      silent_ = silent_rank();
      if (link_ && cut_reason_.empty()) cut_reason_ = link_->problem();
      if (const int ended = link_ ? ended_rank() : -1; ended >= 0)
        cut_reason_ = fmt::format("rank {} has ended", ended);
    }
    if (must_stop_ && (silent_ >= 0 || must_stop_())) transport_->abort();
    if (must_cut()) cut_link(lock);
    if (must_stop_ || must_end_wait_) changed_.wait_for(lock, kLook);
    else changed_.wait_for(lock, kBeat);
  }
}

}  // namespace tsl::world
