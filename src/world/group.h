// The ranks of one program: agreement on what they do next, and exchanges of bytes between them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "world/meeting.h"
#include "world/membership.h"
#include "world/rank_link.h"
#include "world/transport.h"

namespace tsl::world {

/// What a rank is about to do, as the others receive it.
struct Announcement {
  uint64_t number = 0;
  bool is_on_device = false;
  std::array<char, 159> call{};
  std::array<char, 96> where{};
};

/// The ranks that this process belongs to, alone or with others. Every rank must make the same calls in the same order;
/// one engine of the process makes them.
class Group {
 public:
  /// Returns the group of this process. The first call reads the environment, and throws Failure if that contradicts
  /// itself. Connects nothing yet.
  static Group& of_process();
  /// Sets the place of this process, instead of the environment. Throws Failure (value) for one that contradicts
  /// itself, or another than the process has already.
  static void set_place(const Membership& place);
  /// Whether set_place() was called.
  static bool is_placed();

  explicit Group(Membership place);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const Membership& place() const { return place_; }
  int rank() const { return place_.rank; }
  int size() const { return place_.size; }

  /// Exchanges what each rank is about to do, and where. Throws Failure if that is not the same on all of them, or if a
  /// rank has ended. `call`: "all_sum f32[3]"; `where`: "train.tsl:7".
  /// Returns whether the tensors of all of them are on devices, if they say so.
  bool agree(std::string_view call, std::string_view where, bool is_on_device = false);
  /// Sends and receives pieces; one for this rank itself is copied. Throws Failure if a rank has ended, or at an
  /// interrupt of the running program.
  void exchange(std::span<const Piece> sent, std::span<const Piece> received);
  /// Returns what each rank says, by two exchanges.
  std::vector<std::string> share(const std::string& own);

  /// As agree(), but by a thread beside the program, which goes on: what differs ends the link of the devices, and is
  /// thrown by the next call or await_agreement().
  void announce(std::string_view call, std::string_view where);
  /// Waits until the ranks have agreed on all that was announced, and throws what differs, or who has ended.
  void await_agreement();
  /// Says that devices are linked from now on, or that they are not any more: then neither is used. `wait` waits for
  /// all work of the devices.
  void add_link(std::shared_ptr<RankLink> link, std::function<void()> wait);
  void remove_link();
  /// Between these two, the host waits for a device: an interrupt, or a rank that ends, cuts the link, which end_wait()
  /// throws.
  void begin_wait();
  void end_wait();

  /// Waits at the end of a program until the linked devices of all ranks have done their work, since they use each
  /// other's memory. Does nothing without a link. Throws Failure if a rank has ended by an error.
  static void finish();

  /// Stores why the rank of this process ends, for the errors of the others. Does nothing for a process whose program
  /// has not asked for its place.
  static void leave(std::string_view why);

 private:
  static std::atomic<Group*> known_;  // the process's, once somebody has asked for it

  void join();
  void wait_for_others() const;
  [[noreturn]] void fail_lost(int rank, std::string_view why) const;
  std::string waiting() const;
  Announcement next_announcement(std::string_view call, std::string_view where, bool is_on_device);
  bool compare(const Announcement& own);
  bool expect_same(std::span<const Announcement> all);
  bool is_linked() const;
  void compare_announced();
  void exchange_announced();
  static std::function<bool()> stop_of_run();
  void cut_link(std::unique_lock<std::mutex>& lock);
  bool must_cut() const;
  int ended_rank() const;
  void run(std::span<const Piece> sent, std::span<const Piece> received);
  [[noreturn]] void fail_exchange(const std::string& why);
  int silent_rank();
  void watch();

  /// How often another rank has beaten, and when that was seen.
  struct Beat {
    std::string text;
    double seen = 0;
  };

  const Membership place_;
  Meeting meeting_;
  std::unique_ptr<Transport> transport_;
  std::atomic<bool> is_broken_{false};
  uint64_t calls_ = 0;
  std::vector<Beat> beats_;
  std::atomic<int> silent_{-1};

  mutable std::mutex mutex_;  // of what follows, which the other threads use
  std::condition_variable changed_;
  std::string waits_for_;            // the call and its line
  std::function<bool()> must_stop_;  // of the running exchange
  bool is_ending_ = false;
  std::thread watcher_;

  std::shared_ptr<RankLink> link_;  // null: none
  std::function<void()> wait_for_devices_;
  bool is_cut_ = false, is_cutting_ = false;
  std::string cut_reason_;
  std::function<bool()> must_end_wait_;  // of the host's waiting for a device
  std::deque<Announcement> announced_;   // and not agreed on
  size_t sent_ = 0;                      // of these, which the others have
  std::optional<Failure> disagreement_;
  std::condition_variable announced_or_agreed_;
  std::thread comparer_;
  std::vector<std::deque<Announcement>> heard_;  // of each other rank, and not compared; the comparer's
};

}  // namespace tsl::world
