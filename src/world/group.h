// The ranks of one program: agreement on what they do next, and exchanges of bytes between them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "world/meeting.h"
#include "world/membership.h"
#include "world/transport.h"

namespace tsl::world {

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
  void agree(std::string_view call, std::string_view where);
  /// Sends and receives pieces; one for this rank itself is copied. Throws Failure if a rank has ended, or at an
  /// interrupt of the running program.
  void exchange(std::span<const Piece> sent, std::span<const Piece> received);

  /// Stores why the rank of this process ends, for the errors of the others. Does nothing for a process whose program
  /// has not asked for its place.
  static void leave(std::string_view why);

 private:
  static std::atomic<const Group*> known_;  // the process's, once somebody has asked for it

  void join();
  void wait_for_others() const;
  [[noreturn]] void fail_lost(int rank, std::string_view why) const;
  std::string waiting() const;
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
  bool is_broken_ = false;
  uint64_t calls_ = 0;
  std::string waits_for_;  // the call and its line
  std::vector<Beat> beats_;
  std::atomic<int> silent_{-1};

  std::mutex mutex_;  // of what follows, which the watching thread uses
  std::condition_variable changed_;
  std::function<bool()> must_stop_;  // of the running exchange
  bool is_ending_ = false;
  std::thread watcher_;
};

}  // namespace tsl::world
