#include "io/tree.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "base/count_work.h"
#include "base/error_names.h"
#include "value/context.h"
#include "value/format.h"
#include "value/map.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

constexpr size_t kMaxTreeDepth = 200;  // as of JSON
constexpr int64_t kNodeWork = 200;

[[noreturn]] void fail_for_depth() {
  fail(ErrorName::value_too_deep, "a tree is nested more than {} deep", kMaxTreeDepth);
}

/// Collects leaves by name.
class Flattener {
 public:
  explicit Flattener(Context& context) : context_(context) {}

  Value flat_record(const Value& tree) {
    if (elements_of::count(tree) > 0) add(tree, 0);
    return std::move(record_);
  }

 private:
  void add(const Value& v, size_t depth) {
    count_work(kNodeWork);
    if (depth > kMaxTreeDepth) fail_for_depth();
    if (has_entries(v) && count_entries(v) > 0 && !is_complex(v)) {
      Value key, value;
      for (int64_t state = 0; next_entry(v, state, key, value);) add_part(to_string(context_, key), value, depth);
    } else if (is_items(v) && !v.as<Sequence>().items.empty()) {
      const std::vector<Value>& items = v.as<Sequence>().items;
      for (size_t i = 0; i < items.size(); ++i) add_part(std::to_string(i), items[i], depth);
    } else {
      add_leaf(v);
    }
  }
  void add_part(const std::string& part, const Value& v, size_t depth) {
    const size_t before = name_.size();
    if (depth > 0) name_ += '.';
    name_ += part;
    add(v, depth + 1);
    name_.resize(before);
  }
  void add_leaf(const Value& v) {
    count_work(static_cast<int64_t>(name_.size()));
    auto& record = record_.as<Record>();
    const HeldName name(context_.names(), name_);
    if (record.find(name))
      fail(ErrorName::structure_mismatch, "flatten_tree: the tree has two leaves with the name '{}'", name_);
    record.set(name, v);
  }

  Context& context_;
  std::string name_;
  Value record_ = make_record({});
};

/// Makes nested records of dotted names, and then lists of those whose keys are numbers.
class Unflattener {
 public:
  explicit Unflattener(Context& context) : context_(context) {}

  Value tree(const Record& flat) {
    Value root = new_node();
    polled_each(flat.values.size(), kNodeWork, [&](size_t i) { put(root, *flat.keys->names[i], flat.values[i]); });
    make_lists(root);
    return root;
  }

 private:
  Value new_node() {
    Value node = make_record({});
    nodes_.insert(&node.as<Record>());
    return node;
  }
  bool is_node(const Value& v) const { return v.is(Tag::record) && nodes_.contains(&v.as<Record>()); }

  void put(Value& root, std::string_view path, const Value& leaf) {
    Value* node = &root;
    size_t depth = 0;
    for (size_t at = 0;;) {
      count_work(kNodeWork);
      if (++depth > kMaxTreeDepth) fail_for_depth();
      const size_t end = std::min(path.find('.', at), path.size());
      const HeldName key(context_.names(), path.substr(at, end - at));
      auto& record = node->as<Record>();
      Value* found = record.find(key);
      const bool is_leaf = end == path.size();
      if (found && (is_leaf || !is_node(*found)))
        fail_argument(
            ErrorName::structure_mismatch, "record",
            fmt::format("unflatten_tree: '{}' is a leaf and has leaves, too", is_leaf ? path : path.substr(0, end)));
      if (!found) {
        record.set(key, is_leaf ? leaf : new_node());
        found = record.find(key);
      }
      if (is_leaf) return;
      node = found;
      at = end + 1;
    }
  }

  void make_lists(Value& v) {
    count_work(kNodeWork);
    if (!is_node(v)) return;
    auto& record = v.as<Record>();
    polled_each(record.values.size(), kNodeWork, [&](size_t i) { make_lists(record.values[i]); });
    std::vector<std::pair<uint64_t, size_t>> order;  // the numbers, and where they are
    for (size_t i = 0; i < record.values.size(); ++i) {
      const std::optional<uint64_t> number = number_of(*record.keys->names[i]);
      if (!number) return;
      count_work(kNodeWork);
      order.emplace_back(*number, i);
    }
    if (order.empty()) return;
    std::sort(order.begin(), order.end());
    const bool is_list = order.back().first + 1 == order.size();
    Collector items;
    Value sorted = make_record({});
    for (const auto& [number, at] : order) {
      if (is_list) items.add(record.values[at]);
      else sorted.as<Record>().set(record.keys->names[at], record.values[at]);
    }
    nodes_.erase(&record);
    v = is_list ? make_list(items.take()) : sorted;
  }

  /// Reads a number as to_string() writes it.
  static std::optional<uint64_t> number_of(std::string_view text) {
    uint64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = status == std::errc() && end == text.data() + text.size() && number < UINT64_MAX;
    return is_number && (text[0] != '0' || text.size() == 1) ? std::optional(number) : std::nullopt;
  }

  Context& context_;
  std::unordered_set<const Object*> nodes_;  // made here; other records are leaves
};

}  // namespace

Value flatten_tree(Context& context, const Value& tree) {
  limit_occurrences(tree, "flatten it");
  return Flattener(context).flat_record(tree);
}

Value unflatten_tree(Context& context, const Value& record) { return Unflattener(context).tree(record.as<Record>()); }

}  // namespace tsl
