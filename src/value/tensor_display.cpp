#include "value/tensor_display.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/count_work.h"
#include "base/run_watch.h"
#include "value/context.h"
#include "value/format_spec.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/runtime.h"

namespace tsl {

namespace {

constexpr int64_t kThreshold = 1000;  // NumPy's: larger tensors show their edges
constexpr int64_t kEdgeItems = 3;
constexpr int kPrecision = 4;
constexpr int64_t kInlineElements = 16;  // of tensors inside containers
constexpr int64_t kElementWork = 100;
constexpr uint64_t kBytesOfElement = 160;  // measured: its digits in parts, its text, and the text of all

/// The elements to show, in order.
class Elements {
 public:
  Elements(Context& context, const Tensor& tensor, bool summarize)
      : context_(context), tensor_(tensor), summarize_(summarize) {
    if (!summarize) require_host_bytes(static_cast<uint64_t>(element_count(tensor.shape()).hint()) * kBytesOfElement);
    collect(tensor.layout(), 0);
  }

  bool are_floats() const { return is_float(tensor_.dtype()); }
  const std::vector<double>& floats() const { return floats_; }
  const std::vector<std::string>& words() const { return words_; }  // if they are not floats
  bool is_cut(int64_t extent) const { return summarize_ && extent > 2 * kEdgeItems; }
  int64_t shown(int64_t extent) const { return is_cut(extent) ? 2 * kEdgeItems : extent; }

 private:
  void collect(const Layout& layout, int axis) {
    const int rank = layout.rank();
    if (axis == rank - 1 || rank == 0) return collect_run(layout, axis);
    const int64_t extent = layout.shape[axis].hint();
    for (int64_t i = 0; i < extent; ++i) {  // bounded: each row that is read counts
      if (is_cut(extent) && i == kEdgeItems) i = extent - kEdgeItems;
      collect(slice(layout, axis, i, 1, 1), axis + 1);
    }
  }

  void collect_run(const Layout& layout, int axis) {
    if (layout.rank() == 0) return read(layout);
    const int64_t extent = layout.shape[axis].hint();
    if (!is_cut(extent)) return read(layout);
    read(slice(layout, axis, 0, kEdgeItems, 1));
    read(slice(layout, axis, extent - kEdgeItems, kEdgeItems, 1));
  }

  // Reads a run along the last axis. Only these elements are copied from a device.
  void read(const Layout& run) {
    const Tensor host = read_to_host(context_, tensor_.with_layout(run));
    const int last = host.rank() - 1;
    const int64_t count = last < 0 ? 1 : host.shape()[last].hint();
    const auto size = static_cast<int64_t>(size_of(host.dtype()));
    const int64_t step = last < 0 ? 0 : host.layout().strides[last].hint() * size;
    for (int64_t i = 0; i < count; ++i) {
      count_work(kElementWork);
      const std::byte* at = host.data() + i * step;
      if (are_floats()) floats_.push_back(real_element(host.dtype(), at));
      else words_.push_back(exact_element_text(host.dtype(), at));
    }
  }

  Context& context_;
  const Tensor& tensor_;
  bool summarize_;
  std::vector<double> floats_;
  std::vector<std::string> words_;
};

// ---- One format for a column of numbers ------------------------------------------------------------

std::string without_trailing_zeros(std::string digits) {
  const size_t last = digits.find_last_not_of('0');
  return digits.substr(0, last + 1);
}

/// Splits "12.5e+03" into "12", "5" and "e+03".
struct Parts {
  std::string whole, fraction, exponent;
  explicit Parts(const std::string& text) {
    const size_t e = text.find('e');
    const size_t point = text.find('.');
    exponent = e == std::string::npos ? "" : text.substr(e);
    whole = text.substr(0, std::min(point, e));
    if (point != std::string::npos) fraction = text.substr(point + 1, e == std::string::npos ? e : e - point - 1);
  }
};

bool wants_exponents(const std::vector<double>& values) {
  double least = INFINITY, greatest = 0;
  for (double v : values) {
    count_work(1);
    if (!std::isfinite(v) || v == 0) continue;
    least = std::min(least, std::fabs(v));
    greatest = std::max(greatest, std::fabs(v));
  }
  return greatest != 0 && (greatest >= 1e8 || least < 1e-4 || greatest / least > 1000);
}

std::string special(double v) { return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf"; }

std::vector<std::string> float_column(const std::vector<double>& values) {
  const bool exponents = wants_exponents(values);
  std::vector<Parts> parts;
  size_t whole = 0, fraction = 0;
  for (double v : values) {
    count_work(kElementWork);
    if (!std::isfinite(v)) {
      parts.emplace_back(special(v));
      continue;
    }
    Parts part(exponents ? fmt::format("{:.{}e}", v, kPrecision) : fmt::format("{:.{}f}", v, kPrecision));
    part.fraction = without_trailing_zeros(part.fraction);
    whole = std::max(whole, part.whole.size());
    fraction = std::max(fraction, part.fraction.size());
    parts.push_back(std::move(part));
  }
  std::vector<std::string> texts;
  size_t width = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    count_work(kElementWork);
    const Parts& part = parts[i];
    std::string text;
    if (!std::isfinite(values[i])) {
      text = part.whole;
    } else {
      const char pad = exponents ? '0' : ' ';  // NumPy pads fixed numbers with blanks, as its exponents would not align
      text = std::string(whole - part.whole.size(), ' ') + part.whole + "." + part.fraction +
             std::string(fraction - part.fraction.size(), pad) + part.exponent;
    }
    width = std::max(width, text.size());
    texts.push_back(std::move(text));
  }
  polled_each(texts.size(), kElementWork, [&](size_t i) { texts[i].insert(0, width - texts[i].size(), ' '); });
  return texts;
}

std::vector<std::string> column(const Elements& elements) {
  if (elements.are_floats()) return float_column(elements.floats());
  std::vector<std::string> texts = elements.words();
  size_t width = 0;
  polled_each(texts.size(), 1, [&](size_t i) { width = std::max(width, texts[i].size()); });
  polled_each(texts.size(), kElementWork, [&](size_t i) { texts[i].insert(0, width - texts[i].size(), ' '); });
  return texts;
}

// ---- Rows ------------------------------------------------------------------------------------------

constexpr size_t kOneLine = 0;  // a width: without line breaks

class Rows {
 public:
  Rows(const Elements& elements, std::vector<std::string> texts, const Shape& shape, size_t width)
      : elements_(elements), shape_(shape), width_(width), texts_(std::move(texts)) {}

  std::string text() { return block(0); }

 private:
  std::string block(int axis) {
    const int64_t extent = shape_[axis].hint();
    if (axis == shape_.rank() - 1) return run(extent, axis);
    std::string text = "[";
    for (int64_t i = 0; i < elements_.shown(extent); ++i) {
      count_work(kElementWork);
      if (i > 0) text += separator(axis);
      if (elements_.is_cut(extent) && i == kEdgeItems) text += "..." + separator(axis);
      text += block(axis + 1);
    }
    return text + "]";
  }

  // Starts a new line for each row, with empty lines between blocks of rows.
  std::string separator(int axis) const {
    if (width_ == kOneLine) return " ";
    const auto depth = static_cast<size_t>(shape_.rank() - axis - 1);
    return std::string(depth, '\n') + std::string(static_cast<size_t>(axis) + 1, ' ');
  }

  std::string run(int64_t extent, int axis) {
    const auto indent = static_cast<size_t>(axis) + 1;
    std::string text = "[";
    size_t line = indent;
    auto add = [&](const std::string& word, bool first) {
      if (!first && width_ != kOneLine && line + word.size() + 1 > width_) {
        text += "\n" + std::string(indent, ' ');
        line = indent;
      } else if (!first) {
        text += " ";
        ++line;
      }
      text += word;
      line += word.size();
    };
    for (int64_t i = 0; i < elements_.shown(extent); ++i) {
      count_work(kElementWork);
      if (elements_.is_cut(extent) && i == kEdgeItems) add("...", false);
      add(texts_[next_++], i == 0);
    }
    return text + "]";
  }

  const Elements& elements_;
  const Shape& shape_;
  const size_t width_;  // the most columns of a row, or kOneLine
  std::vector<std::string> texts_;
  size_t next_ = 0;
};

std::string single(Context& context, const Tensor& tensor) {
  const Tensor host = read_to_host(context, tensor);
  if (!is_float(host.dtype())) return exact_element_text(host.dtype(), host.data());
  return float_text(real_element(host.dtype(), host.data()), host.dtype());
}

int64_t size_of_shape(const Shape& shape) {
  int64_t count = 1;
  for (const Dim& extent : shape) count *= extent.hint();  // bounded: by the rank
  return count;
}

std::string rows_of(Context& context, const Tensor& tensor, size_t width, bool full) {
  const int64_t count = size_of_shape(tensor.shape());
  if (tensor.rank() == 0) return single(context, tensor);
  if (count == 0) return "[]";
  const Elements elements(context, tensor, count > kThreshold && !full);
  return Rows(elements, column(elements), tensor.shape(), width).text();
}

std::string complex_rows(Context& context, const Tensor& re, const Tensor& im, size_t width, bool full) {
  if (re.rank() == 0) return complex_text(single(context, re), single(context, im));
  const int64_t count = size_of_shape(re.shape());
  if (count == 0) return "[]";
  const Elements reals(context, re, count > kThreshold && !full), imaginary(context, im, count > kThreshold && !full);
  std::vector<std::string> texts = column(reals);
  const std::vector<std::string> others = column(imaginary);
  for (size_t i = 0; i < texts.size(); ++i) {  // blanks around an imaginary part follow it
    count_work(kElementWork);
    const std::string& other = others[i];
    const size_t begin = other.find_first_not_of(' '), end = other.find_last_not_of(' ') + 1;
    texts[i] = complex_text(texts[i], other.substr(begin, end - begin)) + other.substr(0, begin) + other.substr(end);
  }
  return Rows(reals, std::move(texts), re.shape(), width).text();
}

}  // namespace

std::string describe_complex(const Tensor& re) {
  const std::string type = describe(re);
  return std::string(complex_name_of(re.dtype())) + type.substr(type.find('['));
}

std::string complex_text(const std::string& re, const std::string& im) {
  return re + (im[0] == '-' || im[0] == '+' ? "" : "+") + im + "i";
}

std::string display_tensor(Context& context, const Tensor& tensor, bool full, size_t width) {
  const Tensor known = context.runtime().read(tensor);
  std::string header = describe(known);
  if (!known.device().is_host() && context.shows_device()) header += " " + to_string(known.device());
  return header + (known.rank() == 0 ? " " : "\n") + rows_of(context, known, width, full);
}

std::string display_tensor_inline(Context& context, const Tensor& tensor, bool full) {
  if (size_of_shape(tensor.shape()) > kInlineElements && !full) return describe(tensor);
  return describe(tensor) + " " + rows_of(context, context.runtime().read(tensor), kOneLine, full);
}

std::string display_complex(Context& context, const Tensor& re, const Tensor& im, bool full) {
  const Tensor known = context.runtime().read(re), other = context.runtime().read(im);
  std::string header = describe_complex(known);
  if (!known.device().is_host() && context.shows_device()) header += " " + to_string(known.device());
  return header + (known.rank() == 0 ? " " : "\n") + complex_rows(context, known, other, kRowWidth, full);
}

std::string display_complex_inline(Context& context, const Tensor& re, const Tensor& im, bool full) {
  if (size_of_shape(re.shape()) > kInlineElements && !full) return describe_complex(re);
  return describe_complex(re) + " " +
         complex_rows(context, context.runtime().read(re), context.runtime().read(im), kOneLine, full);
}

}  // namespace tsl
