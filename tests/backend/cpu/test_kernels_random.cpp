// Tests Philox, and the numbers made from its words.
#include "catch.h"
#include "kernel_fixture.h"

using namespace kernel_test;

TEST_CASE("philox gives Random123's known answers", "[kernels][random]") {
  struct Known {
    uint64_t low, high, key;
    uint32_t words[4];
  };
  const Known known[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {~0ull, ~0ull, ~0ull, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Known& k : known) {
    const math::PhiloxBlock block = math::philox(k.low, k.high, k.key);
    for (int i = 0; i < 4; ++i) CHECK(block.words[i] == k.words[i]);
  }
}

TEST_CASE("random_bits are the words in order, from any place on", "[kernels][random]") {
  const uint64_t key = 0x123456789abcdef0, counter = ~0ull - 3;  // wraps around
  for (Isa isa : isas()) {
    for (uint64_t first : {0, 1, 5, 255, 256, 1027}) {
      std::vector<int64_t> got(777);
      cpu::kernels(isa).random.bits(got.data(), key, counter, first, got.size());
      bool equal = true;
      for (size_t i = 0; i < got.size(); ++i) {
        const uint64_t word = first + i;
        equal &= got[i] == static_cast<int64_t>(math::philox(counter + word / 4, key).words[word % 4]);
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("a stream read in parts is the stream", "[kernels][random]") {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const auto& kernels : {&cpu::RandomKernels::uniform, &cpu::RandomKernels::normal}) {
      const auto kernel = (best().random.*kernels)[index(dtype)];
      const size_t n = 1500, size = size_of(dtype);
      Bytes whole(n * size), parts(n * size);
      kernel(whole.data(), 42, 7, 0, n);
      for (size_t begin = 0, step = 1; begin < n; begin += step, step = step * 2 + 1) {
        kernel(parts.data() + begin * size, 42, 7, begin, std::min(step, n - begin));
      }
      CHECK(first_difference(dtype, whole, parts) == -1);
    }
  }
}

TEST_CASE("random numbers have the same bits on every instruction set", "[kernels][random]") {
  const size_t n = 5000;
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const auto& kernels : {&cpu::RandomKernels::uniform, &cpu::RandomKernels::normal}) {
      Bytes first(n * size_of(dtype));
      (cpu::kernels(Isa::generic).random.*kernels)[index(dtype)](first.data(), 17, 3, 0, n);
      for (Isa isa : isas()) {
        INFO(name_of(dtype) << " isa " << static_cast<int>(isa));
        Bytes got(n * size_of(dtype));
        (cpu::kernels(isa).random.*kernels)[index(dtype)](got.data(), 17, 3, 0, n);
        CHECK(first_difference(dtype, first, got) == -1);
      }
    }
  }
}

TEST_CASE("uniform numbers are the leading bits of their words", "[kernels][random]") {
  const size_t n = 4096;
  std::vector<int64_t> words(2 * n);
  best().random.bits(words.data(), 1, 2, 0, words.size());
  std::vector<float> f(n);
  std::vector<double> d(n);
  best().random.uniform[index(DType::f32)](f.data(), 1, 2, 0, n);
  best().random.uniform[index(DType::f64)](d.data(), 1, 2, 0, n);
  for (size_t i = 0; i < n; ++i) {
    REQUIRE(f[i] == static_cast<float>(words[i] >> 8) * 0x1p-24f);
    REQUIRE(d[i] == static_cast<double>((words[2 * i] >> 5 << 26) + (words[2 * i + 1] >> 6)) * 0x1p-53);
  }
  std::vector<math::Half> h(n);
  best().random.uniform[index(DType::f16)](h.data(), 1, 2, 0, n);
  for (size_t i = 0; i < n; ++i) REQUIRE(math::widen(h[i]) < 1);
}

TEST_CASE("normal numbers have the moments of the distribution", "[kernels][random]") {
  const size_t n = 1 << 20;
  std::vector<float> x(n);
  best().random.normal[index(DType::f32)](x.data(), 5, 0, 0, n);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, pairs = 0;
  size_t beyond_two = 0;
  for (size_t i = 0; i < n; ++i) {
    const double v = x[i];
    m1 += v;
    m2 += v * v;
    m3 += v * v * v;
    m4 += v * v * v * v;
    pairs += v * x[i ^ 1];
    beyond_two += std::abs(v) > 2;
  }
  const double count = static_cast<double>(n);
  CHECK(std::abs(m1 / count) < 0.005);
  CHECK(std::abs(m2 / count - 1) < 0.01);
  CHECK(std::abs(m3 / count) < 0.02);
  CHECK(std::abs(m4 / count - 3) < 0.05);
  CHECK(std::abs(pairs / count) < 0.005);
  CHECK(std::abs(static_cast<double>(beyond_two) / count - 0.0455) < 0.002);
}

TEST_CASE("normal numbers are Box and Muller's", "[kernels][random]") {
  const size_t n = 1000;
  std::vector<int64_t> words(2 * n);
  best().random.bits(words.data(), 9, 1, 0, words.size());
  std::vector<float> f(n);
  std::vector<double> d(n);
  best().random.normal[index(DType::f32)](f.data(), 9, 1, 0, n);
  best().random.normal[index(DType::f64)](d.data(), 9, 1, 0, n);
  for (size_t i = 0; i < n; i += 2) {
    const double radius = std::sqrt(-2 * std::log((static_cast<double>(words[i] >> 1) + 0.5) * 0x1p-31));
    const double angle = 2 * M_PI * static_cast<double>(words[i + 1] >> 8) * 0x1p-24;
    REQUIRE(f[i] == Approx(radius * std::cos(angle)).epsilon(1e-5).margin(1e-6));
    REQUIRE(f[i + 1] == Approx(radius * std::sin(angle)).epsilon(1e-5).margin(1e-6));
    const auto uniform = [&](size_t at) {
      return math::uniform_double(static_cast<uint32_t>(words[at]), static_cast<uint32_t>(words[at + 1]));
    };
    const double radius2 = std::sqrt(-2 * std::log(1 - uniform(2 * i)));
    REQUIRE(d[i] == Approx(radius2 * std::cos(2 * M_PI * uniform(2 * i + 2))));
    REQUIRE(d[i + 1] == Approx(radius2 * std::sin(2 * M_PI * uniform(2 * i + 2))));
  }
}
