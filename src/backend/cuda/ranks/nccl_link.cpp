#include "backend/cuda/ranks/nccl_link.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "backend/cuda/ranks/agreement.h"
#include "backend/cuda/ranks/nccl.h"
#include "base/error_names.h"

namespace tsl::cuda {

namespace {

constexpr uint64_t kMostScratch = uint64_t{64} << 20;   // bytes of what the ranks have, of which sums are made
constexpr uint64_t kFewForShares = uint64_t{64} << 10;  // below which the time of a message counts, and not its bytes
constexpr unsigned kSumThreads = 256, kMostBlocks = 2048;

class NcclLink final : public world::RankLink {
 public:
  NcclLink(Gpu& gpu, std::unique_ptr<Nccl> nccl, int rank, int size, const nccl::Id& id)
      : gpu_(gpu), nccl_(std::move(nccl)), rank_(rank), size_(size) {
    nccl_->check(nccl_->ncclCommInitRank(&communicator_, size, id, rank), "linking the ranks");
    connect(size);
  }
  // Aborted, not destroyed: nothing is enqueued any more, and destroying waits for the other ranks.
  ~NcclLink() override { cut(); }

  std::string name() const override { return nccl_->version(); }

  void exchange(std::span<const world::Piece> sent, std::span<const world::Piece> received) override {
    copy_own(gpu_.device, rank_, sent, received);
    const std::lock_guard lock(mutex_);
    if (!communicator_) fail(ErrorName::rank_lost, "the ranks are not connected any more");
    pass(sent, received);
  }

  bool sum(std::string_view dtype, const std::byte* from, std::byte* to, uint64_t count) override {
    const uint64_t bytes = sum_type(dtype).bytes;
    if (bytes == 0) return false;
    const uint64_t most = kMostScratch / bytes / static_cast<uint64_t>(size_);
    const Ref<Storage> rows = gpu_.allocator.allocate(std::min(count, most) * bytes * static_cast<uint64_t>(size_));
    for (uint64_t first = 0; first < count; first += most)
      sum_part(dtype, bytes, {from + first * bytes, to + first * bytes, std::min(count - first, most)}, rows->data());
    return true;
  }

  void cut() override {
    const bool is_owned = mutex_.try_lock_for(kPatience);  // else the call that holds it waits for a lost rank
    if (communicator_) nccl_->ncclCommAbort(communicator_);
    communicator_ = nullptr;
    if (is_owned) mutex_.unlock();
  }

  std::string problem() override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    int result = nccl::kSuccess;
    if (!lock || !communicator_ || nccl_->ncclCommGetAsyncError(communicator_, &result) != nccl::kSuccess ||
        result == nccl::kSuccess || result == nccl::kInProgress)
      return "";
    return nccl_->ncclGetErrorString(result);
  }

 private:
  void pass(std::span<const world::Piece> sent, std::span<const world::Piece> received) {
    const CUstream stream = gpu_.device.stream();
    nccl_->check(nccl_->ncclGroupStart(), "beginning an exchange");
    for (const world::Piece& piece : sent) {
      if (piece.rank == rank_ || piece.bytes == 0) continue;
      nccl_->check(nccl_->ncclSend(piece.data, piece.bytes, nccl::kBytes, piece.rank, communicator_, stream),
                   "sending to a rank");
    }
    for (const world::Piece& piece : received) {
      if (piece.rank == rank_ || piece.bytes == 0) continue;
      nccl_->check(nccl_->ncclRecv(piece.data, piece.bytes, nccl::kBytes, piece.rank, communicator_, stream),
                   "receiving from a rank");
    }
    nccl_->check(nccl_->ncclGroupEnd(), "exchanging with ranks");
  }

  /// A part of a tensor that is added up.
  struct Part {
    const std::byte* from;
    std::byte* to;
    uint64_t count;
  };

  /// Adds a part up: each rank the elements of its share, which the others then get; of few elements, each adds all up.
  void sum_part(std::string_view dtype, uint64_t bytes, const Part& part, void* rows) {
    const auto size = static_cast<uint64_t>(size_);
    const bool is_shared = size > 2 && part.count * bytes > kFewForShares;
    const auto begin_of = [&](int rank) { return is_shared ? part.count * static_cast<uint64_t>(rank) / size : 0; };
    const auto end_of = [&](int rank) { return is_shared ? begin_of(rank + 1) : part.count; };
    const uint64_t own = end_of(rank_) - begin_of(rank_);
    auto* const from = const_cast<std::byte*>(part.from);
    std::vector<world::Piece> sent, received, shared, gathered;
    for (int rank = 0; rank < size_; ++rank) {
      const uint64_t share = (end_of(rank) - begin_of(rank)) * bytes;
      std::byte* const row = static_cast<std::byte*>(rows) + static_cast<uint64_t>(rank) * own * bytes;
      sent.push_back({rank, from + begin_of(rank) * bytes, share});
      received.push_back({rank, row, own * bytes});
      shared.push_back({rank, part.to + begin_of(rank_) * bytes, own * bytes});
      gathered.push_back({rank, part.to + begin_of(rank) * bytes, share});
    }
    exchange(sent, received);
    add_rows(dtype, rows, own, part.to + begin_of(rank_) * bytes);
    if (!is_shared) return;
    const std::lock_guard lock(mutex_);
    if (communicator_) pass(shared, gathered);
  }

  void add_rows(std::string_view dtype, const void* rows, uint64_t count, std::byte* to) {
    if (count == 0) return;
    CUfunction& function = sums_[std::string(dtype)];
    if (!function) {
      const CudaKernel kernel = row_sum_kernel(dtype);
      function = gpu_.kernels.get(kernel.name(), kernel.source());
    }
    long long rows_count = size_, elements = static_cast<long long>(count);
    void* arguments[] = {&rows, &to, &rows_count, &elements};
    const auto blocks = static_cast<unsigned>(std::min<uint64_t>((count + kSumThreads - 1) / kSumThreads, kMostBlocks));
    gpu_.device.launch({.function = function, .grid = {blocks, 1, 1}, .block = {kSumThreads, 1, 1}}, arguments,
                       "k_sum_rows");
  }

  /// Exchanges with all ranks, so that all connections exist and later calls only enqueue.
  void connect(int size) {
    constexpr uint64_t kBytes = 512;
    const Ref<Storage> memory = gpu_.allocator.allocate(2 * static_cast<uint64_t>(size) * kBytes);
    std::vector<world::Piece> sent, received;
    for (int rank = 0; rank < size; ++rank) {
      std::byte* const at = static_cast<std::byte*>(memory->data()) + static_cast<uint64_t>(rank) * 2 * kBytes;
      sent.push_back({rank, at, kBytes});
      received.push_back({rank, at + kBytes, kBytes});
    }
    pass(sent, received);
    gpu_.device.synchronize();
  }

  Gpu& gpu_;
  std::unique_ptr<Nccl> nccl_;
  const int rank_, size_;
  std::map<std::string, CUfunction> sums_;  // by dtype
  static constexpr std::chrono::seconds kPatience{1};
  std::timed_mutex mutex_;  // of the communicator, which another thread may abort
  nccl::Communicator communicator_ = nullptr;
};

}  // namespace

CudaKernel row_sum_kernel(std::string_view dtype) {
  CudaKernel kernel;
  kernel.readable = "k_sum_rows";
  kernel.text.header = "// adds up in the order of ranks\n";
  kernel.text.bounds = fmt::format("__launch_bounds__({})", kSumThreads);
  kernel.text.parameters = fmt::format("const {0}* rows, {0}* to, const i64 count, const i64 elements", dtype);
  kernel.text.body = fmt::format(
      "  for (i64 i = (i64)blockIdx.x * {2} + threadIdx.x; i < elements; i += (i64)gridDim.x * {2}) {{\n"
      "    {1} sum = s_cast<{1}>(rows[i]);\n"
      "    for (i64 row = 1; row < count; ++row) sum = s_add(sum, s_cast<{1}>(rows[row * elements + i]));\n"
      "    to[i] = s_cast<{0}>(sum);\n"
      "  }}\n",
      dtype, sum_type(dtype).sum, kSumThreads);
  return kernel;
}

std::unique_ptr<world::RankLink> link_by_nccl(Gpu& gpu, world::Ranks& ranks, std::string& missing) {
  std::unique_ptr<Nccl> nccl;
  nccl::Id id{};
  std::string problem = problem_of([&] {
    nccl = std::make_unique<Nccl>();
    if (ranks.rank() == 0) nccl->check(nccl->ncclGetUniqueId(&id), "making an address");
  });
  if (missing = first_problem(ranks, problem); !missing.empty()) return nullptr;
  const std::string first = ranks.share(std::string(id.bytes, sizeof id.bytes)).front();
  std::memcpy(id.bytes, first.data(), sizeof id.bytes);
  std::unique_ptr<NcclLink> link;
  problem =
      problem_of([&] { link = std::make_unique<NcclLink>(gpu, std::move(nccl), ranks.rank(), ranks.size(), id); });
  if (missing = first_problem(ranks, problem); !missing.empty()) return nullptr;
  return link;
}

}  // namespace tsl::cuda
