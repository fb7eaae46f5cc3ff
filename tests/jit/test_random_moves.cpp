// Random programs that move tensors between devices: all tiers agree, and agree with runs where all devices are the
// CPU. A failure names its program by number: random_moves(number).
#include <random>
#include <string>

#include <fmt/format.h>

#include "catch.h"
#include "support/pretend_gpu.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

class MovesGenerator {
 public:
  explicit MovesGenerator(uint32_t seed) : random_(seed) {}

  std::string program() {
    std::string text = "var g = ones([3])\n@compile\nfn inner(a, b, n) {\n  var (a, b, c) = (a, b, a * 0.5)\n";
    statements(text, 1, 2 + pick(3));
    text += "  return a + (b + c.to(b.device)).to(a.device)\n}\n";
    text += "@compile\nfn f(a, b, n) {\n  var (a, b, c) = (a, b, tensor([1.0, -0.5, 0.25]))\n";
    may_call_ = true;
    statements(text, 1, 4 + pick(8));
    text += "  return (a, {b, c: [c, " + moved("a") + "]})\n}\n";
    text +=
        "fn show(results) {\n  let (a, rest) = results\n"
        "  print(a.tolist(), a.device, rest.b.tolist(), rest.c[0].device, rest.c[1].tolist())\n}\n";
    const char* places[2][2] = {{place(), place()},
                                {place(), place()}};  // so that calls use trace paths of earlier ones
    for (int call = 0; call < 8; ++call) {
      const char* const(&at)[2] = places[call % 2];
      text += fmt::format("show(f({}, {}, {}))\n", input(at[0]), input(at[1]), call < 6 ? 1 : pick(3));
    }
    text += fmt::format("print(grad(fn(a, b) = sum(f(a, b, 1)[0]))({}, {}).tolist(), g.tolist(), g.device)\n",
                        input(place()), input(place()));
    return text;
  }

 private:
  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
  template <size_t kCount> const char* one_of(const char* const (&texts)[kCount]) { return texts[pick(kCount)]; }

  const char* place() { return one_of({"\"cpu\"", "\"cuda:0\"", "\"cuda:1\""}); }
  const char* variable() { return one_of({"a", "b", "c"}); }
  std::string moved(const std::string& x) { return fmt::format("{}.to({})", x, place()); }
  std::string input(const char* place) {
    return fmt::format("tensor([{}, {}, 0.5], device: {})", pick(5), pick(3), place);
  }

  /// Makes a bounded expression of shape [3] on the device of the variable `v`.
  std::string expression(const std::string& v) {
    const std::string w = variable();
    switch (pick(may_call_ ? 8 : 7)) {
      case 0: return fmt::format("tanh({} + {}.to({}.device))", v, w, v);
      case 1: return fmt::format("{} * (n - 1) * 0.5", v);
      case 2: return fmt::format("maximum({}, {}[::-1].to({}.device))", v, w, v);
      case 3: return fmt::format("tanh({} - sum({}).to({}.device))", v, moved("sin(" + w + ")"), v);
      case 4: return fmt::format("where({} > 0, {}, ones([3], device: {}.device) * 0.5)", v, v, v);
      case 5: return fmt::format("{}[tensor([2, 0, 1], device: {}.device)]", v, v);
      case 6: return fmt::format("cos(g).to({}.device) * {}", v, v);
      default: return fmt::format("tanh(inner({}, {}, n)).to({}.device)", v, w, v);
    }
  }

  void statements(std::string& text, int depth, size_t count) {
    for (size_t i = 0; i < count; ++i) statement(text, depth);
  }

  void statement(std::string& text, int depth) {
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    const std::string v = variable();
    switch (pick(depth < 3 ? 10 : 7)) {
      case 0:
      case 1: text += fmt::format("{}{} = {}\n", indent, v, moved(v)); break;
      case 2: text += fmt::format("{}{} = {}\n", indent, v, moved(variable())); break;
      case 3: text += fmt::format("{}g = g * 0.5 + {}.to(g.device)\n", indent, v); break;
      case 4: text += fmt::format("{}print({}.device, sum({}))\n", indent, v, v); break;
      case 7:
        text += fmt::format("{}if sum({}).item() > {} {{\n", indent, v, pick(3));
        statements(text, depth + 1, 1 + pick(3));
        text += indent + "} else {\n";
        statements(text, depth + 1, pick(2));
        text += indent + "}\n";
        break;
      case 8:
        text += fmt::format("{}for i in 0..{} {{\n", indent, one_of({"2", "n", "3"}));
        statements(text, depth + 1, 1 + pick(2));
        text += indent + "}\n";
        break;
      case 9: text += fmt::format("{}if {}.device == {} {{ {} = {} }}\n", indent, v, place(), v, expression(v)); break;
      default: text += fmt::format("{}{} = {}\n", indent, v, expression(v));
    }
  }

  std::mt19937 random_;
  bool may_call_ = false;
};

std::string random_moves(uint32_t number) { return MovesGenerator(number).program(); }

/// Replaces every GPU's name in the text by the CPU's.
std::string on_cpu(std::string text) {
  for (const char* gpu : {"cuda:0", "cuda:1"}) {
    for (size_t at = 0; (at = text.find(gpu, at)) != std::string::npos;) text.replace(at, 6, "cpu");
  }
  return text;
}

EngineOptions with_gpus(const char* device) {
  EngineOptions options;
  options.device = device;
  options.threads = 1;
  options.open_backend = [](Device gpu, exec::Backend& host) { return std::make_unique<PretendGpu>(gpu, host, true); };
  return options;
}

}  // namespace

TEST_CASE("random programs that move tensors agree on every tier", "[random][devices]") {
  int failed = 0;
  for (uint32_t number = 0; number < TSL_RANDOM_MOVES; ++number) {
    const std::string program = random_moves(number);
    const char* device = number % 2 ? "cuda:0" : "cpu";
    const std::string expected = outcome(program, Tier::eager, with_gpus(device));
    std::string difference;
    for (Tier tier : {Tier::annotated, Tier::everything}) {
      const std::string compiled = outcome(program, tier, with_gpus(device));
      if (compiled != expected) difference += first_difference(expected, compiled);
    }
    if (const size_t error = expected.find("error["); error != std::string::npos) {
      ++failed;
      UNSCOPED_INFO(program << expected.substr(error));
    }
    if (difference.empty()) continue;
    INFO("random_moves(" << number << ") on " << device << "\n" << program << difference);
    CHECK(difference.empty());
  }
  CHECK(failed == 0);
}

TEST_CASE("random programs that move tensors compute what they do on the CPU alone", "[random][devices]") {
  for (uint32_t number = 0; number < TSL_RANDOM_MOVES; ++number) {
    std::string program = random_moves(number);
    // Comparisons of devices give other results on the CPU.
    if (program.find(".device ==") != std::string::npos) continue;
    const std::string moved = on_cpu(outcome(program, Tier::everything, with_gpus("cuda:0")));
    const std::string stayed = outcome(on_cpu(program), Tier::eager, with_gpus("cpu"));
    if (moved == stayed) continue;
    INFO("random_moves(" << number << ")\n" << program << first_difference(stayed, moved));
    CHECK(moved == stayed);
  }
}
