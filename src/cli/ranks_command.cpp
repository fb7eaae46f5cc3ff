// `tsl --ranks N`: starts a program as several ranks on this host, passes their output on, and ends all of them when
// one fails.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/error_names.h"
#include "cli/program.h"
#include "world/meeting.h"

namespace tsl {

namespace {

using Clock = std::chrono::steady_clock;

/// How long the other ranks may take to fail, too, with an error of their own, and then to end at SIGTERM; and how long
/// all may take to save what they have when the launcher itself is ended by SIGTERM: Kubernetes, Slurm and torchrun
/// wait so long.
constexpr std::chrono::seconds kToFail{5}, kToEnd{2}, kToSave{30};
constexpr int kLook = 50;  // milliseconds
constexpr int kSignalled = 128;

volatile std::sig_atomic_t signal_received = 0;
void on_signal(int number) { signal_received = number; }

/// One of the two streams of a rank, whose lines are passed on with the rank before them.
struct Stream {
  int file = -1;    // -1: it has ended, or is passed on by nobody
  int target = -1;  // file descriptor
  std::string pending;
};

struct Rank {
  pid_t process = -1;
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
    path_ = (folder / "tsl-ranks-XXXXXX").string();
    if (!mkdtemp(path_.data()))
      fail(ErrorName::ranks_unavailable, "cannot make the folder {}: {}", path_, std::strerror(errno));
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
      if (rank.is_running) kill(rank.process, SIGKILL);
    }
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int run() {
    begin_signals();
    for (size_t i = 0; i < ranks_.size(); ++i) start(i);
    while (is_any_running()) {
      pass_on(kLook);
      if (signal_received != 0) end_others(signal_received == SIGINT ? SIGINT : SIGTERM);
      for (size_t i = 0; i < ranks_.size(); ++i) look_at(i);
      if (code_ != 0) end_late();
    }
    while (pass_on(0)) {}
    return code_;
  }

 private:
  static void begin_signals() {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  }

  /// Whether a stream of a rank is passed on by lines, and not the launcher's own.
  bool is_piped(size_t rank, bool is_output) const { return command_.shows_all || (rank > 0 && !is_output); }

  void start(size_t number) {
    Rank& rank = ranks_[number];
    std::array<int, 2> ends[2] = {{-1, -1}, {-1, -1}};
    for (size_t i = 0; i < 2; ++i) {
      if (is_piped(number, i == 0) && pipe2(ends[i].data(), O_CLOEXEC) != 0)
        fail(ErrorName::ranks_unavailable, "cannot start rank {}: {}", number, std::strerror(errno));
    }
    rank.process = fork();
    if (rank.process < 0) fail(ErrorName::ranks_unavailable, "cannot start rank {}: {}", number, std::strerror(errno));
    if (rank.process == 0) become(number, ends[0][1], ends[1][1]);
    rank.is_running = true;
    for (size_t i = 0; i < 2; ++i) {
      rank.streams[i] = {ends[i][0], i == 0 ? STDOUT_FILENO : STDERR_FILENO, ""};
      if (ends[i][1] >= 0) close(ends[i][1]);
    }
  }

  /// Runs the program as a rank, in the new process.
  [[noreturn]] void become(size_t number, int output, int errors) const {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
    set("TSL_RANK", std::to_string(number));
    set("TSL_RANKS", std::to_string(ranks_.size()));
    set("TSL_LOCAL_RANK", std::to_string(number));
    set("TSL_LOCAL_RANKS", std::to_string(ranks_.size()));
    set("TSL_RENDEZVOUS", place_.path());
    if (output < 0 && number > 0) output = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (output >= 0) dup2(output, STDOUT_FILENO);
    if (errors >= 0) dup2(errors, STDERR_FILENO);
    if (number > 0) {  // only rank 0 reads the input
      const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    }
    execv("/proc/self/exe", arguments_);
    execvp(arguments_[0], arguments_);
    std::cerr << "tsl: cannot start " << arguments_[0] << ": " << std::strerror(errno) << std::endl;
    _exit(kExitFailed);
  }

  bool is_any_running() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.is_running; });
  }

  /// Passes on what the ranks have written, after waiting for some. Returns whether there was any.
  bool pass_on(int milliseconds) {
    std::vector<pollfd> files;
    std::vector<std::pair<size_t, Stream*>> streams;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      for (Stream& stream : ranks_[i].streams) {
        if (stream.file < 0) continue;
        files.push_back({stream.file, POLLIN, 0});
        streams.emplace_back(i, &stream);
      }
    }
    if (poll(files.data(), files.size(), milliseconds) <= 0) return false;
    bool any = false;
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents != 0) any = read_some(streams[i].first, *streams[i].second) || any;
    }
    return any;
  }

  bool read_some(size_t rank, Stream& stream) {
    std::array<char, 1 << 16> text;
    const ssize_t bytes = read(stream.file, text.data(), text.size());
    if (bytes > 0) stream.pending.append(text.data(), static_cast<size_t>(bytes));
    if (bytes <= 0 && !stream.pending.empty()) stream.pending += '\n';
    write_lines(rank, stream);
    if (bytes > 0) return true;
    close(stream.file);
    stream.file = -1;
    return false;
  }

  static void write_lines(size_t rank, Stream& stream) {
    std::string out;
    size_t begin = 0;
    for (size_t end; (end = stream.pending.find('\n', begin)) != std::string::npos; begin = end + 1)
      out += fmt::format("[rank {}] {}\n", rank, std::string_view(stream.pending).substr(begin, end - begin));
    stream.pending.erase(0, begin);
    for (size_t done = 0; done < out.size();) {
      const ssize_t bytes = write(stream.target, out.data() + done, out.size() - done);
      if (bytes < 0 && errno != EINTR) return;
      done += bytes > 0 ? static_cast<size_t>(bytes) : 0;
    }
  }

  /// Takes note of a rank that has ended.
  void look_at(size_t number) {
    Rank& rank = ranks_[number];
    int status = 0;
    if (!rank.is_running || waitpid(rank.process, &status, WNOHANG | WUNTRACED | WCONTINUED) != rank.process) return;
    rank.is_stopped = WIFSTOPPED(status);
    if (rank.is_stopped || WIFCONTINUED(status)) return;
    rank.is_running = false;
    const bool is_signalled = WIFSIGNALED(status);
    const int code = is_signalled ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
    const std::string how = is_signalled ? fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                                         : fmt::format("exit code {}", code);
    if (is_signalled && !is_ending_) std::cerr << fmt::format("tsl: rank {} was ended by {}\n", number, how);
    world::store_end(place_.path(), static_cast<int>(number), "it was ended by " + how);
    if (code == 0 || code_ != 0) return;
    code_ = code;
    failed_at_ = Clock::now();
  }

  void end_others(int number) {
    signal_received = 0;
    is_ending_ = true;
    is_preempted_ = number == SIGTERM;
    if (code_ == 0) failed_at_ = Clock::now();
    code_ = code_ != 0 ? code_ : kSignalled + number;
    for (const Rank& rank : ranks_) {
      if (rank.is_running) kill(rank.process, number);
    }
  }

  /// Ends ranks that have not ended although another one has failed: those that are stopped at once.
  void end_late() {
    const auto late = Clock::now() - failed_at_;
    for (const Rank& rank : ranks_) {
      if (!rank.is_running || !rank.is_stopped) continue;
      is_ending_ = true;
      kill(rank.process, SIGKILL);
    }
    const auto patience = is_preempted_ ? kToSave : kToFail;
    if (late < patience) return;
    is_ending_ = true;
    for (const Rank& rank : ranks_) {
      if (rank.is_running) kill(rank.process, late < patience + kToEnd ? SIGTERM : SIGKILL);
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
