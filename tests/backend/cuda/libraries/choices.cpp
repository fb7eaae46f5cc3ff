// Compares the kernels that GPUs choose for drawn nodes with those stored in tests/costs/choices.txt.
// TSL_UPDATE_CHOICES=1 stores them anew.
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "backend/cuda/kernels/attention/attention_source.h"
#include "backend/cuda/kernels/convolution/few_pixels.h"
#include "backend/cuda/kernels/products/node_gemm.h"
#include "backend/cuda/kernels/products/vector_products.h"
#include "backend/cuda/libraries/convolutions.h"
#include "backend/cuda/op_graphs.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;
using namespace tsl::graph;

namespace {

constexpr int kNodes = 3000, kNodesOfLine = 60;  // of each family

struct PretendedGpu {
  const char* name;
  int major, minor, multiprocessors;
  uint64_t shared_kib;

  DeviceFacts facts(bool tf32) const {
    Properties properties;
    properties.compute_major = major, properties.compute_minor = minor;
    properties.multiprocessors = multiprocessors;
    properties.shared_bytes_per_block = shared_kib << 10;
    return facts_of(properties, tf32);
  }
};
constexpr PretendedGpu kGpus[] = {{"sm_75", 7, 5, 40, 64},
                                  {"sm_80", 8, 0, 108, 163},
                                  {"sm_89", 8, 9, 128, 99},
                                  {"sm_90", 9, 0, 132, 227},
                                  {"sm_120", 12, 0, 170, 99}};

/// What runs a node: the letter of a row, and all that the row decides.
struct Choice {
  char row;
  std::string details = "";
};

struct DrawnNode {
  std::string text;
  Graph graph;
  bool tf32 = false;
  const Node& node() const { return graph[graph.outputs[0].node]; }
};

class NodeDraw {
 public:
  explicit NodeDraw(uint64_t seed) : random_(seed) {}

  DrawnNode attention() {
    const DType dtype = pick({DType::bf16, DType::f16, DType::bf16, DType::f32, DType::f64});
    const int64_t share = pick({1, 1, 2, 4, 8}), groups = pick({1, 2, 3, 8, 12}), batch = pick({1, 1, 2, 8, 300});
    const int64_t rows = pick({1, 1, 2, 4, 16, 17, 64, 255, 256, 300, 1000, 4096}),
                  keys = chance(50) ? rows : pick({1, 16, 64, 128, 256, 1000, 4096, 32768});
    const int64_t width = pick({8, 32, 64, 64, 80, 100, 128, 128, 160, 200, 256, 300});
    Attrs attrs;
    attrs.causal = chance(50);
    if (chance(20)) attrs.size = pick({1, 7, 100, 1024});
    if (chance(15)) attrs.softcap = 30;
    const Lying query = plain({batch, groups * share, rows, width}, dtype),
                key = plain({batch, groups, keys, width}, dtype);
    std::vector<Lying> operands = {query, key, key};
    const bool is_gradient = chance(40);
    if (is_gradient) {
      for (const Lying& more : {query, plain({batch, groups * share, rows}, accumulator_of(dtype)), query})
        operands.push_back(more);
    } else if (chance(15)) {
      operands.push_back(plain({batch, groups * share, rows, keys}, chance(50) ? DType::boolean : dtype));
    }
    return {fmt::format("{} {} {}x{} heads of {}x{} by {}, {} operands, causal {}, window {}, cap {}",
                        is_gradient ? "attention_grad" : "attention", name_of(dtype), batch, groups * share, rows,
                        width, keys, operands.size(), attrs.causal, attrs.size, attrs.softcap),
            one_op(is_gradient ? Op::attention_grad : Op::attention, operands, attrs, {dtype, query.view.shape})};
  }

  DrawnNode convolution() {
    const DType dtype = pick({DType::f32, DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32});
    const int rank = static_cast<int>(pick({1, 2, 2, 2, 3}));
    const int64_t groups = pick({1, 1, 1, 2, 8, 32}), ins = pick({1, 3, 8, 16, 64, 512}),
                  outs = pick({1, 4, 8, 32, 128, 512});
    Shape images = {pick({1, 1, 2, 4, 5, 32}), groups * ins}, filters = {groups * outs, ins},
          result = {images[0], groups * outs};
    std::vector<int64_t> strides, dilations, margins;
    const int64_t tap = pick({1, 1, 3, 3, 5, 7}), stride = pick({1, 1, 2}), dilation = pick({1, 1, 1, 2}),
                  low = pick({0, 0, 1, 3});
    const int64_t high = chance(85) ? low : low + 1;
    for (int i = 0; i < rank; ++i) {
      const int64_t reach = (tap - 1) * dilation + 1, extent = std::max(pick({1, 4, 7, 14, 28, 56}), reach);
      images.push_back(extent);
      filters.push_back(tap);
      result.push_back((extent + low + high - reach) / stride + 1);
    }
    std::vector<int64_t> numbers = {groups};
    for (const int64_t number : {stride, dilation, low, high})
      numbers.insert(numbers.end(), static_cast<size_t>(rank), number);
    const Op op = pick({Op::conv, Op::conv, Op::conv_input_grad, Op::conv_weight_grad});
    const Lying x = plain(images, dtype), w = plain(filters, dtype), y = plain(result, dtype);
    const auto space = [](const Shape& shape) {
      Shape out;
      for (int i = 2; i < shape.rank(); ++i) out.push_back(shape[i]);
      return out;
    };
    DrawnNode drawn{
        fmt::format("{} {} {} by {}, stride {}, dilation {}, margins {} {}, groups {}", op_def(op).name, name_of(dtype),
                    to_string(images), to_string(filters), stride, dilation, low, high, groups),
        op == Op::conv              ? graph::convolution(op, x, w, numbers)
        : op == Op::conv_input_grad ? graph::convolution(op, y, w, numbers, space(images))
                                    : graph::convolution(op, x, y, numbers, space(filters)),
        chance(50)};
    return drawn;
  }

  DrawnNode product() {
    const DType dtype = pick({DType::bf16, DType::f16, DType::f32, DType::f32, DType::f64, DType::i32});
    const auto extent = [&] { return pick({1, 1, 2, 7, 8, 64, 100, 764, 768, 2304, 3072, 4096, 5000, 50257}); };
    const int64_t m = extent(), k = extent(), n = extent(), batch = pick({1, 1, 1, 2, 12, 300});
    const auto matrix = [&](int64_t rows, int64_t columns, bool is_turned) {
      if (!is_turned) return plain({batch, rows, columns}, dtype);
      Lying turned = plain({batch, columns, rows}, dtype);
      turned.view = permute(turned.view, std::vector<int>{0, 2, 1});
      return turned;
    };
    const bool is_a_turned = chance(30), is_b_turned = chance(50);
    return {fmt::format("matmul {} {} times {}x{}{} by {}{}", name_of(dtype), batch, m, k, is_a_turned ? " turned" : "",
                        n, is_b_turned ? " turned" : ""),
            graph::product(matrix(m, k, is_a_turned), matrix(k, n, is_b_turned)), chance(50)};
  }

 private:
  template <class T> T pick(std::initializer_list<T> values) { return values.begin()[random_() % values.size()]; }
  int64_t pick(std::initializer_list<int> values) { return pick<int>(values); }

  bool chance(int percent) { return random_() % 100 < static_cast<unsigned>(percent); }

  std::mt19937_64 random_;  // the same numbers everywhere
};

std::string details_of(const CudaKernel& kernel) {
  return fmt::format("{} {} {} {} {} {};", kernel.readable, kernel.text.bounds, kernel.text.body, kernel.blocks,
                     kernel.threads_x, kernel.threads_y);
}

Choice attention_choice(const DrawnNode& drawn, const PretendedGpu& gpu) {
  const DeviceFacts facts = gpu.facts(drawn.tf32);
  constexpr std::string_view kLetters = "gdwp";
  const std::span<const AttentionWay> ways = attention_ways();
  REQUIRE(ways.size() == kLetters.size());
  for (size_t i = 0; i < ways.size(); ++i) {
    if (!ways[i].refusal(drawn.node(), facts).empty()) continue;
    Choice choice{kLetters[i]};
    for (const AttentionPass& pass : ways[i].passes(drawn.node(), facts))
      choice.details += details_of(pass.kernel) + fmt::format("{} {}\n", pass.shared_bytes, pass.workspace_bytes);
    return choice;
  }
  return {'-'};
}

Choice convolution_choice(const DrawnNode& drawn, const PretendedGpu& gpu) {
  if (!is_float(drawn.node().dtype)) return {'o'};  // generated
  if (const auto own = few_pixels_of(drawn.node(), gpu.facts(drawn.tf32)))
    return {'f', details_of(own->kernel) +
                     fmt::format("{} {} {} {}", own->grid[0], own->grid[1], own->grid[2], own->shared_bytes)};
  return {can_cudnn_describe(drawn.node()) ? 'c' : 'o'};
}

Choice product_choice(const DrawnNode& drawn, const PretendedGpu& gpu) {
  if (!is_float(drawn.node().dtype)) return {'o'};
  const NodeGemm gemm(drawn.node(), drawn.tf32);
  if (const auto own = vector_product_of(gemm.gemm(), gpu.facts(drawn.tf32))) return {'v', details_of(own->kernel)};
  const auto padded = padded_product(gemm.gemm());
  return {gemm.is_empty() ? '-' : 'l', padded ? fmt::format("{} {} {}", padded->m, padded->n, padded->k) : ""};
}

struct Family {
  const char* name;
  DrawnNode (NodeDraw::*draw)();
  Choice (*choose)(const DrawnNode&, const PretendedGpu&);
};
constexpr Family kFamilies[] = {{"attention", &NodeDraw::attention, attention_choice},
                                {"convolution", &NodeDraw::convolution, convolution_choice},
                                {"product", &NodeDraw::product, product_choice}};

/// Returns a digit that depends on a text (FNV-1a).
char digit_of(const std::string& text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[hash % 62];
}

/// Returns the choices of a family on a GPU: two characters a node, the row and a digit of its details.
std::string choices_of(const Family& family, const std::vector<DrawnNode>& nodes, const PretendedGpu& gpu) {
  std::string out;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i % kNodesOfLine == 0) out += fmt::format("{}{} {} {} ", i == 0 ? "" : "\n", family.name, gpu.name, i);
    const Choice choice = family.choose(nodes[i], gpu);
    out += choice.row;
    out += digit_of(choice.details);
  }
  return out + "\n";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const char* const kFile = TSL_SOURCE_DIR "/tests/costs/choices.txt";
const char* const kHead =
    "# Which kernel a GPU takes for drawn nodes: a letter for the row, and a digit that depends on all that the row "
    "decides.\n"
    "# Attention: g groups of warps, w warps, d few rows, p plain; convolutions: f few pixels, c cuDNN, o generated; "
    "products:\n"
    "# v vector, l cuBLASLt, o generated; - none. tests/backend/cuda/libraries/choices.cpp compares them.\n";

}  // namespace

TEST_CASE("drawn nodes get the kernels that are stored") {
  std::string text = kHead;
  std::map<std::string, std::string> nodes_by_place;
  for (const Family& family : kFamilies) {
    NodeDraw draw(17);
    std::vector<DrawnNode> nodes;
    for (int i = 0; i < kNodes; ++i) {
      nodes.push_back((draw.*family.draw)());
      nodes_by_place[fmt::format("{} {}", family.name, i)] = nodes.back().text;
    }
    for (const PretendedGpu& gpu : kGpus) text += choices_of(family, nodes, gpu);
  }
  if (std::getenv("TSL_UPDATE_CHOICES")) std::ofstream(kFile) << text;
  std::ostringstream stored;
  stored << std::ifstream(kFile).rdbuf();
  if (text == stored.str()) return;
  const std::vector<std::string> now = lines_of(text), before = lines_of(stored.str());
  REQUIRE(now.size() == before.size());
  for (size_t i = 0; i < now.size(); ++i) {
    const size_t first = now[i].rfind(' ') + 1;
    for (size_t at = first; at < now[i].size(); at += 2) {
      if (now[i].substr(at, 2) == before[i].substr(at, 2)) continue;
      std::istringstream line(now[i]);
      std::string family, gpu;
      size_t node = 0;
      line >> family >> gpu >> node;
      FAIL_CHECK(gpu << ": " << nodes_by_place[fmt::format("{} {}", family, node + (at - first) / 2)] << ": "
                     << before[i].substr(at, 2) << " is stored, and " << now[i].substr(at, 2) << " is chosen");
    }
  }
}
