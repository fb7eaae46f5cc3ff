#include <algorithm>

#include "base/count_work.h"
#include "base/error_names.h"
#include "io/bytes.h"
#include "io/json.h"
#include "io/tree.h"
#include "value/context.h"
#include "value/format.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

constexpr int64_t kEntryWork = 300;
constexpr int kMaxEntryDepth = 200;  // as of JSON

// The form of a tree is JSON: a leaf is a word, or a list of a word and what it says; a container is a list of a word
// and its parts. The names of tensors follow from it.
constexpr const char* kTensor = "tensor";
constexpr const char* kNumber = "number";    // a tensor of no axes, as a bool, an int or a float
constexpr const char* kNumbers = "numbers";  // a vector, as a list of such
constexpr const char* kPairs = "pairs";  // a tensor [..., 2] of f64, as a c128 tensor, which files of these have not
constexpr const char* kComplexNumber = "complex";  // a vector of two f64, as a complex number
constexpr const char* kNil = "nil";
constexpr const char* kStr = "str";
constexpr const char* kDType = "dtype";
constexpr const char* kRecord = "record";
constexpr const char* kMap = "map";  // of strs
constexpr const char* kList = "list";
constexpr const char* kTuple = "tuple";

std::string joined_name(const std::string& prefix, std::string_view part) {
  return prefix.empty() ? std::string(part) : fmt::format("{}.{}", prefix, part);
}

Value word(const char* text) { return make_string(text); }

/// Whether a list has numbers of one type only, so that a tensor of that type has them to the bit.
bool is_of_numbers(const Value& v) {
  if (!v.is(Tag::list) || v.as<List>().items.empty()) return false;
  const std::vector<Value>& items = v.as<List>().items;
  count_work(static_cast<int64_t>(items.size()));
  const Tag tag = items[0].tag();
  if (tag != Tag::boolean && tag != Tag::integer && tag != Tag::real) return false;
  return std::all_of(items.begin(), items.end(), [tag](const Value& each) { return each.is(tag); });
}

DType dtype_of_numbers(Tag tag) {
  if (tag == Tag::real) return DType::f64;
  return tag == Tag::integer ? DType::i64 : DType::boolean;
}

class TreeSaver {
 public:
  TreeSaver(Context& context, const std::string& path) : context_(context), path_(path) {}

  SavedTree save(const Value& tree) {
    Value form = form_of(tree, "");
    const bool is_flat = tree.is(Tag::record) && is_flat_;
    return {std::move(tensors_), is_flat ? "" : to_json(context_, form)};
  }

 private:
  Value form_of(const Value& v, const std::string& name, int depth = 0) {  // bounded recursion: by kMaxEntryDepth
    count_work(kEntryWork);
    if (depth > kMaxEntryDepth)
      fail_to_save(ErrorName::unsaveable_value, path_, fmt::format("it is nested more than {} deep", kMaxEntryDepth));
    switch (v.tag()) {
      case Tag::tensor: add(name, v); return word(kTensor);
      case Tag::boolean:
      case Tag::integer:
      case Tag::real: return number_form(kNumber, name, v, dtype_of_numbers(v.tag()));
      case Tag::nil: return leaf_form({word(kNil)});
      case Tag::string:
      case Tag::lazy_string: return leaf_form({word(kStr), make_string(to_string(context_, v))});
      case Tag::dtype: return leaf_form({word(kDType), make_string(std::string(name_of(v.dtype())))});
      case Tag::list:
        if (is_of_numbers(v)) return number_form(kNumbers, name, v, dtype_of_numbers(v.as<List>().items[0].tag()));
        return items_form(kList, v.as<List>().items, name, depth);
      case Tag::tuple: return items_form(kTuple, v.as<Tuple>().items, name, depth);
      case Tag::record:
        if (is_complex(v)) return complex_form(v, name);
        return entries_form(v, name, depth);
      case Tag::map: return entries_form(v, name, depth);
      case Tag::absent:
      case Tag::symbol:
      case Tag::range:
      case Tag::function:
      case Tag::builtin:
      case Tag::module:
      case Tag::foreign:
      case Tag::cell: break;
    }
    fail_to_save(ErrorName::unsaveable_value, path_, fmt::format("'{}' is a {}", name, type_name(v)));
  }

  Value leaf_form(std::vector<Value> parts) {
    is_flat_ = false;
    return parts.size() == 1 ? parts[0] : make_list(std::move(parts));
  }

  Value number_form(const char* what, const std::string& name, const Value& v, DType dtype) {
    is_flat_ = false;
    add(name, Value(tensor_from_lists(context_, v, &dtype, "save")));
    return word(what);
  }

  Value complex_form(const Value& z, const std::string& name) {
    const Value parts[] = {complex_part(z, false), complex_part(z, true)};
    if (!parts[0].is(Tag::tensor))
      return number_form(kComplexNumber, name, make_list({parts[0], parts[1]}), DType::f64);
    const Tensor re = parts[0].tensor();
    if (re.dtype() == DType::f32) {
      add(name, z);
      return word(kTensor);
    }
    Ops& ops = context_.ops();
    const int64_t last = re.rank();
    const auto column = [&](const Value& part) { return ops.call(Op::insert_axis, {part.tensor()}, {.axis = last}); };
    is_flat_ = false;
    add(name, Value(ops.call(Op::concat, {column(parts[0]), column(parts[1])}, {.axis = last})));
    return word(kPairs);
  }

  Value items_form(const char* what, const std::vector<Value>& items, const std::string& name, int depth) {
    is_flat_ = false;
    Collector parts;
    parts.add(word(what));
    for (size_t i = 0; i < items.size(); ++i)
      parts.add(form_of(items[i], joined_name(name, std::to_string(i)), depth + 1));
    return make_list(parts.take());
  }

  Value entries_form(const Value& container, const std::string& name, int depth) {
    const bool is_record = container.is(Tag::record);
    is_flat_ = is_flat_ && is_record && name.empty();
    Collector parts;
    parts.add(word(is_record ? kRecord : kMap));
    Value key, value;
    for (int64_t state = 0; next_entry(container, state, key, value);) {
      if (!key.is(Tag::string)) {
        fail_to_save(ErrorName::unsaveable_value, path_,
                     fmt::format("'{}' is a map with a key that is no str but {}", name, type_name(key)));
      }
      parts.add(key);
      parts.add(form_of(value, joined_name(name, key.as<String>().text), depth + 1));
    }
    return make_list(parts.take());
  }

  void add(const std::string& text, const Value& tensor) {
    auto& record = tensors_.as<Record>();
    const HeldName name(context_.names(), text);
    if (record.find(name))
      fail_to_save(ErrorName::unsaveable_value, path_, fmt::format("two of its tensors have the name '{}'", text));
    record.set(name, tensor);
  }

  Context& context_;
  const std::string& path_;
  Value tensors_ = make_record({});
  bool is_flat_ = true;  // a record of nothing but tensors
};

class TreeLoader {
 public:
  TreeLoader(Context& context, const std::string& path, const Record& tensors)
      : context_(context), path_(path), tensors_(tensors) {}

  Value tree_of(const Value& form, const std::string& name) const {
    count_work(kEntryWork);
    if (form.is(Tag::string)) return leaf_of(form.as<String>().text, name);
    if (!form.is(Tag::list) || form.as<List>().items.empty()) fail_to_fit();
    const std::vector<Value>& parts = form.as<List>().items;
    const std::string& what = text_of(parts[0]);
    if (what == kRecord || what == kMap) return entries_of(what, parts, name);
    if (what == kStr && parts.size() == 2) return make_string(text_of(parts[1]));
    if (what == kDType && parts.size() == 2) return dtype_of(text_of(parts[1]));
    if (what != kList && what != kTuple) fail_to_fit();
    Collector items;
    for (size_t i = 1; i < parts.size(); ++i) items.add(tree_of(parts[i], joined_name(name, std::to_string(i - 1))));
    return what == kList ? make_list(items.take()) : make_tuple(items.take());
  }

 private:
  [[noreturn]] void fail_to_fit() const {
    fail_to_load(ErrorName::malformed_file, path_, "what it says of its tree does not fit its tensors");
  }

  const std::string& text_of(const Value& v) const {
    if (!v.is(Tag::string)) fail_to_fit();
    return v.as<String>().text;
  }

  Value dtype_of(const std::string& name) const {
    for (const DTypeRow& row : kDTypes) {
      if (name_of(row.dtype) == name) return row.dtype;
    }
    fail_to_fit();
  }

  Value leaf_of(const std::string& what, const std::string& name) const {
    if (what == kNil) return Value();
    const Name known = context_.names().find(name);
    const int at = known ? tensors_.keys->find(known) : -1;
    if (at < 0) fail_to_fit();
    const Value& leaf = tensors_.values[static_cast<size_t>(at)];
    if (what == kTensor) return leaf;
    if (!leaf.is(Tag::tensor)) fail_to_fit();
    const int axes = leaf.tensor().rank();
    if (what == kPairs || what == kComplexNumber) return complex_of(what, leaf.tensor());
    if ((what == kNumber && axes == 0) || (what == kNumbers && axes == 1))
      return to_nested_lists(context_, leaf.tensor());
    fail_to_fit();
  }

  Value complex_of(const std::string& what, const Tensor& pairs) const {
    const int axes = pairs.rank();
    const bool is_pairs = axes > 0 && pairs.shape()[axes - 1] == Dim(2);
    if (!is_pairs || (what == kComplexNumber && axes != 1)) fail_to_fit();
    if (what == kPairs) return complex_of_pairs(context_, pairs);
    const std::vector<Value> parts = to_nested_lists(context_, pairs).as<List>().items;
    return make_complex(context_, parts[0], parts[1]);
  }

  Value entries_of(const std::string& what, const std::vector<Value>& parts, const std::string& name) const {
    if (parts.size() % 2 == 0) fail_to_fit();
    Value record = make_record({});
    const Ref<Map> map = make_ref<Map>();
    for (size_t i = 1; i < parts.size(); i += 2) {
      count_work(kEntryWork);
      const std::string& key = text_of(parts[i]);
      Value part = tree_of(parts[i + 1], joined_name(name, key));
      if (what == kMap) map->set(parts[i], std::move(part));
      else record.as<Record>().set(HeldName(context_.names(), key), std::move(part));
    }
    return what == kMap ? Value(map) : record;
  }

  Context& context_;
  const std::string& path_;
  const Record& tensors_;
};

}  // namespace

SavedTree take_apart(Context& context, const std::string& path, const Value& tree) {
  limit_occurrences(tree, "save it");
  return TreeSaver(context, path).save(tree);
}

Value put_together(Context& context, const std::string& path, const Value& tensors, const std::string& form) {
  const Value words = parse_json(context, form, path);
  return TreeLoader(context, path, tensors.as<Record>()).tree_of(words, "");
}

}  // namespace tsl
