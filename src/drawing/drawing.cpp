#include "drawing/drawing.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/error_names.h"
#include "value/context.h"
#include "value/host_tensor.h"

namespace tsl {

namespace {

constexpr double kMostPixels = 20000;  // of the width and the height
constexpr size_t kMostText = 10'000;
constexpr double kFarOff = 1e5;  // what is further off is drawn there; cairo's coordinates have 24 bits

const Value* field_of(const Value& record, std::string_view name) {
  if (!record.is(Tag::record)) return nullptr;
  const Record& fields = record.as<Record>();
  for (size_t i = 0; i < fields.values.size(); ++i) {  // bounded: by the first fields
    if (i >= 32) return nullptr;
    if (*fields.keys->names[i] == name) return &fields.values[i];
  }
  return nullptr;
}

[[noreturn]] void fail_drawing(std::string_view why) {
  fail_with(ErrorName::wrong_argument_type, fmt::format("the drawing of a picture is malformed: {}", why),
            {"the functions of `plot` make drawings; the page on plots lists what they consist of"});
}

double number_of(const Value& value, std::string_view name) {
  if (value.is(Tag::integer)) return static_cast<double>(value.integer());
  if (value.is(Tag::real)) return value.real();
  fail_drawing(fmt::format("'{}' is a number, not {}", name, type_name(value)));
}

/// Reads the fields of one shape.
class ShapeReader {
 public:
  ShapeReader(Context& context, const Value& shape) : context_(context), shape_(shape) {}

  Shape2d read() {
    Shape2d shape;
    shape.kind = kind();
    shape.ink = ink(text("ink", "ink"));
    shape.alpha = std::clamp(number("alpha", 1), 0.0, 1.0);
    shape.width = std::clamp(number("width", 1), 0.0, 100.0);
    shape.radius = std::clamp(number("radius", 1), 0.0, 1000.0);
    shape.size = std::clamp(number("size", 12), 1.0, 200.0);
    shape.is_dashed = flag("dashed");
    shape.is_turned = flag("turned");
    shape.is_bold = flag("bold");
    if (const Value* clip = field_of(shape_, "clip")) shape.clip = box(points_of(*clip, "clip"), "clip");
    const Value* const at = field_of(shape_, "at");
    if (!at) fail_drawing("a shape has no 'at'");
    shape.points = points_of(*at, "at");
    finish(shape);
    return shape;
  }

 private:
  Shape2d::Kind kind() {
    constexpr std::string_view kKinds[] = {"line", "area", "boxes", "dots", "text", "image"};
    const std::string name = text("draw", "");
    const auto* const found = std::find(std::begin(kKinds), std::end(kKinds), name);
    if (found == std::end(kKinds)) fail_drawing(fmt::format("no shape is called '{}'", name));
    return static_cast<Shape2d::Kind>(found - std::begin(kKinds));
  }

  void finish(Shape2d& shape) {
    using Kind = Shape2d::Kind;
    const size_t columns = shape.kind == Kind::boxes || shape.kind == Kind::image ? 4 : 2;
    if (shape.points.size() % columns != 0) fail_drawing(fmt::format("'at' has rows of {} numbers", columns));
    if (shape.kind == Kind::text) {
      if (shape.points.size() != 2) fail_drawing("a text is at one point");
      shape.text = text("text", "");
      if (shape.text.size() > kMostText) fail_drawing(fmt::format("a text has at most {} bytes", kMostText));
      const std::string anchor = text("anchor", "start");
      shape.anchor = anchor == "middle" ? Shape2d::Anchor::middle
                     : anchor == "end"  ? Shape2d::Anchor::end
                                        : Shape2d::Anchor::start;
    }
    if (shape.kind == Kind::image) {
      shape.at = box(shape.points, "at");
      shape.image = image();
    }
  }

  static Box box(const std::vector<double>& numbers, std::string_view name) {
    const bool is_finite = std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
    if (numbers.size() != 4 || !is_finite) fail_drawing(fmt::format("'{}' is x, y, width and height", name));
    return {numbers[0], numbers[1], numbers[2], numbers[3]};
  }

  Tensor image() {
    const Value* const value = field_of(shape_, "image");
    if (!value || !value->is(Tag::tensor)) fail_drawing("an image is a tensor of u8");
    const Tensor tensor = value->tensor();
    const bool fits = tensor.dtype() == DType::u8 && tensor.rank() == 3;
    if (!fits) fail_drawing("an image is a tensor of u8, of rows × columns × channels");
    return read_to_host(context_, context_.ops().call(Op::copy, {tensor}));
  }

  std::string text(std::string_view name, const char* otherwise) {
    const Value* const value = field_of(shape_, name);
    if (!value) return otherwise;
    if (!value->is(Tag::string)) fail_drawing(fmt::format("'{}' is a str, not {}", name, type_name(*value)));
    return value->as<String>().text;
  }
  double number(std::string_view name, double otherwise) {
    const Value* const value = field_of(shape_, name);
    const double number = value ? number_of(*value, name) : otherwise;
    return std::isfinite(number) ? number : otherwise;
  }
  bool flag(std::string_view name) {
    const Value* const value = field_of(shape_, name);
    return value && value->is(Tag::boolean) && value->boolean();
  }

  static Ink ink(const std::string& name) {
    for (const ThemeInk& theme : kThemeInks) {
      if (theme.name == name) return {theme.name, theme.light};
    }
    constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
    if (name.size() != 7 || name[0] != '#' || name.find_first_not_of(kDigits, 1) != std::string::npos)
      fail_drawing(fmt::format("'{}' is no colour: #1b7fc4 is one, or ink, muted, grid or paper", name));
    return {{}, static_cast<uint32_t>(std::stoul(name.substr(1), nullptr, 16))};
  }

  /// Reads a tensor of f64, or a list or tuple of numbers.
  std::vector<double> points_of(const Value& value, std::string_view name) {
    if (is_items(value)) {
      std::vector<double> numbers;
      for (const Value& item : value.as<Sequence>().items) {  // bounded: by the four numbers of a box
        if (numbers.size() > 4) fail_drawing(fmt::format("'{}' of many points is a tensor of f64", name));
        numbers.push_back(number_of(item, name));
      }
      return numbers;
    }
    if (!value.is(Tag::tensor) || value.tensor().dtype() != DType::f64)
      fail_drawing(fmt::format("'{}' is a tensor of f64, not {}", name, type_name(value)));
    const Tensor host = read_to_host(context_, context_.ops().call(Op::copy, {value.tensor()}));
    const auto count = static_cast<size_t>(element_count(host.shape()).hint());
    require_host_bytes(count * sizeof(double));
    std::vector<double> numbers(count);
    if (count > 0) std::memcpy(numbers.data(), host.data(), count * sizeof(double));
    for (double& number : numbers) {
      if (std::isfinite(number)) number = std::clamp(number, -kFarOff, kFarOff);
    }
    poll_stop();
    return numbers;
  }

  Context& context_;
  const Value& shape_;
};

}  // namespace

bool is_picture(const Value& value) {
  const Value* const drawing = field_of(value, "drawing");
  return drawing && field_of(*drawing, "width") && field_of(*drawing, "height") && field_of(*drawing, "shapes");
}

Drawing drawing_of(Context& context, const Value& picture) {
  const Value& record = *field_of(picture, "drawing");
  const Value& shapes = *field_of(record, "shapes");
  Drawing drawing;
  drawing.width = number_of(*field_of(record, "width"), "width");
  drawing.height = number_of(*field_of(record, "height"), "height");
  const auto fits = [](double extent) { return extent >= 1 && extent <= kMostPixels; };
  if (!fits(drawing.width) || !fits(drawing.height))
    fail_drawing(fmt::format("its width and height are from 1 to {} pixels", kMostPixels));
  if (!shapes.is(Tag::list)) fail_drawing("'shapes' is a list");
  for (const Value& shape : shapes.as<List>().items) {
    poll_stop();
    drawing.shapes.push_back(ShapeReader(context, shape).read());
  }
  return drawing;
}

}  // namespace tsl
