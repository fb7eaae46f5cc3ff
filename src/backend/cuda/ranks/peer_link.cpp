#include "backend/cuda/ranks/peer_link.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "backend/cuda/ranks/agreement.h"
#include "base/error_names.h"
#include "base/platform/machine.h"

namespace tsl::cuda {

namespace {

constexpr int kMostChannels = 64;  // of a pair
constexpr uint64_t kPackBytes = 16, kSumChunk = kPackBytes * peers::kSumPacks;
/// Below which each of several ranks adds all up, since the time of a meeting counts, and not that of bytes.
constexpr uint64_t kFewBytes = uint64_t{256} << 10;

/// What a rank tells the others.
struct Introduction {
  char host[40] = {};  // of the running system: its number, which no other has
  int multiprocessors = 0;
  CUipcMemHandle memory = {};
};

Introduction introduction_in(const std::string& text) {
  Introduction out;
  if (text.size() == sizeof out) std::memcpy(&out, text.data(), sizeof out);
  return out;
}

/// Where the parts of a rank's memory begin: slots and flags of exchanges with each rank, and of sums.
class Area {
 public:
  Area(int ranks, int channels) : ranks_(static_cast<uint64_t>(ranks)), channels_(static_cast<uint64_t>(channels)) {}

  uint64_t slots_of(int rank) const { return static_cast<uint64_t>(rank) * slot_bytes(); }
  uint64_t arrived_from(int rank) const {
    return flags() + static_cast<uint64_t>(rank) * channels_ * sizeof(peers::Flag);
  }
  uint64_t taken_by(int rank) const { return arrived_from(rank) + ranks_ * channels_ * sizeof(peers::Flag); }
  uint64_t told_by(int rank) const {
    return taken_by(static_cast<int>(ranks_)) +
           static_cast<uint64_t>(rank) * peers::kMostSumBlocks * sizeof(peers::Flag);
  }
  uint64_t sums() const { return told_by(static_cast<int>(ranks_)); }
  uint64_t bytes() const { return sums() + uint64_t{peers::kMostSumBlocks} * kSlotsOfSum * kSumChunk; }
  /// All flags are 0 at first.
  uint64_t flags() const { return ranks_ * slot_bytes(); }
  uint64_t flag_bytes() const { return sums() - flags(); }

 private:
  static constexpr uint64_t kSlotsOfSum = 4;
  uint64_t slot_bytes() const { return channels_ * peers::kSlots * peers::kMostChunk; }

  uint64_t ranks_, channels_;
};

/// Returns the bytes of a chunk of a piece, so that it takes all channels if it is large.
uint64_t chunk_of(uint64_t bytes, int channels) {
  const uint64_t share = (bytes + static_cast<uint64_t>(channels) - 1) / static_cast<uint64_t>(channels);
  const uint64_t rounded = (share + peers::kLeastChunk - 1) / peers::kLeastChunk * peers::kLeastChunk;
  return std::clamp<uint64_t>(rounded, peers::kLeastChunk, peers::kMostChunk);
}

uint64_t chunks_of(uint64_t bytes, uint64_t chunk) { return (bytes + chunk - 1) / chunk; }

const world::Piece* find(std::span<const world::Piece> pieces, int rank) {
  const auto at =
      std::find_if(pieces.begin(), pieces.end(), [&](const world::Piece& piece) { return piece.rank == rank; });
  return at == pieces.end() ? nullptr : &*at;
}

class PeerLink final : public world::RankLink {
 public:
  PeerLink(Gpu& gpu, int rank, int size, int channels, int sum_blocks)
      : gpu_(gpu),
        rank_(rank),
        channels_(channels),
        sum_blocks_(static_cast<uint64_t>(sum_blocks)),
        area_(size, channels),
        areas_(static_cast<size_t>(size)) {
    const Driver& driver = gpu_.device.driver();
    gpu_.device.check(driver.cuMemAlloc(&areas_[static_cast<size_t>(rank)], area_.bytes()),
                      "allocating memory for ranks");
    gpu_.device.fill(own() + area_.flags(), 0, area_.flag_bytes());
    const uint64_t counters = (2 * static_cast<uint64_t>(size * channels) + peers::kMostSumBlocks) * sizeof(unsigned);
    counters_ = gpu_.allocator.allocate(counters);
    gpu_.device.fill(address_of(counters_->data()), 0, counters);
    cut_ = static_cast<std::atomic<unsigned>*>(driver.pinned_memory(sizeof(unsigned)));
    new (cut_) std::atomic<unsigned>(0);
    gpu_.device.synchronize();
  }
  // The memory ends with the process: other ranks may still write to it.
  ~PeerLink() override { cut(); }

  CUipcMemHandle handle() const {
    CUipcMemHandle handle{};
    gpu_.device.check(gpu_.device.driver().cuIpcGetMemHandle(&handle, own()), "sharing memory with other ranks");
    return handle;
  }

  /// Opens the memory of another rank.
  void open(int rank, const CUipcMemHandle& handle) {
    gpu_.device.check(gpu_.device.driver().cuIpcOpenMemHandle(&areas_[static_cast<size_t>(rank)], handle,
                                                              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                      "reaching another rank's memory");
  }

  void load() { function_ = gpu_.kernels.get(kernel_.name(), kernel_.source()); }

  std::string name() const override { return "peer memory"; }

  void exchange(std::span<const world::Piece> sent, std::span<const world::Piece> received) override {
    if (*cut_ != 0) fail(ErrorName::rank_lost, "the ranks are not connected any more");
    peers::Arguments arguments{};
    arguments.channels = channels_;
    arguments.cut = reinterpret_cast<const unsigned*>(cut_);
    uint64_t used = add_own(arguments, find(sent, rank_), find(received, rank_));
    for (int rank = 0; rank < static_cast<int>(areas_.size()); ++rank) {
      if (rank == rank_) continue;
      const peers::Pair& pair = arguments.pairs[arguments.count++] =
          pair_of(rank, find(sent, rank), find(received, rank));
      used = std::max(
          {used, chunks_of(pair.sent_bytes, pair.sent_chunk), chunks_of(pair.received_bytes, pair.received_chunk)});
    }
    if (used == 0) return;
    arguments.used = static_cast<int>(std::min(used, static_cast<uint64_t>(channels_)));
    const bool copies = arguments.own_bytes > 0;
    const auto blocks = static_cast<unsigned>(2 * (arguments.count + (copies ? 1 : 0)) * arguments.used);
    void* pointer = &arguments;
    gpu_.device.launch({.function = function_, .grid = {blocks, 1, 1}, .block = {peers::kThreads, 1, 1}}, &pointer,
                       kernel_.readable);
  }

  bool sum(std::string_view dtype, const std::byte* from, std::byte* to, uint64_t count) override {
    if (*cut_ != 0) fail(ErrorName::rank_lost, "the ranks are not connected any more");
    const uint64_t element_bytes = sum_type(dtype).bytes;
    if (element_bytes == 0) return false;
    if (count == 0) return true;
    peers::SumArguments arguments = sum_arguments(from, to, count, element_bytes);
    const uint64_t packs = arguments.is_shared ? peers::kSumPacks / areas_.size() * areas_.size() : peers::kSumPacks;
    const auto blocks =
        static_cast<unsigned>(std::min(chunks_of(count * element_bytes, packs * kPackBytes), sum_blocks_));
    CUfunction& function = sums_[std::string(dtype)];
    if (!function) {
      const CudaKernel kernel = peer_sum_kernel(dtype);
      function = gpu_.kernels.get(kernel.name(), kernel.source());
    }
    void* pointer = &arguments;
    gpu_.device.launch({.function = function, .grid = {blocks, 1, 1}, .block = {peers::kThreads, 1, 1}}, &pointer,
                       "k_sum_ranks");
    return true;
  }

  bool can_record_sum(std::string_view dtype) const override { return sum_type(dtype).bytes > 0; }

  void cut() override { *cut_ = 1; }
  std::string problem() override { return ""; }

 private:
  CUdeviceptr own() const { return areas_[static_cast<size_t>(rank_)]; }

  /// Adds what this rank sends to itself. Returns how many chunks it has.
  static uint64_t add_own(peers::Arguments& arguments, const world::Piece* sent, const world::Piece* received) {
    if (!sent || !received) return 0;
    arguments.own_sent = reinterpret_cast<const char*>(sent->data);
    arguments.own_received = reinterpret_cast<char*>(received->data);
    arguments.own_bytes = sent->bytes;
    return chunks_of(sent->bytes, peers::kMostChunk);
  }

  peers::SumArguments sum_arguments(const std::byte* from, std::byte* to, uint64_t count,
                                    uint64_t element_bytes) const {
    peers::SumArguments out{};
    out.from = from;
    out.to = to;
    out.count = count;
    for (int rank = 0; rank < static_cast<int>(areas_.size()); ++rank) {
      const CUdeviceptr there = areas_[static_cast<size_t>(rank)];
      out.areas[rank] = reinterpret_cast<char*>(there + area_.sums());
      out.flags_there[rank] = reinterpret_cast<peers::Flag*>(there + area_.told_by(rank_));
      out.flags_here[rank] = reinterpret_cast<peers::Flag*>(own() + area_.told_by(rank));
    }
    out.rounds = static_cast<unsigned*>(counters_->data()) + 2 * static_cast<int>(areas_.size()) * channels_;
    out.rank = rank_;
    out.size = static_cast<int>(areas_.size());
    out.is_shared = areas_.size() > 2 && count * element_bytes > kFewBytes ? 1 : 0;
    out.cut = reinterpret_cast<const unsigned*>(cut_);
    return out;
  }

  peers::Pair pair_of(int rank, const world::Piece* sent, const world::Piece* received) const {
    const CUdeviceptr there = areas_[static_cast<size_t>(rank)];
    const auto flags = [](CUdeviceptr at) { return reinterpret_cast<peers::Flag*>(at); };
    auto* const counters = static_cast<unsigned*>(counters_->data()) + 2 * rank * channels_;
    peers::Pair pair{};
    if (sent) pair.sent = reinterpret_cast<const char*>(sent->data), pair.sent_bytes = sent->bytes;
    if (received) pair.received = reinterpret_cast<char*>(received->data), pair.received_bytes = received->bytes;
    pair.sent_chunk = chunk_of(pair.sent_bytes, channels_);
    pair.received_chunk = chunk_of(pair.received_bytes, channels_);
    pair.there = reinterpret_cast<char*>(there + area_.slots_of(rank_));
    pair.here = reinterpret_cast<const char*>(own() + area_.slots_of(rank));
    pair.arrived_there = flags(there + area_.arrived_from(rank_));
    pair.arrived_here = flags(own() + area_.arrived_from(rank));
    pair.taken_there = flags(there + area_.taken_by(rank_));
    pair.taken_here = flags(own() + area_.taken_by(rank));
    pair.sent_chunks = counters;
    pair.received_chunks = counters + channels_;
    return pair;
  }

  Gpu& gpu_;
  const int rank_, channels_;
  const uint64_t sum_blocks_;
  const Area area_;
  std::vector<CUdeviceptr> areas_;  // of each rank: its memory, as this process reaches it
  Ref<Storage> counters_;
  std::atomic<unsigned>* cut_ = nullptr;  // in memory that the GPU reads, too
  CudaKernel kernel_ = peer_exchange_kernel();
  CUfunction function_ = nullptr;
  std::map<std::string, CUfunction> sums_;  // by dtype
};

/// Returns how many channels a pair has: all blocks must run at once on the smallest of the GPUs.
int channels_for(int multiprocessors, int ranks) {
  const int pairs = ranks - 1;
  int channels = kMostChannels;
  while (channels > 1 && channels * pairs > multiprocessors) channels /= 2;
  return channels;
}

}  // namespace

CudaKernel peer_exchange_kernel() {
  CudaKernel kernel;
  kernel.readable = "k_exchange_ranks";
  kernel.text.header = peer_exchange_templates();
  kernel.text.bounds = fmt::format("__launch_bounds__({}, 2)", peers::kThreads);
  kernel.text.parameters = "const __grid_constant__ tsl::cuda::peers::Arguments a";
  kernel.text.body = "  tsl::cuda::peers::exchange(a);\n";
  kernel.threads_x = peers::kThreads;
  return kernel;
}

CudaKernel peer_sum_kernel(std::string_view dtype) {
  CudaKernel kernel = peer_exchange_kernel();
  kernel.readable = "k_sum_ranks";
  kernel.text.parameters = "const __grid_constant__ tsl::cuda::peers::SumArguments a";
  kernel.text.body = fmt::format("  tsl::cuda::peers::Sum<{}, {}>(a).run();\n", dtype, sum_type(dtype).sum);
  return kernel;
}

std::unique_ptr<world::RankLink> link_by_memory(Gpu& gpu, world::Ranks& ranks, std::string& missing) {
  Introduction own;
  own.multiprocessors = gpu.device.properties().multiprocessors;
  const std::string host = platform::boot_name();
  host.copy(own.host, sizeof own.host - 1);
  const auto share = [&] {
    std::vector<Introduction> all;
    for (const std::string& each : ranks.share(std::string(reinterpret_cast<const char*>(&own), sizeof own)))
      all.push_back(introduction_in(each));
    return all;
  };
  std::vector<Introduction> all = share();
  int multiprocessors = own.multiprocessors;
  for (const Introduction& each : all) {
    multiprocessors = std::min(multiprocessors, each.multiprocessors);
    if (std::strcmp(each.host, own.host) != 0) missing = "the ranks are on several hosts";
  }
  if (ranks.size() > peers::kMostPeers + 1) missing = fmt::format("more than {} ranks", peers::kMostPeers + 1);
  if (missing = first_problem(ranks, missing); !missing.empty()) return nullptr;

  std::unique_ptr<PeerLink> link;
  std::string problem = problem_of([&] {
    link = std::make_unique<PeerLink>(gpu, ranks.rank(), ranks.size(), channels_for(multiprocessors, ranks.size()),
                                      std::min(2 * multiprocessors, peers::kMostSumBlocks));
    own.memory = link->handle();
  });
  if (missing = first_problem(ranks, problem); !missing.empty()) return nullptr;
  all = share();
  problem = problem_of([&] {
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (rank != ranks.rank()) link->open(rank, all[static_cast<size_t>(rank)].memory);
    }
    link->load();
  });
  if (missing = first_problem(ranks, problem); !missing.empty()) return nullptr;
  return link;
}

}  // namespace tsl::cuda
