#include "support/oracle.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "support/indices.h"
#include "tensor/elements.h"
#include "value/context.h"
#include "value/runtime.h"

namespace tsl {

namespace {

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// Parses "f32[2, 3] 1 2 3 4 5 6" or "int 3".
OracleValue parse_value(const std::string& text) {
  OracleValue value;
  const size_t open = text.find('['), close = text.find(']');
  const bool is_tensor = open != std::string::npos;
  value.type = text.substr(0, is_tensor ? open : text.find(' '));
  int64_t size = 1;
  if (is_tensor && close > open + 1) {
    for (const std::string& extent : split(text.substr(open + 1, close - open - 1), ", ")) {
      value.shape.push_back(std::stoll(extent));
      size *= value.shape.back();
    }
  }
  std::istringstream words(text.substr(is_tensor ? close + 1 : value.type.size()));
  for (std::string word; words >> word;) value.elements.push_back(word);
  if (static_cast<int64_t>(value.elements.size()) != size) throw std::runtime_error("elements missing: " + text);
  return value;
}

OracleCase parse_case(const std::vector<std::string>& fields, int line) {
  OracleCase one;
  one.line = line;
  one.expression = fields.at(1);
  if (fields[0].rfind("error:", 0) == 0) {
    one.error = fields[0].substr(6);
    return one;
  }
  one.tolerance = fields[0];
  for (const std::string& result : split(fields.at(2), " | ")) one.results.push_back(parse_value(result));
  return one;
}

Scalar parse_number(const std::string& text, bool is_real) {
  if (is_real) return Scalar::of(std::strtod(text.c_str(), nullptr));
  if (text[0] == '-') return Scalar::of(int64_t{std::stoll(text)});
  return Scalar::of(static_cast<int64_t>(std::stoull(text)));  // the bits of an element, also of u64
}

/// Numbers the values of a float dtype in order, 0 and -0 alike: neighbours differ by one.
__int128 position(DType dtype, uint64_t bits) {
  const int width = static_cast<int>(size_of(dtype)) * 8;
  const uint64_t sign = uint64_t{1} << (width - 1);
  return bits & sign ? -static_cast<__int128>(bits & ~sign) : static_cast<__int128>(bits);
}

struct Element {
  uint64_t bits;
  double real;
};

Element element_of(DType dtype, const std::byte* at) {
  Element element{0, real_element(dtype, at)};
  std::memcpy(&element.bits, at, size_of(dtype));
  return element;
}

std::vector<Element> elements_of(const Tensor& x) {
  std::vector<Element> all;
  const auto* data = static_cast<const std::byte*>(x->storage->data());
  for (int64_t at : addresses(x.layout())) {
    all.push_back(element_of(x.dtype(), data + at * static_cast<int64_t>(size_of(x.dtype()))));
  }
  return all;
}

/// Returns the unit of the last place of a number.
double unit_of(DType dtype, double x) {
  static constexpr int kBits[] = {11, 8, 24, 53}, kLeast[] = {-14, -126, -126, -1022};
  const int kind = static_cast<int>(dtype) - static_cast<int>(DType::f16);
  const int exponent = x == 0 ? kLeast[kind] : std::max(std::ilogb(x), kLeast[kind]);
  return std::ldexp(1.0, exponent - kBits[kind] + 1);
}

double units_of(const OracleTolerance& tolerance, DType dtype, bool on_gpu) {
  if (dtype == DType::f64) return tolerance.units[2];
  if (dtype == DType::f32) return tolerance.units[on_gpu ? 3 : 1];
  return tolerance.units[0];
}

/// `slack`: how far any result may be off: on a GPU, estimates of functions lose what is below the normal range.
bool agree(DType dtype, const Element& got, const Element& wanted, double units, double unit, double slack) {
  if (!is_float(dtype)) return got.bits == wanted.bits;
  if (std::isnan(wanted.real) || std::isnan(got.real)) return std::isnan(wanted.real) && std::isnan(got.real);
  if (units == 0) return got.bits == wanted.bits;
  if (unit > 0) {
    if (std::isinf(wanted.real) || std::isinf(got.real)) return got.real == wanted.real;
    return std::abs(got.real - wanted.real) <= units * unit;
  }
  if (std::abs(got.real - wanted.real) <= slack) return true;
  if (got.real == 0 && wanted.real == 0) return got.bits == wanted.bits;
  const __int128 distance = position(dtype, got.bits) - position(dtype, wanted.bits);
  return (distance < 0 ? -distance : distance) <= static_cast<__int128>(units);
}

}  // namespace

std::string OracleSection::function_of(const OracleCase& one) const {
  std::string parameters;
  for (const auto& [name, value] : inputs) parameters += (parameters.empty() ? "" : ", ") + name;
  const bool is_block = one.expression.rfind("{ ", 0) == 0;
  return "import nn\nimport optim\nimport science\n@compile fn evaluate(" + parameters + ") " + (is_block ? "" : "= ") +
         one.expression + "\nevaluate";
}

std::vector<OracleSection> read_oracle(const std::string& path) {
  std::ifstream file(path);
  std::vector<OracleSection> sections;
  long count = 0, promised = -1;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> fields = split(line, "\t");
    if (fields[0] == "cases") {
      promised = std::stol(fields.at(1));
    } else if (fields[0] == "section") {
      sections.push_back({fields.at(1), {}, {}});
    } else if (fields[0] == "input") {
      sections.back().inputs.emplace_back(fields.at(1), parse_value(fields.at(2)));
    } else {
      sections.back().cases.push_back(parse_case(fields, number));
      ++count;
    }
  }
  const bool is_by_hand = path.find("by_hand.txt") != std::string::npos;  // nobody has counted
  if (count == 0 || (count != promised && !is_by_hand)) {
    throw std::runtime_error(fmt::format("{}: {} cases, where its last line says {}", path, count, promised));
  }
  return sections;
}

OracleTolerances::OracleTolerances(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, kind;
    OracleTolerance row;
    words >> name >> kind >> row.units[0] >> row.units[1] >> row.units[2] >> row.units[3];
    if (!words || (kind != "each" && kind != "greatest" && kind != "zeros"))
      throw std::runtime_error("tolerances.txt: " + line);
    row.of_greatest = kind == "greatest";
    row.any_zero = kind == "zeros";
    rows_[name] = row;
  }
}

const OracleTolerance& OracleTolerances::find(const std::string& name) {
  ++uses_[name];
  return rows_.at(name);
}

std::vector<std::string> OracleTolerances::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, row] : rows_) {
    if (!uses_.count(name)) names.push_back(name);
  }
  return names;
}

Value decode(Context& context, const OracleValue& value) {
  if (value.type == "truth") return Value(value.elements.at(0) == "1");
  const std::optional<DType> dtype = dtype_named(value.type);
  if (!dtype) return Value(parse_number(value.elements.at(0), value.type == "float"));
  Shape shape;
  for (int64_t extent : value.shape) shape.push_back(extent);
  const size_t size = size_of(*dtype);
  const Ref<Storage> storage =
      context.runtime().allocator().allocate(std::max<size_t>(value.elements.size(), 1) * size);
  for (size_t i = 0; i < value.elements.size(); ++i) {
    store_element(*dtype, static_cast<std::byte*>(storage->data()) + i * size,
                  parse_number(value.elements[i], is_float(*dtype)));
  }
  return Value(Tensor(*dtype, Layout::contiguous(shape), storage));
}

std::vector<Value> flatten_results(const Value& value) {
  if (!value.is(Tag::tuple) && !value.is(Tag::list)) return {value};
  std::vector<Value> all;
  for (const Value& item : value.is(Tag::tuple) ? value.as<Tuple>().items : value.as<List>().items) {
    for (Value& part : flatten_results(item)) all.push_back(std::move(part));
  }
  return all;
}

std::string bits_of_result(Context& context, const Value& value) {
  std::string text;
  for (const Value& part : flatten_results(value)) {
    if (!part.is(Tag::tensor)) {
      text += part.is(Tag::integer)   ? fmt::format("int {} ", part.integer())
              : part.is(Tag::real)    ? fmt::format("float {:a} ", part.real())
              : part.is(Tag::boolean) ? fmt::format("bool {} ", part.boolean())
                                      : "another value ";
      continue;
    }
    const Tensor x = context.runtime().to_host(part.tensor());
    text += describe(x) + " ";
    for (const Element& element : elements_of(x)) {
      text += is_float(x.dtype()) && std::isnan(element.real) ? "nan " : fmt::format("{:x} ", element.bits);
    }
  }
  return text;
}

std::string difference(Context& context, const Value& got, const OracleValue& reference,
                       const OracleTolerance& tolerance, bool on_gpu) {
  if (!got.is(Tag::tensor)) {
    const std::string type = got.is(Tag::integer) ? "int" : got.is(Tag::real) ? "float" : "truth";
    if (reference.type != type || !(got.is_number() || got.is(Tag::boolean))) {
      return "a host value, or none, where the reference is a " + reference.type;
    }
    const Element wanted{0, std::strtod(reference.elements.at(0).c_str(), nullptr)};
    const Element number{0, got.is(Tag::integer) ? static_cast<double>(got.integer())
                            : got.is(Tag::real)  ? got.real()
                                                 : got.boolean()};
    const bool equal = number.real == wanted.real || (std::isnan(number.real) && std::isnan(wanted.real)) ||
                       std::abs(number.real - wanted.real) <= tolerance.units[2] * unit_of(DType::f64, wanted.real);
    return equal ? "" : fmt::format("{} instead of {}", number.real, wanted.real);
  }
  const Tensor x = context.runtime().to_host(got.tensor());
  const Tensor wanted = decode(context, reference).tensor();
  if (describe(x) != describe(wanted)) return describe(x) + " instead of " + describe(wanted);
  const std::vector<Element> mine = elements_of(x), theirs = elements_of(wanted);
  const double units = units_of(tolerance, x.dtype(), on_gpu);
  const double slack = on_gpu && units > 0 && x.dtype() != DType::f64 ? std::numeric_limits<float>::min() : -1;
  double unit = 0;
  if (tolerance.of_greatest && is_float(x.dtype())) {
    double greatest = 0;
    for (const Element& element : theirs) {
      if (std::isfinite(element.real)) greatest = std::max(greatest, std::abs(element.real));
    }
    unit = unit_of(x.dtype(), greatest);
  }
  for (size_t i = 0; i < mine.size(); ++i) {
    if (tolerance.any_zero && on_gpu && mine[i].real == 0 && theirs[i].real == 0) continue;
    if (agree(x.dtype(), mine[i], theirs[i], units, unit, slack)) continue;
    return fmt::format("element {} of {} is {} instead of {} ({:x}, {:x})", i, describe(x), mine[i].real,
                       theirs[i].real, mine[i].bits, theirs[i].bits);
  }
  return "";
}

}  // namespace tsl
