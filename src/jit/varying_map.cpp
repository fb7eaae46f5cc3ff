#include "jit/varying_map.h"

#include <utility>

#include <fmt/format.h>

namespace tsl::jit {

const Value& part_of(const Value& map, const InputSource& source) {
  static const Value &kAbsent = *new Value(Value::absent()), &kTrue = *new Value(true), &kFalse = *new Value(false);
  const Value* const found = map.as<Map>().find(source.key);
  if (source.kind == InputSource::Kind::presence) return found ? kTrue : kFalse;
  return found ? *found : kAbsent;
}

const Value& VaryingMap::ask(InputSource::Kind kind, const Value& key, Answers& known) {
  const size_t at = known.keys.find(key);
  if (at != MapKeys::kNone) return known.values[at];
  const bool is_entry = kind == InputSource::Kind::entry;
  std::string name = fmt::format(fmt::runtime(is_entry ? "{1}[{0}]" : "{0} in {1}"), key_label(key), name_);
  Value answer = trace_->look(kind, *this, key, std::move(name), origin_);
  known.keys.append(key);
  known.values.push_back(std::move(answer));
  return known.values.back();
}

const Value* VaryingMap::find(const Value& key) {
  if (!trace_) return std::as_const(map.as<Map>()).find(key);
  const Value& answer = ask(InputSource::Kind::entry, key, entries_);
  return answer.is(Tag::absent) ? nullptr : &answer;
}

bool VaryingMap::has(const Value& key) {
  if (!trace_) return map.as<Map>().has(key);
  const size_t at = entries_.keys.find(key);
  if (at != MapKeys::kNone) return !entries_.values[at].is(Tag::absent);
  return ask(InputSource::Kind::presence, key, presences_).boolean();
}

Value VaryingMap::all() {
  if (!trace_) return map;
  if (all_.is_nil()) all_ = trace_->look(InputSource::Kind::opened, *this, Value(), name_, origin_);
  return all_;
}

void VaryingMap::end_trace() {
  trace_ = nullptr;
  all_ = Value();
  entries_ = {};
  presences_ = {};
}

}  // namespace tsl::jit
