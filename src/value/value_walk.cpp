#include "value/value_walk.h"

namespace tsl::parts {

size_t count(const Value& v) {
  switch (v.tag()) {
    case Tag::list: return v.as<List>().items.size();
    case Tag::tuple: return v.as<Tuple>().items.size();
    case Tag::record: return v.as<Record>().values.size();
    case Tag::lazy_string: return v.as<LazyString>().pieces.size();
    default: return 2;  // a range
  }
}

const Value& at(const Value& v, size_t index) {
  switch (v.tag()) {
    case Tag::list: return v.as<List>().items[index];
    case Tag::tuple: return v.as<Tuple>().items[index];
    case Tag::record: return v.as<Record>().values[index];
    case Tag::lazy_string: return v.as<LazyString>().pieces[index].value;
    default: return index == 0 ? v.as<Range>().begin : v.as<Range>().end;
  }
}

const Value* items(const Value& v) {
  switch (v.tag()) {
    case Tag::list: return v.as<List>().items.data();
    case Tag::tuple: return v.as<Tuple>().items.data();
    case Tag::record: return v.as<Record>().values.data();
    default: return nullptr;
  }
}

Value replaced(const Value& v, std::vector<Value> with) {
  switch (v.tag()) {
    case Tag::list: return make_list(std::move(with));
    case Tag::tuple: return make_tuple(std::move(with));
    case Tag::record: {
      Ref<Record> record = make_ref<Record>();
      record->keys = v.as<Record>().keys;
      record->values = std::move(with);
      return Value(std::move(record));
    }
    case Tag::lazy_string: {
      Ref<LazyString> text = make_ref<LazyString>();
      text->pieces = v.as<LazyString>().pieces;
      for (size_t i = 0; i < with.size(); ++i) text->pieces[i].value = std::move(with[i]);
      return Value(std::move(text));
    }
    default: {
      Ref<Range> range = make_ref<Range>();
      range->begin = std::move(with[0]);
      range->end = std::move(with[1]);
      return Value(std::move(range));
    }
  }
}

}  // namespace tsl::parts
