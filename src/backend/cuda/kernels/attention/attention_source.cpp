#include "backend/cuda/kernels/attention/attention_source.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "backend/cuda/codegen/writer.h"
#include "base/integers.h"
#include "tensor/rows/attention.h"

namespace tsl::cuda {

namespace {

/// How a pass by tensor cores is divided: `warps` of 16 * `tiles` rows each, `step` rows of the other operand at a
/// time.
struct WarpChoice {
  int tiles, warps, step, blocks;  // blocks: at a time on a multiprocessor
  bool keeps_rows = false;         // in registers
  int rows() const { return 16 * tiles * warps; }
};
/// The fastest of those measured on an H100 (November 2026), for up to 64 and up to 128 columns.
struct WarpChoices {
  WarpChoice forward, keys, query;
};
constexpr WarpChoices kNarrow = {{1, 8, 64, 2}, {1, 4, 64, 3}, {1, 4, 64, 3}};
constexpr WarpChoices kWide = {{1, 8, 64, 1}, {1, 8, 64, 1}, {2, 4, 32, 1}};
constexpr int kNarrowColumns = 64, kWideColumns = 128;

/// How a pass by groups of four warps is divided: see Division in attention_hopper.cuh.
struct GroupChoice {
  int groups, step, stages, registers, loading;
  bool alternates = false;  // groups multiply in turn
  bool stays = false;       // a block for each multiprocessor does several tasks
  int64_t rows() const { return int64_t{64} * groups; }
  int threads() const { return 128 * groups + 128; }
};
struct GroupChoices {
  GroupChoice forward, keys, query;
};
/// As kNarrow and kWide, of those measured.
constexpr GroupChoices kNarrowGroups = {{2, 128, 3, 232, 40, true, true}, {2, 64, 4, 232, 40}, {3, 64, 4, 160, 32}};
constexpr GroupChoices kWideGroups = {{2, 128, 2, 232, 40, true, true}, {2, 64, 3, 240, 24}, {2, 64, 3, 232, 40}};
constexpr int64_t kLeastGroupRows = 128;  // fewer leave groups idle

/// How few rows are divided: see DecodePass in attention_decode.cuh.
struct DecodeChoice {
  int warps, stages;
  int64_t shares;  // of the keys
};
constexpr int kFewRows = 16;         // of query: a tile of the tensor cores
constexpr int64_t kMostCluster = 8;  // blocks, on every GPU with clusters
constexpr int64_t kMostShares = 32;  // that a kernel of their own adds
constexpr int64_t kLeastKeys = 128;  // of a share

constexpr int kPlainThreads = 256;

constexpr std::string_view kNotHalf = "not of 16 bits", kTooWide = "heads wider than 128",
                           kNoWarps = "the GPU has no products of warps for bf16",
                           kTooLong = "more rows or keys than 32 bits count";

/// Makes the passes of one node.
class Passes {
 public:
  Passes(const graph::Node& node, const DeviceFacts& facts)
      : node_(node),
        facts_(facts),
        form_(node.args[0].layout.shape, node.args[1].layout.shape, node.args[2].layout.shape, node.attrs) {}

  /// Returns the passes that were added; none if one needs more blocks than a launch has.
  std::vector<AttentionPass> take() {
    const auto is_too_large = [](const AttentionPass& pass) { return pass.kernel.blocks > INT32_MAX; };
    if (std::any_of(passes_.begin(), passes_.end(), is_too_large)) return {};
    return std::move(passes_);
  }

  bool is_forward() const { return node_.op == Op::attention; }
  bool has_mask() const { return is_forward() && node_.args.size() == 4; }
  int64_t query_matrices() const { return form_.batch * form_.heads; }
  int64_t key_matrices() const { return form_.batch * form_.groups; }
  int64_t columns() const { return std::max(form_.width, form_.value_width); }
  bool is_counted_in_ints() const { return std::max(form_.rows, form_.keys) <= INT32_MAX / 2; }
  uint64_t lines() const { return static_cast<uint64_t>(query_matrices() * form_.rows); }

  void add(std::string_view name, std::string_view templates, int threads, int resident, std::string body,
           int64_t blocks, uint64_t shared) {
    AttentionPass& pass = passes_.emplace_back();
    CudaKernel& kernel = pass.kernel;
    kernel.readable = fmt::format("k_{}", name);
    kernel.text.header = templates;
    kernel.text.bounds = fmt::format("__launch_bounds__({}, {})", threads, resident);
    kernel.text.parameters = "const tsl::cuda::attention::Arguments p";
    kernel.text.body =
        fmt::format("  extern __shared__ __align__(1024) char memory[];\n  tsl::cuda::attention::{};\n", body);
    kernel.blocks = blocks;
    kernel.threads_x = threads;
    pass.shared_bytes = shared;
  }

  // ---- By groups of four warps -------------------------------------------------------------------------------------

  std::string_view refusal_of_groups() const {
    if (!facts_.has_group_products) return "the GPU has no products of groups of warps";
    if (has_mask()) return "a mask";
    if (size_of(node_.dtype) != 2) return kNotHalf;
    if (columns() > kWideColumns) return kTooWide;
    if (form_.cap != 0) return "capped scores";
    if (form_.scale <= 0) return "a scale that is not positive";
    if (std::min(form_.rows, form_.keys) < kLeastGroupRows) return "few rows or keys";
    return is_counted_in_ints() ? "" : kTooLong;
  }
  void add_group_pass(std::string_view name, int padded, const GroupChoice& c, int64_t tasks, uint64_t shared) {
    const std::string type = fmt::format("{}<{}, {}, tsl::cuda::attention::Division<{}, {}, {}, {}, {}, {}>>", name,
                                         node_.dtype == DType::bf16, padded, c.groups, c.step, c.stages, c.registers,
                                         c.loading, c.alternates);
    add(fmt::format("attention_{}", name), attention_group_templates(), c.threads(), 1,
        fmt::format("{}::run<{}>(p, memory)", type, shared),
        c.stays ? std::min<int64_t>(tasks, facts_.multiprocessors) : tasks, shared);
    passes_.back().kernel.is_for_one_arch = true;
  }
  void make_by_groups() {
    const bool is_narrow = columns() <= kNarrowColumns;
    const GroupChoices& choices = is_narrow ? kNarrowGroups : kWideGroups;
    const int padded = is_narrow ? kNarrowColumns : kWideColumns;
    const auto shared = [&](const GroupChoice& c, int own, int barriers_of_stage, int numbers) {
      const int64_t stage = int64_t{2} * c.step * padded * 2 + int64_t{numbers} * c.step + 8 * barriers_of_stage;
      return static_cast<uint64_t>(own * c.rows() * padded * 2 + c.stages * stage + 2 * 8);
    };
    if (is_forward()) {
      const GroupChoice& c = choices.forward;
      return add_group_pass("HopperForward", padded, c, ceil_div(form_.rows, c.rows()) * query_matrices(),
                            shared(c, 1, 4, 0));
    }
    const std::string_view dtype = node_.dtype == DType::bf16 ? "true" : "false";
    add("attention_shifts", attention_group_templates(), kPlainThreads, 1,
        fmt::format("sum_shifts<{}>(p, blockIdx.x)", dtype), ceil_div(query_matrices() * form_.rows, 32), 0);
    passes_.back().kernel.is_for_one_arch = true;
    passes_.back().workspace_bytes = lines() * 2 * sizeof(float);
    const GroupChoice &keys = choices.keys, &query = choices.query;
    add_group_pass("HopperKeyPass", padded, keys, ceil_div(form_.keys, keys.rows()) * key_matrices(),
                   shared(keys, 2, 2, 8));
    add_group_pass("HopperQueryPass", padded, query, ceil_div(form_.rows, query.rows()) * query_matrices(),
                   shared(query, 2, 2, 0));
  }

  // ---- By tensor cores ---------------------------------------------------------------------------------------------

  std::string_view refusal_of_warps() const {
    if (!facts_.has_warp_products) return kNoWarps;
    if (has_mask()) return "a mask";
    if (size_of(node_.dtype) != 2) return kNotHalf;
    return columns() > kWideColumns ? kTooWide : is_counted_in_ints() ? "" : kTooLong;
  }
  void make_by_warps() {
    const bool is_narrow = columns() <= kNarrowColumns;
    const WarpChoices& choices = is_narrow ? kNarrow : kWide;
    const int padded = is_narrow ? kNarrowColumns : kWideColumns;
    const std::string_view dtype = node_.dtype == DType::bf16 ? "true" : "false",
                           cap = form_.cap != 0 ? "true" : "false";
    const auto add_pass = [&](std::string_view name, const WarpChoice& choice, bool is_over_keys, uint64_t shared) {
      const int64_t extent = is_over_keys ? form_.keys : form_.rows;
      const std::string kept = name == "ForwardPass" ? "" : choice.keeps_rows ? ", true" : ", false";
      add(fmt::format("attention_{}", name), attention_warp_templates(), 32 * choice.warps, choice.blocks,
          fmt::format("{}<{}, {}, {}, {}, {}, {}{}>::run<{}>(p, blockIdx.x, memory)", name, dtype, padded, choice.tiles,
                      choice.warps, choice.step, cap, kept, shared),
          ceil_div(extent, choice.rows()) * (is_over_keys ? key_matrices() : query_matrices()), shared);
    };
    const auto bytes = [&](int64_t rows) { return static_cast<uint64_t>(rows * padded * 2); };
    const auto rows_of = [](const WarpChoice& choice) { return int64_t{choice.rows()}; };
    if (is_forward()) {
      const WarpChoice& c = choices.forward;
      return add_pass("ForwardPass", c, false, bytes(rows_of(c) + 4 * c.step));
    }
    add("attention_deltas", attention_warp_templates(), kPlainThreads, 1,
        fmt::format("sum_deltas<{}>(p, blockIdx.x)", dtype), ceil_div(query_matrices() * form_.rows, 32), 0);
    passes_.back().workspace_bytes = lines() * sizeof(float);
    const WarpChoice &keys = choices.keys, &query = choices.query;
    constexpr uint64_t kNumbers = 2 * sizeof(float);  // of a row of query
    add_pass("KeyPass", keys, true,
             2 * (bytes(rows_of(keys) + 2 * keys.step) + kNumbers * static_cast<uint64_t>(keys.step)));
    add_pass("QueryPass", query, false, bytes(2 * rows_of(query) + 4 * query.step));
  }

  // ---- Few rows --------------------------------------------------------------------------------------------------

  std::string_view refusal_of_decoding() const {
    if (!facts_.has_warp_products) return kNoWarps;
    if (!is_forward()) return "a gradient";
    if (size_of(node_.dtype) != 2) return kNotHalf;
    if (columns() > kWideColumns) return kTooWide;
    if (form_.rows > kFewRows) return "many rows";
    return form_.keys == 0 ? "no keys" : is_counted_in_ints() ? "" : kTooLong;
  }
  /// The most keys that the rows look at.
  int64_t keys_of_rows() const { return std::min(form_.keys, form_.left + form_.right + form_.rows); }
  uint64_t decode_bytes(const DecodeChoice& c, int padded) const {
    return static_cast<uint64_t>(kFewRows * padded * 2 * (1 + 2 * c.warps * c.stages));
  }
  /// One large block for each multiprocessor, if there are so few tasks, else several small ones: the fastest of those
  /// measured on an H100 (November 2026). Two clusters less than multiprocessors have room for fit into their groups.
  DecodeChoice decode_choice(int64_t tasks, int padded) const {
    DecodeChoice c = {8, padded == kNarrowColumns ? 4 : 3, 1};
    if (tasks > facts_.multiprocessors) c = {4, 3, 1};
    const int64_t most = facts_.has_clusters ? kMostCluster : kMostShares;
    while (c.shares < most && 2 * (tasks + 2) * c.shares <= facts_.multiprocessors &&
           keys_of_rows() >= 2 * c.shares * kLeastKeys)
      c.shares *= 2;
    while (c.stages > 2 && decode_bytes(c, padded) > facts_.shared_bytes) --c.stages;
    if (decode_bytes(c, padded) > facts_.shared_bytes) c.warps = 4;
    return c;
  }
  void make_decoding() {
    const int padded = columns() <= kNarrowColumns ? kNarrowColumns : kWideColumns;
    const std::string_view dtype = node_.dtype == DType::bf16 ? "true" : "false",
                           cap = form_.cap != 0 ? "true" : "false";
    const int64_t tasks = key_matrices() * ceil_div(form_.share() * form_.rows, kFewRows);
    const DecodeChoice c = decode_choice(tasks, padded);
    const int64_t shares = c.shares;
    const bool is_in_cluster = facts_.has_clusters && shares > 1;
    const uint64_t shared = decode_bytes(c, padded);
    add("attention_decode", attention_warp_templates(), 32 * c.warps, 1,
        fmt::format("DecodePass<{}, {}, {}, {}, {}, {}, {}>::run<{}>(p, blockIdx.x, memory)", dtype, padded, c.warps,
                    c.stages, shares, is_in_cluster, cap, shared),
        tasks * shares, shared);
    if (is_in_cluster) passes_.back().kernel.text.bounds += fmt::format(" __cluster_dims__({})", shares);
    if (is_in_cluster || shares == 1) return;
    const int64_t left = kFewRows * padded + 2 * kFewRows;  // numbers of a share
    passes_.back().workspace_bytes = static_cast<uint64_t>(tasks * shares * left) * sizeof(float);
    add("attention_add_shares", attention_warp_templates(), kPlainThreads, 1,
        fmt::format("add_decoded<{}, {}, {}, {}>(p, blockIdx.x)", dtype, padded, shares, cap),
        tasks * kFewRows * padded / kPlainThreads, 0);
  }

  // ---- By plain products -------------------------------------------------------------------------------------------

  static constexpr int kMostPlainColumns = 256;
  /// The tiles of a block: of query, key and value, and of scores.
  struct PlainTile {
    int rows, padded;
    int tiles, score_tiles;
  };
  bool are_rows_few() const { return is_forward() && form_.rows <= kFewRows; }
  /// Returns the tile with the most rows that fits into shared memory; 0 rows: none does.
  PlainTile plain_tile() const {
    PlainTile tile{kFewRows,
                   columns() <= 64    ? 64
                   : columns() <= 128 ? 128
                                      : kMostPlainColumns,
                   is_forward() ? 3 : 4, is_forward() ? 1 : 2};
    if (are_rows_few()) return tile;
    for (const int rows : {64, 32, 16}) {
      tile.rows = rows;
      if (plain_bytes(tile) <= facts_.shared_bytes) return tile;
    }
    tile.rows = 0;
    return tile;
  }
  uint64_t plain_bytes(const PlainTile& t) const {
    const auto size = static_cast<int>(size_of(accumulator_of(node_.dtype))), gap = 16 / size;
    return static_cast<uint64_t>(t.rows * size * (t.tiles * (t.padded + gap) + t.score_tiles * (t.rows + gap)));
  }

  /// Blocks that go through a share of the keys each, some for each multiprocessor.
  int64_t plain_shares(int64_t tasks) const {
    int64_t shares = 1;
    while (shares < kMostShares && tasks * shares < 2 * facts_.multiprocessors &&
           keys_of_rows() >= 4 * shares * kFewRows)
      shares *= 2;
    return shares;
  }

  std::string_view refusal_of_plain() const {
    if (columns() > kMostPlainColumns) return "heads wider than 256";
    if (!is_counted_in_ints()) return kTooLong;
    const PlainTile tile = plain_tile();
    const bool fits = tile.rows > 0 && plain_bytes(tile) <= facts_.shared_bytes;
    return fits ? "" : "a tile does not fit in shared memory";
  }
  void make_plain() {
    const PlainTile tile = plain_tile();
    const int rows = tile.rows, padded = tile.padded;
    const std::string type =
        fmt::format("Plain<{}, {}, {}, {}>", type_of(node_.dtype), type_of(accumulator_of(node_.dtype)), rows, padded);
    const uint64_t shared = plain_bytes(tile);
    const auto add_pass = [&](std::string_view name, int64_t blocks, uint64_t bytes) {
      add(fmt::format("attention_{}", name.substr(0, name.find('<'))), attention_plain_templates(), kPlainThreads, 1,
          fmt::format("{}::{}(p, blockIdx.x, memory)", type, name), blocks, bytes);
    };
    const int64_t over_rows = ceil_div(form_.rows, rows) * query_matrices();
    if (is_forward()) {
      const int64_t shares = are_rows_few() ? plain_shares(over_rows) : 1;
      add_pass(fmt::format("forward<{}, {}>", shared, shares), over_rows * shares, shared);
      if (shares == 1) return;
      passes_.back().workspace_bytes =
          static_cast<uint64_t>(over_rows * shares * rows * (padded + 2)) * size_of(accumulator_of(node_.dtype));
      return add_pass(fmt::format("add_shares<{}>", shares),
                      ceil_div(query_matrices() * form_.rows * padded, kPlainThreads), 0);
    }
    add_pass("deltas", ceil_div(query_matrices() * form_.rows, 16), 0);
    passes_.back().workspace_bytes = lines() * size_of(accumulator_of(node_.dtype));
    add_pass(fmt::format("key_pass<{}>", shared), ceil_div(form_.keys, rows) * key_matrices(), shared);
    add_pass(fmt::format("query_pass<{}>", shared), over_rows, shared);
  }

 private:
  const graph::Node& node_;
  const DeviceFacts& facts_;
  const AttentionForm form_;
  std::vector<AttentionPass> passes_;
};

template <std::string_view (Passes::*refusal)() const, void (Passes::*make)()>
constexpr AttentionWay way(std::string_view name) {
  return {name, [](const graph::Node& node, const DeviceFacts& facts) { return (Passes(node, facts).*refusal)(); },
          [](const graph::Node& node, const DeviceFacts& facts) {
            Passes passes(node, facts);
            (passes.*make)();
            return passes.take();
          }};
}

constexpr AttentionWay kWays[] = {way<&Passes::refusal_of_groups, &Passes::make_by_groups>("groups of warps"),
                                  way<&Passes::refusal_of_decoding, &Passes::make_decoding>("few rows"),
                                  way<&Passes::refusal_of_warps, &Passes::make_by_warps>("warps"),
                                  way<&Passes::refusal_of_plain, &Passes::make_plain>("plain")};

}  // namespace

std::span<const AttentionWay> attention_ways() { return kWays; }

std::vector<AttentionPass> attention_passes(const graph::Node& node, const DeviceFacts& facts) {
  for (const AttentionWay& way : kWays) {
    if (way.refusal(node, facts).empty()) return way.passes(node, facts);
  }
  return {};
}

}  // namespace tsl::cuda
