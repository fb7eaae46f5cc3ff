#include "support/random_integers.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace tsl {

namespace {

/// Calls. In place of letters between <> are ints: <s> of which all that are beyond 1000 are alike, <m> of which all
/// with the same remainder by 24 are, and <n> others.
constexpr const char* kForms[] = {
    // windows
    "conv(line, taps, stride: <s>, padding: <n>)",
    "conv(line, taps, stride: <s>, padding: 3, dilation: <s>)",
    "conv(image, filters, stride: [<s>, <s>], padding: 3)",
    "conv(image, filters[:, :, :1, :1], stride: <s>, dilation: <s>)",
    "conv(i32(image), i32(filters), stride: <s>, padding: [1, <n>])",
    "conv(image, filters, padding: [(<n>, <n>), (1, <n>)], stride: <n>)",
    "conv(image, filters, groups: <n>)",
    "conv(wide, singles, stride: <s>, padding: 2, groups: 4)",
    "conv(wide, singles, stride: [<s>, 2], padding: 2, dilation: [<n>, 1], groups: 4)",
    "conv(wide, singles, stride: <n>, padding: <n>, dilation: <n>, groups: 4)",
    "conv2d(image, filters, stride: <s>, padding: <n>)",
    "conv2d(image, filters, padding: \"same\", dilation: <n>)",
    "conv2d(bf16(image), bf16(filters), stride: <s>, padding: 1)",
    "conv_transpose(line[:, :, :1], taps.T.T[:2], [<n>], stride: <s>)",
    "conv_transpose(line, ones([2, 3, 3]), [<n>], stride: <n>, padding: <n>, dilation: <n>)",
    "conv_transpose(wide, singles, [<n>, 8], stride: [<n>, 1], padding: [<n>, 1], groups: 4)",
    "grad(fn(x) = sum(conv2d(x, filters, stride: <s>, padding: 3) ** 2))(image)",
    "grad(fn(k) = sum(conv2d(image, k, stride: <s>, padding: 3) ** 2))(filters)",
    "grad(fn(x) = sum(conv(x, singles, stride: <s>, padding: 2, groups: 4) ** 2))(wide)",
    "grad(fn(k) = sum(conv(wide, k, stride: <s>, padding: 2, groups: 4) ** 2))(singles)",
    "vmap(fn(k) = conv2d(image, k, stride: <s>))(stack([filters, filters]))",
    "max_pool1d(line, <n>, stride: <s>)",
    "max_pool2d(image, <n>, stride: <s>, padding: 1, dilation: <n>)",
    "max_pool2d(image, 2, stride: <s>, ceil_mode: true)",
    "max_pool2d(image, 3, stride: <s>, padding: 1, return_indices: true)",
    "avg_pool2d(image, 3, stride: <s>, padding: 1)",
    "avg_pool2d(image, <n>, stride: <n>, padding: <n>, ceil_mode: true)",
    "grad(fn(x) = sum(max_pool2d(x, 2, stride: <s>)))(image)",
    "windows(v, 0, <n>, <s>, <n>)",
    "windows(m, <n>, 2, step: <s>)",
    "windows(v, 0, 1, <s>, <s>)",
    "grad(fn(x) = sum(windows(x, 0, 2, <s>) ** 2))(v)",
    "fold(ones([2, 12, 4]), 4, 2, dilation: <n>, padding: <n>, stride: <n>)",
    "medfilt(v, <n>)",
    "savgol_filter(v, <n>, <n>)",
    // slices and indices
    "v[<s>:<s>:<s>]",
    "v[::<s>]",
    "m[:, <s>:<s>]",
    "m[<s>:, ::<s>].T",
    "m[<n>]",
    "image[..., <s>::<s>] + 1",
    "[1, 2, 3, 4][<s>:<s>:<s>]",
    "\"abcdef\"[<s>:<s>:<s>]",
    "(0..10)[<s>:<s>:<s>]",
    "[1, 2, 3][<n>]",
    "{ var y = v\n  y[<s>:<s>:<s>] = 1\n  return y }",
    "{ var y = v\n  y[<n>] += 1\n  return y }",
    "{ var y = m\n  y[::<s>, 1] = 7\n  return y }",
    "take(v, tensor([<n>, 1]))",
    "m[tensor([<n>]), tensor([<n>])]",
    "v[tensor([1, <n>])]",
    "gather(m, 1, tensor([[<n>], [0], [0], [0]]))",
    "scatter(v, 0, tensor([<n>]), 1)",
    // extents
    "reshape(v, [<n>, <n>])",
    "reshape(v, [<n>, -1, <n>])",
    "reshape(void, [<n>, <n>])",
    "reshape(v[:0], [<n>, <n>, 0])",
    "expand(v, [<n>, 8])",
    "expand(ones([1]), [<n>, <n>])",
    "zeros([<n>, 0])",
    "zeros([<n>, <n>])",
    "full([<n>, 0, <n>], 2)",
    "concat([zeros([<n>, 0]), zeros([<n>, 0]), zeros([<n>, 0])])",
    "concat([void, void])",
    "stack([void, void])[:, <n>]",
    "concat([expand(ones([1], dtype: u8), [<n>]), ones([5], dtype: u8)])",
    "pad(v, <n>)",
    "pad(m, [<n>, <n>])",
    "pad(void, [(<n>, <n>), (0, 0)])",
    "pad(v, <n>, mode: \"reflect\")",
    "pad(v, [<n>, <n>], mode: \"circular\")",
    "pad(v, [<n>, 1], mode: \"replicate\")",
    "tile(v, <n>)",
    "tile(m, [<n>, <n>])",
    "tile(v[:0], [<n>, <n>])",
    "tile(void, [<n>, 1])",
    "repeat(v, <n>)",
    "repeat(m, <n>, axis: 1)",
    "repeat(v[:2], tensor([<n>, <n>]))",
    "repeat(void, <n>, axis: 0)",
    "flatten(image, <n>, <n>)",
    "flatten(zeros([<n>, <n>, 0]), 0, 1)",
    "unflatten(v, 0, [<n>, <n>])",
    "unflatten(void, 0, [<n>, <n>])",
    "pixel_shuffle(wide, <n>)",
    "pixel_unshuffle(image, <n>)",
    "kron(void, void)",
    "outer(zeros([0]), v)[<n>:]",
    "arange(<n>)",
    "arange(<n>, <n>)",
    "arange(<n>, <n>, <n>)",
    "arange(<n>, <n>, <n>, dtype: i32)",
    "linspace(0, 1, <n>)",
    "linspace(0, 1, <n>, endpoint: false)",
    "round(<n>, <n>)",
    "eye(<n>, 2)",
    "tri(3, <n>, <n>)",
    "tril(m, <s>)",
    "triu(m, <s>)",
    "diagonal(m, <n>)",
    "diag(v[:3], <n>)",
    "trace(m, <n>)",
    "rot90(m, <m>)",
    "roll(v, <m>)",
    "roll(m, <m>, axis: 1)",
    "roll(m, [<m>, <m>], axis: [0, 1])",
    "split(v, <n>)",
    "split(v, [<n>, <n>])",
    "chunk(v, <n>)",
    "array_split(v, [<n>, <n>])",
    "topk(v, <n>)",
    "kthvalue(v, <n>)",
    "one_hot(tensor([0, 1]), <n>)",
    "one_hot(tensor([<n>]), 3)",
    "bincount(tensor([0, <n>]), minlength: <n>)",
    "segment_sum(v[:2], tensor([0, 1]), <n>)",
    "histogram(v, <n>)",
    "vander(v, <n>)",
    "unravel_index(<n>, [<n>, <n>])",
    "ravel_multi_index([tensor([1]), tensor([2])], [<n>, <n>])",
    // axes
    "sum(m, axis: <n>)",
    "max(image, axis: [<n>, <n>])",
    "cumsum(m, axis: <n>)",
    "sort(m, axis: <n>)",
    "softmax(m, axis: <n>)",
    "unsqueeze(m, <n>)",
    "transpose(m, <n>, <n>)",
    "moveaxis(m, <n>, <n>)",
    "concat([m, m], axis: <n>)",
    // random numbers
    "randint(<n>, <n>, [3], key: 1)",
    "rand([2], key: <n>)",
    "rand([<n>], key: 1)",
    "randperm(<n>, key: 1)",
    "fold_in(<n>, <n>)",
    // signals
    "rfft(v, <n>)",
    "fft(complex(v, v), <n>)",
    "irfft(complex(v, v), <n>)",
    "irfft_pairs(reshape(v, [4, 2]), <n>)",
    "fftfreq(<n>)",
    "rfftfreq(<n>, dtype: f64)",
    "hann(<n>)",
    "firwin(<n>, 0.5)",
    "stft(v, <n>, <n>)",
    "resample(v, <n>)",
    "resample_poly(v, <n>, <n>)",
    // numbers
    "i8(v) + <n>",
    "clamp(i32(v), <n>, <n>)",
    "i64(v) * <n> // <n>",
    "i64(v) % <n>",
    "i64(v) << <n>",
    "i64(v) >> <n>",
    "i32(v) == <n>",
    "maximum(u64(v), <n>)",
    "<n> + <n> * <n>",
    "<n> // <n> - <n> % <n>",
    "len(<n>..<n>)",
    "(<n>..<n>)[<n>]",
    "flash_attention(line, line, line, window_size: <s>)",
};

constexpr int64_t kGreatestInt = INT64_MAX, kLeastInt = INT64_MIN;
/// Ints of which sums, products or sizes in bytes wrap around in 32 or 64 bits.
constexpr int64_t kWrapping[] = {
    kGreatestInt,        kGreatestInt - 1,       kGreatestInt - 7,       kLeastInt,        kLeastInt + 1,
    int64_t{1} << 62,    (int64_t{1} << 62) + 1, -(int64_t{1} << 62),    kGreatestInt / 3, kGreatestInt / 3 * 2 + 1,
    int64_t{1} << 61,    int64_t{1} << 60,       (int64_t{1} << 46) + 1, int64_t{1} << 46, int64_t{1} << 40,
    int64_t{3037000500}, int64_t{1} << 32,       (int64_t{1} << 32) + 1, int64_t{1} << 31, INT32_MAX,
    INT32_MIN,           -(int64_t{1} << 40)};
constexpr int64_t kFar = 1000;   // beyond all tensors of the forms
constexpr int64_t kPeriod = 24;  // of shifts and turns: a multiple of all extents that are rolled

std::string text_of(int64_t number) {
  return number == kLeastInt ? fmt::format("({} - 1)", kLeastInt + 1) : fmt::format("{}", number);
}

int64_t drawn(Random& random) {
  if (random.chance(40)) return kWrapping[random.below(std::size(kWrapping))];
  return random.chance(85) ? random.below(5) : random.below(30) - 8;
}

}  // namespace

size_t count_of_integer_forms() { return std::size(kForms); }

IntegerCall integer_call(Random& random, size_t form) {
  IntegerCall call;
  bool has_smaller = true;
  for (const char* at = kForms[form]; *at; ++at) {
    if (*at != '<' || at[2] != '>') {
      call.text += *at;
      call.smaller += *at;
      continue;
    }
    const int64_t number = drawn(random);
    int64_t smaller = number;
    if (at[1] == 's') smaller = std::clamp(number, -kFar, kFar);
    else if (at[1] == 'm') smaller = number % kPeriod;
    else if (number < -kFar || number > kFar) has_smaller = false;
    call.text += text_of(number);
    call.smaller += text_of(smaller);
    at += 2;
  }
  if (!has_smaller || call.smaller == call.text) call.smaller.clear();
  return call;
}

std::string integers_prelude() {
  return R"(let v = f32(arange(8))
let m = f32(reshape(arange(24), [4, 6]))
let line = reshape(arange(18), [1, 2, 9]) * 0.25
let taps = reshape(arange(18), [3, 2, 3]) * 0.5 - 4
let image = reshape(arange(384) % 19, [2, 3, 8, 8]) * 0.25
let filters = reshape(arange(108) % 7, [4, 3, 3, 3]) * 0.5 - 1
let wide = reshape(arange(256) % 13, [1, 4, 8, 8]) * 0.5
let singles = reshape(arange(36) % 5, [4, 1, 3, 3]) * 0.5 - 1
let void = zeros([9223372036854775807, 0])
fn show(r) {
  if type(r) != "tensor" {
    print(type(r))
    if type(r) == "list" or type(r) == "tuple" { for part in r[:9] { show(part) } } else { print(r) }
    return nil
  }
  for n in r.shape { if n < 0 { print("a defect of TSL: an extent is negative") } }
  if r.ndim > 6 or any(map(fn(n) = n > 600, r.shape)) { print(r.dtype, r.shape) } else { print(bits_of(r)) }
}
)";
}

std::string integers_program(const std::vector<std::string>& calls) {
  std::string text = integers_prelude();
  for (size_t i = 0; i < calls.size(); ++i) {
    text += fmt::format(
        "@compile fn call_{0}(v) {1}{2}\n"
        "print(\"# {0}\")\n"
        "try {{ show(call_{0}(v)) }} catch e {{ print(\"error\", e.kind, e.name, e.message) }}\n",
        i, calls[i].starts_with('{') ? "" : "= ", calls[i]);
  }
  return text;
}

}  // namespace tsl
