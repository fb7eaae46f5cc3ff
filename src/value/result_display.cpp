#include "value/result_display.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "tensor/tensor.h"
#include "value/context.h"
#include "value/format.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/signature.h"
#include "value/tensor_display.h"
#include "value/utf8.h"

namespace tsl {

namespace {

constexpr int kLeastColumns = 20;
constexpr size_t kMargin = 5;      // of a tensor's rows
constexpr size_t kMostItems = 20;  // of one list; longer ones show their first and last items
constexpr size_t kFirst = 10, kLast = 3;
constexpr size_t kAllItems = 200;  // of all lists within one value
constexpr int kMostDepth = 6;
constexpr size_t kMostStringBytes = 2000;  // of a string

std::string tensor_type(const Tensor& tensor) { return describe(tensor) + " on " + to_string(tensor.device()); }

std::string display_of(Context& context, const Tensor& tensor, size_t width) {
  const std::string text = display_tensor(context, tensor, false, width - kMargin);
  const char between = tensor.rank() == 0 ? ' ' : '\n';
  return tensor_type(tensor) + between + text.substr(text.rfind(between, text.find('\n')) + 1);
}

/// The items of a list, tuple, record or map, each with its key.
struct Items {
  char open, close;
  const std::vector<Value>* values;
  const RecordKeys* names = nullptr;  // of a record
  bool is_single_tuple = false;
  Ref<Map> map = {};  // without the places of removed keys
  bool has_keys() const { return names || map; }
};

Items items_of(Map& map) {
  Items items{'[', ']', nullptr};
  items.map = map.removed == 0 ? Ref<Map>(&map) : map.compacted();
  items.values = &items.map->values;
  return items;
}

std::string empty_text(const Items& items) {
  return fmt::format("{}{}{}", items.open, items.map ? ":" : "", items.close);
}

bool items_of(const Value& value, Items& items) {
  if (is_complex(value)) return false;
  if (value.is(Tag::list)) items = {'[', ']', &value.as<List>().items};
  else if (value.is(Tag::tuple))
    items = {'(', ')', &value.as<Tuple>().items, nullptr, value.as<Tuple>().items.size() == 1};
  else if (value.is(Tag::record)) items = {'{', '}', &value.as<Record>().values, &*value.as<Record>().keys};
  else if (value.is(Tag::map)) items = items_of(value.as<Map>());
  else return false;
  return true;
}

std::string cut_string(const Value& value) {
  const std::string& text = value.as<String>().text;
  if (text.size() <= kMostStringBytes) return quoted(text);
  const size_t end = utf8_offset(text, kMostStringBytes / 2);
  return fmt::format("{}… ({} bytes)", quoted(text.substr(0, end)), text.size());
}

class Outline {
 public:
  Outline(Context& context, size_t width) : context_(context), width_(width) {}

  std::string line(const Value& value, int depth) {
    Items items;
    if (value.is(Tag::string)) return cut_string(value);
    if (!items_of(value, items)) return to_repr(context_, value);
    if (items.values->empty()) return empty_text(items);
    if (depth >= kMostDepth || shown_ > kAllItems) return fmt::format("{}…{}", items.open, items.close);
    std::string text;
    each(
        items,
        [&](size_t i) { text += (text.empty() ? "" : ", ") + key(items, i) + line((*items.values)[i], depth + 1); },
        [&](const std::string& left_out) { text += ", " + left_out; });
    if (items.is_single_tuple) text += ",";
    return items.open + text + items.close;
  }

  std::string block(const Value& value, size_t indent, size_t used) {
    Items items;
    const bool has_items = items_of(value, items) && !items.values->empty();
    if (has_items && in_lines_ > kAllItems) return fmt::format("{}…{}", items.open, items.close);
    shown_ = 0;
    const std::string one = line(value, 0);
    if (used + utf8_length(one) <= width_ || !has_items || indent > width_ / 2) {
      in_lines_ += shown_;
      return one;
    }
    const std::string margin(indent + 2, ' ');
    std::string text(1, items.open);
    if (!items.has_keys() && !has_containers(items)) {
      text += filled(items, margin);
    } else {
      each(
          items,
          [&](size_t i) {
            const std::string name = key(items, i);
            ++in_lines_;
            text += "\n" + margin + name + block((*items.values)[i], indent + 2, indent + 3 + name.size()) + ",";
          },
          [&](const std::string& left_out) { text += "\n" + margin + left_out; });
    }
    return text + "\n" + std::string(indent, ' ') + items.close;
  }

 private:
  static bool has_containers(const Items& items) {
    Items ignored;
    return std::any_of(items.values->begin(), items.values->end(),
                       [&](const Value& item) { return item.is(Tag::tensor) || items_of(item, ignored); });
  }

  /// Formats items on as few lines as hold them.
  std::string filled(const Items& items, const std::string& margin) {
    std::string text;
    size_t used = width_;
    const auto add = [&](const std::string& item) {
      const size_t size = utf8_length(item) + 1;
      if (used + size > width_) {
        text += "\n" + margin + item;
        used = margin.size() + size;
      } else {
        text += " " + item;
        used += size + 1;
      }
    };
    each(
        items, [&](size_t i) { add(line((*items.values)[i], 1) + ","); },
        [&](const std::string& left_out) { add(left_out + ","); });
    return text;
  }

  std::string key(const Items& items, size_t i) {
    if (items.map) return line(items.map->keys->all()[i], kMostDepth - 1) + ": ";
    return items.names ? *items.names->names[i] + ": " : "";
  }

  template <class Show, class Skip> void each(const Items& items, Show&& show, Skip&& skip) {
    const size_t count = items.values->size();
    for (size_t i = 0; i < count; ++i) {  // bounded: by kMostItems
      if (count > kMostItems && i == kFirst) {
        skip(fmt::format("… {} more", count - kFirst - kLast));
        i = count - kLast;
      }
      ++shown_;
      show(i);
    }
  }

  Context& context_;
  const size_t width_;   // of the screen
  size_t shown_ = 0;     // items in the line so far
  size_t in_lines_ = 0;  // items in all lines so far
};

/// As type_text() below; what is deeper than it shows is an ellipsis.
std::string type_text(const Value& value, int depth, size_t& shown) {  // bounded recursion: by kMostDepth
  if (value.is(Tag::tensor)) return tensor_type(value.tensor());
  if (value.is(Tag::list)) return fmt::format("list of {}", value.as<List>().items.size());
  if (value.is(Tag::map)) return fmt::format("map of {}", value.as<Map>().size());
  Items items;
  if (is_complex_tensor(value)) return describe_complex(value.as<Record>().values[0].tensor());
  if (!items_of(value, items)) return std::string(type_name(value));
  if (depth >= kMostDepth || shown > kAllItems) return fmt::format("{}…{}", items.open, items.close);
  std::string text;
  for (size_t i = 0; i < items.values->size() && i < kMostItems; ++i, ++shown) {  // bounded: by kMostItems
    const Value& item = (*items.values)[i];
    const std::string type = item.is(Tag::tensor) ? describe(item.tensor()) : type_text(item, depth + 1, shown);
    text += (i > 0 ? ", " : "") + (items.names ? *items.names->names[i] + ": " : "") + type;
  }
  if (items.values->size() > kMostItems) text += ", …";
  return items.open + text + items.close;
}

}  // namespace

std::string display(Context& context, const Value& value) {
  const Screen screen = context.screen ? context.screen() : Screen();
  const auto width = static_cast<size_t>(std::max(screen.columns, kLeastColumns));
  if (value.is(Tag::tensor)) return display_of(context, value.tensor(), width);
  if (is_complex(value)) return to_string(context, value);
  return Outline(context, width).block(value, 0, 0);
}

std::string type_text(const Value& value) {
  size_t shown = 0;
  return type_text(value, 0, shown);
}

}  // namespace tsl
