#include "value/value_walk.h"

#include <cassert>

#include "base/error_names.h"
#include "value/map.h"

namespace tsl::elements_of {

namespace {

template <class... Visits> struct Overloads : Visits... { using Visits::operator()...; };

/// Calls the visit for the type of a value with elements.
template <class... Visits> decltype(auto) visit_elements(const Value& v, Visits... visits) {
  assert(has_elements(v));
  const Overloads<Visits...> visit{visits...};
  switch (v.tag()) {
    case Tag::list: return visit(unopened(v));
    case Tag::tuple: return visit(v.as<Tuple>());
    case Tag::record: return visit(v.as<Record>());
    case Tag::map: return visit(unopened_map(v));
    case Tag::lazy_string: return visit(v.as<LazyString>());
    case Tag::range: return visit(v.as<Range>());
    case Tag::nil:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::dtype:
    case Tag::absent:
    case Tag::symbol:
    case Tag::string:
    case Tag::function:
    case Tag::builtin:
    case Tag::module:
    case Tag::foreign:
    case Tag::tensor:
    case Tag::cell: break;
  }
  __builtin_unreachable();
}

}  // namespace

size_t count(const Value& v) {
  return visit_elements(
      v, [](const List& list) { return list.items.size(); }, [](const Tuple& tuple) { return tuple.items.size(); },
      [](const Record& record) { return record.values.size(); }, [](const Map& map) { return map.values.size(); },
      [](const LazyString& text) { return text.pieces.size(); }, [](const Range&) { return size_t{2}; });
}

const Value& at(const Value& v, size_t index) {
  return visit_elements(
      v, [=](const List& list) -> const Value& { return list.items[index]; },
      [=](const Tuple& tuple) -> const Value& { return tuple.items[index]; },
      [=](const Record& record) -> const Value& { return record.values[index]; },
      [=](const Map& map) -> const Value& { return map.values[index]; },
      [=](const LazyString& text) -> const Value& { return text.pieces[index].value; },
      [=](const Range& range) -> const Value& { return index == 0 ? range.begin : range.end; });
}

const Value* items(const Value& v) {
  return visit_elements(
      v, [](const List& list) { return list.items.data(); }, [](const Tuple& tuple) { return tuple.items.data(); },
      [](const Record& record) { return record.values.data(); }, [](const Map& map) { return map.values.data(); },
      [](const LazyString&) -> const Value* { return nullptr; }, [](const Range&) -> const Value* { return nullptr; });
}

std::vector<Value>* values_in(Tag tag, Object* object) {
  if (tag == Tag::list) return &static_cast<List*>(object)->items;
  if (tag == Tag::tuple) return &static_cast<Tuple*>(object)->items;
  if (tag == Tag::record) return &static_cast<Record*>(object)->values;
  if (tag == Tag::map) return &static_cast<Map*>(object)->values;
  if (tag == Tag::builtin) return &static_cast<BuiltinFunction*>(object)->bound;
  return nullptr;
}

Value replaced(const Value& v, std::vector<Value> with) {
  return visit_elements(
      v,
      [&](const List& from) {
        Value list = make_list(std::move(with));
        unopened(list).prefix = from.prefix;
        return list;
      },
      [&](const Tuple&) { return make_tuple(std::move(with)); },
      [&](const Record& from) {
        Ref<Record> record = make_ref<Record>();
        record->keys = from.keys;
        record->values = std::move(with);
        return Value(std::move(record));
      },
      [&](const Map& from) { return Value(from.with_values(std::move(with))); },
      [&](const LazyString& from) {
        Ref<LazyString> text = make_ref<LazyString>();
        text->pieces = from.pieces;
        // bounded: as the pieces were made
        for (size_t i = 0; i < with.size(); ++i) text->pieces[i].value = std::move(with[i]);
        return Value(std::move(text));
      },
      [&](const Range&) {
        Ref<Range> range = make_ref<Range>();
        range->begin = std::move(with[0]);
        range->end = std::move(with[1]);
        return Value(std::move(range));
      });
}

}  // namespace tsl::elements_of

namespace tsl {

namespace {

// Enough for any program; a value that contains itself twice, sixty times over, must not fill the memory or run for
// years.
constexpr uint64_t kMaxOccurrences = uint64_t{1} << 28;
constexpr int kMaxDepth = 1000;  // as deep as walks go that recurse

}  // namespace

void limit_occurrences(const Value& v, std::string_view action) {
  if (!has_elements(v)) return;
  const uint64_t count = OccurrenceCounter(kMaxDepth, [](const Value&) { return uint64_t{1}; }).count(v);
  if (count <= kMaxOccurrences) return;
  fail(ErrorName::too_many_items, "{}: it has more than {} parts, counting shared ones wherever they occur", action,
       kMaxOccurrences);
}

}  // namespace tsl
