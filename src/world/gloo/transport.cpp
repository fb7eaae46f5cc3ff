// Bytes between ranks by Gloo over TCP. A module of its own: it shares no code with the program but the interface.
#include "world/transport.h"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <mutex>
#include <vector>

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

namespace tsl::world {

namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/// Keeps SIGPIPE from this thread, and from those that it starts: that a rank has ended is an error, and Gloo writes to
/// its socket without asking that no signal comes.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now = {};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

class GlooTransport final : public Transport {
 public:
  explicit GlooTransport(const TransportOptions& options)
      : context_(std::make_shared<gloo::rendezvous::Context>(options.rank, options.size)) {
    gloo::rendezvous::FileStore store(options.folder);
    gloo::transport::tcp::attr address;
    address.hostname = options.host;
    auto device = gloo::transport::tcp::CreateDevice(address);
    context_->setTimeout(std::chrono::milliseconds(static_cast<int64_t>(options.join_seconds * 1e3)));
    context_->connectFullMesh(store, device);
  }

  std::string exchange(std::span<const Piece> sent, std::span<const Piece> received) override {
    const NoPipeSignal no_signal;
    try {
      return run(sent, received);
    } catch (const std::exception& error) {
      close();
      return error.what();
    }
  }

  void abort() override {
    is_aborted_ = true;
    const std::lock_guard lock(mutex_);
    for (const Buffer& buffer : receiving_) buffer->abortWaitRecv();
    for (const Buffer& buffer : sending_) buffer->abortWaitSend();
  }

 private:
  /// The ranks wait for each other as long as the program computes.
  static constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

  std::string run(std::span<const Piece> sent, std::span<const Piece> received) {
    const uint64_t slot = next_slot_++;
    if (is_aborted_) return "the ranks are not connected any more";
    begin(sent, sending_);
    begin(received, receiving_);
    for (size_t i = 0; i < receiving_.size(); ++i) receiving_[i]->recv(received[i].rank, slot, 0, received[i].bytes);
    for (size_t i = 0; i < sending_.size(); ++i) sending_[i]->send(sent[i].rank, slot, 0, sent[i].bytes);
    bool is_done = true;
    for (const Buffer& buffer : receiving_) is_done = is_done && !is_aborted_ && buffer->waitRecv(kForever);
    for (const Buffer& buffer : sending_) is_done = is_done && !is_aborted_ && buffer->waitSend(kForever);
    if (!is_done) {
      close();
      return "the exchange was ended";
    }
    const std::lock_guard lock(mutex_);
    sending_.clear();
    receiving_.clear();
    return "";
  }

  /// Closes the connections, which otherwise may still write to the memory of a failed exchange.
  void close() {
    try {
      context_->closeConnections();
    } catch (const std::exception&) {}  // closed already
    const std::lock_guard lock(mutex_);
    sending_.clear();
    receiving_.clear();
  }

  void begin(std::span<const Piece> pieces, std::vector<Buffer>& buffers) {
    const std::lock_guard lock(mutex_);
    buffers.clear();
    for (const Piece& piece : pieces) buffers.push_back(context_->createUnboundBuffer(piece.data, piece.bytes));
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  uint64_t next_slot_ = 1;
  std::atomic<bool> is_aborted_{false};
  std::mutex mutex_;  // of the two lists
  std::vector<Buffer> sending_, receiving_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) Transport* tsl_world_connect(const TransportOptions& options,
                                                                               std::string& error) {
  const NoPipeSignal no_signal;
  try {
    return new GlooTransport(options);
  } catch (const std::exception& failure) { error = failure.what(); }
  return nullptr;
}

}  // namespace tsl::world
