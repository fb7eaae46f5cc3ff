// `tsl --ranks N`: starts a program as several ranks on this host, passes their output on, and ends all of them when
// one fails.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "base/error_names.h"
#include "base/platform/child_process.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/file_status.h"
#include "base/platform/signals.h"
#include "cli/program.h"
#include "world/meeting.h"

namespace tsl {

namespace {

using Clock = std::chrono::steady_clock;
using platform::Signal;

/// How long the other ranks may take to fail, too, with an error of their own, and then to end at SIGTERM; and how long
/// all may take to save what they have when the launcher itself is ended by SIGTERM: Kubernetes, Slurm and torchrun
/// wait so long.
constexpr std::chrono::seconds kToFail{5}, kToEnd{2}, kToSave{30};
constexpr int kLook = 50;        // milliseconds
constexpr int kSignalled = 128;  // what a signal is added to for an exit code

platform::SignalFlag signal_received = 0;
void on_signal(int number) { signal_received = number; }

/// One of the two streams of a rank, whose lines are passed on with the rank before them.
struct Stream {
  platform::FileDescriptor file;  // none: it has ended, or is passed on by nobody
  int target = -1;                // file descriptor
  std::string pending;
};

struct Rank {
  int process = -1;
  std::array<Stream, 2> streams;
  bool is_running = false;
  bool is_stopped = false;  // as by SIGSTOP: it can neither fail nor end
};

/// The folder in which the ranks find each other.
class MeetingPlace {
 public:
  MeetingPlace() {
    std::error_code missing;
    std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
    if (missing) folder = "/tmp";
    const std::string prefix = (folder / "tsl-ranks-").string();
    path_ = platform::make_folder_beginning_with(prefix);
    if (path_.empty())
      fail(ErrorName::ranks_unavailable, "cannot make the folder {}XXXXXX: {}", prefix, std::strerror(errno));
  }
  ~MeetingPlace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Launch {
 public:
  Launch(char** arguments, const RanksCommand& command) : arguments_(arguments), command_(command) {
    ranks_.resize(static_cast<size_t>(command.count));
  }
  ~Launch() {
    for (const Rank& rank : ranks_) {
      if (rank.is_running) platform::send_signal(rank.process, Signal::kill);
    }
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int run() {
    begin_signals();
    for (size_t i = 0; i < ranks_.size(); ++i) start(i);
    while (is_any_running()) {
      pass_on(kLook);
      if (signal_received != 0)
        end_others(signal_received == number_of(Signal::interrupt) ? Signal::interrupt : Signal::terminate);
      for (size_t i = 0; i < ranks_.size(); ++i) look_at(i);
      if (code_ != 0) end_late();
    }
    while (pass_on(0)) {}
    return code_;
  }

 private:
  static void begin_signals() {
    for (const Signal signal : {Signal::interrupt, Signal::terminate, Signal::hang_up})
      platform::handle_signal(signal, on_signal);
  }

  /// Whether a stream of a rank is passed on by lines, and not the launcher's own.
  bool is_piped(size_t rank, bool is_output) const { return command_.shows_all || (rank > 0 && !is_output); }

  void start(size_t number) {
    const auto leads = [&](bool is_output) {
      if (is_piped(number, is_output)) return platform::ChildStream::piped;
      return is_output && number > 0 ? platform::ChildStream::nowhere : platform::ChildStream::shared;
    };
    platform::ChildOptions options;
    options.variables = {{"TSL_RANK", std::to_string(number)},
                         {"TSL_RANKS", std::to_string(ranks_.size())},
                         {"TSL_LOCAL_RANK", std::to_string(number)},
                         {"TSL_LOCAL_RANKS", std::to_string(ranks_.size())},
                         {"TSL_RENDEZVOUS", place_.path()}};
    // Only rank 0 reads the input.
    options.input = number > 0 ? platform::ChildStream::nowhere : platform::ChildStream::shared;
    options.output = leads(true);
    options.errors = leads(false);
    options.refuse = [this] {
      std::cerr << "tsl: cannot start " << arguments_[0] << ": " << std::strerror(errno) << std::endl;
      return kExitFailed;
    };
    platform::Child child = platform::start_this_program(arguments_, options);
    if (child.process < 0) fail(ErrorName::ranks_unavailable, "cannot start rank {}: {}", number, std::strerror(errno));
    Rank& rank = ranks_[number];
    rank.process = child.process;
    rank.is_running = true;
    rank.streams[0] = {std::move(child.output), platform::kStandardOutput, ""};
    rank.streams[1] = {std::move(child.errors), platform::kStandardError, ""};
  }

  bool is_any_running() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.is_running; });
  }

  /// Passes on what the ranks have written, after waiting for some. Returns whether there was any.
  bool pass_on(int milliseconds) {
    std::vector<int> files;
    std::vector<std::pair<size_t, Stream*>> streams;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      for (Stream& stream : ranks_[i].streams) {
        if (!stream.file) continue;
        files.push_back(stream.file.number());
        streams.emplace_back(i, &stream);
      }
    }
    bool any = false;
    for (const size_t ready : platform::files_with_input(files, milliseconds))
      any = read_some(streams[ready].first, *streams[ready].second) || any;
    return any;
  }

  bool read_some(size_t rank, Stream& stream) {
    std::array<char, 1 << 16> text;
    const ptrdiff_t bytes = platform::read_some(stream.file.number(), text.data(), text.size());
    if (bytes > 0) stream.pending.append(text.data(), static_cast<size_t>(bytes));
    if (bytes <= 0 && !stream.pending.empty()) stream.pending += '\n';
    write_lines(rank, stream);
    if (bytes > 0) return true;
    stream.file.close();
    return false;
  }

  static void write_lines(size_t rank, Stream& stream) {
    std::string out;
    size_t begin = 0;
    for (size_t end; (end = stream.pending.find('\n', begin)) != std::string::npos; begin = end + 1)
      out += fmt::format("[rank {}] {}\n", rank, std::string_view(stream.pending).substr(begin, end - begin));
    stream.pending.erase(0, begin);
    platform::write_all(stream.target, out.data(), out.size());
  }

  /// Takes note of a rank that has ended.
  void look_at(size_t number) {
    Rank& rank = ranks_[number];
    if (!rank.is_running) return;
    using Kind = platform::ChildChange::Kind;
    const platform::ChildChange change = platform::look_at_child(rank.process);
    if (change.kind == Kind::none) return;
    rank.is_stopped = change.kind == Kind::stopped;
    if (rank.is_stopped || change.kind == Kind::resumed) return;
    rank.is_running = false;
    const bool is_signalled = change.kind == Kind::signalled;
    const int code = is_signalled ? kSignalled + change.number : change.number;
    const std::string how = is_signalled
                                ? fmt::format("signal {} ({})", change.number, platform::signal_text(change.number))
                                : fmt::format("exit code {}", code);
    if (is_signalled && !is_ending_) std::cerr << fmt::format("tsl: rank {} was ended by {}\n", number, how);
    world::store_end(place_.path(), static_cast<int>(number), "it was ended by " + how);
    if (code == 0 || code_ != 0) return;
    code_ = code;
    failed_at_ = Clock::now();
  }

  void end_others(Signal signal) {
    signal_received = 0;
    is_ending_ = true;
    is_preempted_ = signal == Signal::terminate;
    if (code_ == 0) failed_at_ = Clock::now();
    code_ = code_ != 0 ? code_ : kSignalled + number_of(signal);
    for (const Rank& rank : ranks_) {
      if (rank.is_running) platform::send_signal(rank.process, signal);
    }
  }

  /// Ends ranks that have not ended although another one has failed: those that are stopped at once.
  void end_late() {
    const auto late = Clock::now() - failed_at_;
    for (const Rank& rank : ranks_) {
      if (!rank.is_running || !rank.is_stopped) continue;
      is_ending_ = true;
      platform::send_signal(rank.process, Signal::kill);
    }
    const auto patience = is_preempted_ ? kToSave : kToFail;
    if (late < patience) return;
    is_ending_ = true;
    for (const Rank& rank : ranks_) {
      if (rank.is_running)
        platform::send_signal(rank.process, late < patience + kToEnd ? Signal::terminate : Signal::kill);
    }
  }

  char** const arguments_;
  const RanksCommand& command_;
  const MeetingPlace place_;
  std::vector<Rank> ranks_;
  int code_ = 0;  // of the first rank that has failed
  bool is_ending_ = false;
  bool is_preempted_ = false;  // asked to end by SIGTERM, so that the ranks may save
  Clock::time_point failed_at_;
};

}  // namespace

int run_ranks(char** arguments, const RanksCommand& command) {
  try {
    return Launch(arguments, command).run();
  } catch (const Failure& failure) {
    std::cerr << render(failure.error(), SourceMap());
    return kExitFailed;
  }
}

}  // namespace tsl
