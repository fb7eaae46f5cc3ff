#include "vm/instructions.h"

#include <array>
#include <limits>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "value/context.h"
#include "value/format.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/materialize.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "value/text_builder.h"
#include "vm/arguments.h"
#include "vm/indexing.h"
#include "vm/keys.h"
#include "vm/operators.h"

namespace tsl::vm {

using ast::BinaryOp;

// ---- Operators -----------------------------------------------------------------------------------------

namespace {

/// Appends in place for list += list and str += str, if the left side has one owner.
bool append_in_place(Value& left, const Value& right) {
  if (left.tag() != right.tag() || !left.unique() || identical(left, right)) return false;
  if (left.is(Tag::list)) {
    const std::vector<Value>& more = right.as<List>().items;
    List& list = unopened(left);
    list.make_room(more.size());
    list.items.insert(list.items.end(), more.begin(), more.end());
    return true;
  }
  if (left.is(Tag::string)) {
    left.as<String>().append(right.as<String>().text);
    return true;
  }
  return false;
}

/// Applies target op= operand, in place where possible. If it fails, `target` is unchanged.
void update_value(Context& context, BinaryOp op, Value& target, const Value& operand) {
  if (op == BinaryOp::add && append_in_place(target, operand)) return;
  target = binary(context, op, target, operand, {.a = true});
}

void clear_operands(Value* first, size_t count) {
  for (size_t n = 0; n < count; ++n) clear(first[n]);
}

}  // namespace

void binary_operation(Context& context, Frame& frame, const Instruction& i, BinaryOp op, const Value& right) {
  Value& left = frame.base[i.b];
  const bool left_goes = i.kills_b() || i.a == i.b;
  if (op == BinaryOp::add && left_goes && append_in_place(left, right)) {
    if (i.a != i.b) frame.base[i.a] = std::move(left);
    if (i.kills_c() && i.c != i.a) clear(frame.base[i.c]);
    return;
  }
  // A register that the result replaces is not read again, unless the op fails and so leaves it as it is.
  Value result = binary(context, op, left, right, {.a = left_goes, .b = i.kills_c() || i.a == i.c});
  if (i.kills_b()) clear(left);
  if (i.kills_c()) clear(frame.base[i.c]);
  frame.base[i.a] = std::move(result);
}

void invert(Context& context, Frame& frame, const Instruction& i) {
  Value result = inverted(context, frame.base[i.b], i.kills_b() || i.a == i.b);
  if (i.kills_b()) clear(frame.base[i.b]);
  frame.base[i.a] = std::move(result);
}

void negate(Context& context, Frame& frame, const Instruction& i) {
  Value result = negated(context, frame.base[i.b], i.kills_b() || i.a == i.b);
  if (i.kills_b()) clear(frame.base[i.b]);
  frame.base[i.a] = std::move(result);
}

void plus(Frame& frame, const Instruction& i) {
  Value result = tsl::plus(frame.base[i.b]);
  if (i.kills_b()) clear(frame.base[i.b]);
  frame.base[i.a] = std::move(result);
}

bool is_settled(Context& context, const Value& answer) { return is_host_bool(answer) && !truth(context, answer); }

constexpr size_t kMaxShortText = 15;  // bytes that a string holds without memory of its own

bool compare(Context& context, Frame& frame, const Instruction& i, BinaryOp op, const Value& right) {
  const Value& left = frame.base[i.a];
  if (left.is(Tag::string) && right.is(Tag::string) && (op == BinaryOp::eq || op == BinaryOp::ne)) {
    const std::string& text = left.as<String>().text;
    const bool result = equal_texts(text, right.as<String>().text) == (op == BinaryOp::eq);
    // A short text stays: in a loop over characters, the next one takes its place.
    if (i.kills_a() && text.size() > kMaxShortText) clear(frame.base[i.a]);
    if (i.kills_b()) clear(frame.base[i.b]);
    return result;
  }
  const bool result = truth(context, binary(context, op, left, right));
  if (i.kills_a()) clear(frame.base[i.a]);
  if (i.kills_b()) clear(frame.base[i.b]);
  return result;
}

bool test(Context& context, Frame& frame, const Instruction& i) {
  const bool result = truth(context, frame.base[i.a]);
  if (i.kills_a()) clear(frame.base[i.a]);
  return result;
}

// ---- New values ----------------------------------------------------------------------------------------

void make_closure(Context& context, CycleCollector& cycles, Frame& frame, const Instruction& i) {
  const Proto& proto = *frame.proto->functions[i.wide()];
  const auto& outer = static_cast<const ScriptFunction&>(frame.function());
  Ref<Function> function(new ScriptFunction(proto, outer.code));
  function->captures.reserve(proto.captures.size());
  for (const CaptureSource& source : proto.captures) {
    function->captures.push_back(source.from_register ? Ref<Cell>(&frame.base[source.index].as<Cell>())
                                                      : frame.function().captures[source.index]);
  }
  if (!function->captures.empty()) {
    function->count_bytes(sizeof(ScriptFunction) + function->captures.size() * (sizeof(Cell) + sizeof(Ref<Cell>)));
    cycles.track(*function);
    // Under a trace, no cycles are collected: a segment computes all tensors alive at its end, even those only in a
    // cycle, and a replay must find the same tensors alive.
    if (cycles.is_due() && !context.runtime().is_tracing()) cycles.collect();
  }
  frame.base[i.a] = Value(std::move(function));
}

void make_typed(Context& context, Frame& frame, const Instruction& i) {
  const Value& number = frame.proto->constants[i.b];
  frame.base[i.a] = Value(fill(context.ops(), Shape(), static_cast<DType>(i.c), scalar_of(number)));
}

namespace {

std::vector<Value> take_values(Value* first, size_t count) {
  return std::vector<Value>(std::make_move_iterator(first), std::make_move_iterator(first + count));
}

}  // namespace

void make_list(Frame& frame, const Instruction& i) { frame.base[i.a] = make_list(take_values(frame.base + i.b, i.c)); }

void make_tuple(Frame& frame, const Instruction& i) {
  frame.base[i.a] = make_tuple(take_values(frame.base + i.b, i.c));
}

void make_record(Frame& frame, const Instruction& i) {
  Ref<Record> record = make_ref<Record>();
  record->keys = frame.proto->record_shapes[i.c];
  record->values = take_values(frame.base + i.b, record->keys->names.size());
  record->count_bytes();
  frame.base[i.a] = Value(std::move(record));
}

void put_field(Frame& frame, const Instruction& i) {
  Value& value = frame.base[i.b];
  frame.base[i.a].as<Record>().set(frame.proto->names[i.c], i.kills_b() ? std::move(value) : value);
}

void make_map(Frame& frame, const Instruction& i) { frame.base[i.a] = Value(make_ref<Map>()); }

void put_entry(Context& context, Frame& frame, const Instruction& i) {
  const Value key = as_key(context, frame.base[i.b]);
  Value& value = frame.base[i.c];
  unique_map(frame.base[i.a]).set(key, i.kills_c() && i.c != i.b ? std::move(value) : value);
  if (i.kills_b()) clear(frame.base[i.b]);
}

namespace {

constexpr int64_t kEntryWork = 64;

void spread_into(Map& map, const Value& from) {
  Value key, value;
  for (int64_t state = 0; next_entry(from, state, key, value);) {
    count_work(kEntryWork);
    map.set(key, std::move(value));
  }
}

void spread_into(Context& context, Record& record, const Value& from) {
  if (from.is(Tag::record)) {
    const Record& fields = from.as<Record>();
    polled_each(fields.values.size(), kEntryWork,
                [&](size_t n) { record.set(fields.keys->names[n], fields.values[n]); });
    return;
  }
  Value key, value;
  for (int64_t state = 0; next_entry(from, state, key, value);) {
    count_work(kEntryWork);
    record.set(HeldName(context.names(), expect_string(context, key, "a record's key")), std::move(value));
  }
}

}  // namespace

void spread(Context& context, Frame& frame, const Instruction& i) {
  const Value from = frame.base[i.b];
  if (!has_entries(from)) fail(ErrorName::wrong_operand_type, "'...' takes a record or a map, not {}", type_name(from));
  Value& into = frame.base[i.a];
  const bool is_map = into.is(Tag::map);
  const bool is_first = is_map && from.is(Tag::map) && unopened_map(into).size() == 0 && !unopened_map(into).input;
  if (is_first) into = from;
  else if (is_map) spread_into(unique_map(into), from);
  else spread_into(context, into.as<Record>(), from);
  if (i.kills_b()) clear(frame.base[i.b]);
}

namespace {

/// Returns the ints that two bounds of a range are, also those in 0-d int tensors, which are read.
std::array<Value, 2> bounds_of_range(Context& context, const Value& begin, const Value& end) {
  std::array<Value, 2> bounds = {begin, end};
  for (Value& bound : bounds) {
    const bool is_number = bound.is(Tag::tensor) && bound.tensor().rank() == 0 && is_integer(bound.tensor().dtype());
    if (is_number) bound = read_item(context, bound.tensor());
    if (is_host_int(bound)) continue;
    const bool are_texts = begin.is(Tag::string) && end.is(Tag::string);
    fail_with(ErrorName::wrong_operand_type,
              fmt::format("a range goes from int to int, not from {} to {}", type_name(begin), type_name(end)),
              hints_of(are_texts ? "`a + b` joins two strs" : hint_to_make(Wanted::integer, bound)));
  }
  return bounds;
}

/// Returns the int after the last one of a closed range.
Value end_after(Context& context, const Value& last) {
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  if (truth(context, binary(context, BinaryOp::eq, last, Value(kGreatest)))) {
    fail(ErrorName::number_out_of_range, "a range with its end cannot end with the greatest int, {}", kGreatest);
  }
  return binary(context, BinaryOp::add, last, Value(1));
}

}  // namespace

void make_range(Context& context, Frame& frame, const Instruction& i) {
  auto [begin, end] = bounds_of_range(context, frame.base[i.b], frame.base[i.c]);
  Ref<Range> range = make_ref<Range>();
  range->begin = std::move(begin);
  range->end = i.extra() ? end_after(context, end) : std::move(end);
  frame.base[i.a] = Value(std::move(range));
}

namespace {

std::vector<Value>* items_of(const Value& v) {
  if (v.is(Tag::tuple)) return &v.as<Tuple>().items;
  if (v.is(Tag::list)) return &v.as<List>().items;
  return nullptr;
}

}  // namespace

namespace {

[[noreturn]] void fail_to_unpack(const Value& source, size_t parts) {
  const bool is_tensor = source.is(Tag::tensor) && source.tensor().rank() > 0;
  fail_with(ErrorName::not_unpackable, fmt::format("cannot take {} apart into {} parts", type_name(source), parts),
            hints_of(is_tensor         ? "`tolist(x)` makes a list of a tensor"
                     : source.is_nil() ? hint_for_nil(source)
                     : source.is(Tag::record)
                         ? "the fields of a record are named: `let {a, b} = r`"
                         : "lists and tuples are taken apart; `enumerate(xs)` and `zip(xs, ys)` give pairs"));
}

[[noreturn]] void fail_on_count(const Value& source, size_t count, size_t parts, bool has_rest) {
  const bool has_more = count > parts;
  const std::string some = count == 1 ? "one item" : fmt::format("{} items", count);
  fail_with(ErrorName::wrong_part_count,
            has_rest
                ? fmt::format("a {} of {} cannot be taken apart into {} and a rest", type_name(source), count, parts)
                : fmt::format("a {} of {} cannot be taken apart into {}", type_name(source), count, parts),
            hints_of(has_more ? "name each part; `_` stands for one that is not needed, `...rest` for all others"
                              : fmt::format("it has {} to name", some)));
}

/// Whether a value is a pair that no other refers to.
bool is_free_pair(const Value& value) {
  return value.is(Tag::tuple) && value.unique() && value.as<Tuple>().items.size() == 2;
}

}  // namespace

void unpack(Frame& frame, const Instruction& i) {
  Value& source = frame.base[i.b];
  std::vector<Value>* items = items_of(source);
  if (!items) fail_to_unpack(source, i.c);
  const bool has_rest = i.op == Opcode::unpack_rest;
  const size_t parts = has_rest ? i.c - 1u : i.c, count = items->size();
  if (has_rest ? count < parts : count != parts) fail_on_count(source, count, parts, has_rest);
  const bool moves = i.kills_b() && source.unique();
  const size_t rest_at = has_rest ? i.extra() : parts, rest_count = count - parts;
  const auto take = [&](size_t n) { return moves ? std::move((*items)[n]) : (*items)[n]; };
  for (size_t n = 0; n < rest_at; ++n) frame.base[i.a + n] = take(n);
  if (has_rest) {
    Collector rest;
    for (size_t n = 0; n < rest_count; ++n) rest.add(take(rest_at + n));
    frame.base[i.a + rest_at] = source.is(Tag::list) ? make_list(rest.take()) : make_tuple(rest.take());
    for (size_t n = rest_at; n < parts; ++n) frame.base[i.a + n + 1] = take(rest_count + n);
  }
  const bool is_filled_again = moves && is_free_pair(source);  // by a loop over entries
  if (i.kills_b() && !is_filled_again) clear(source);
}

void without(Frame& frame, const Instruction& i) {
  const Value& source = frame.base[i.b];
  if (!source.is(Tag::record))
    fail(ErrorName::wrong_operand_type, "'...' takes the other fields of a record, not of {}", type_name(source));
  const Record& fields = source.as<Record>();
  const RecordKeys& taken = *frame.proto->record_shapes[i.c];
  std::vector<std::pair<Name, Value>> others;
  polled_each(fields.values.size(), 8, [&](size_t n) {
    const Name name = fields.keys->names[n];
    if (taken.find(name) < 0) others.push_back({name, fields.values[n]});
  });
  frame.base[i.a] = make_record(std::move(others));
}

void append(Frame& frame, const Instruction& i) {
  auto& list = frame.base[i.a].as<List>();
  list.make_room(1);
  list.items.push_back(frame.base[i.b]);
  if (i.kills_b()) clear(frame.base[i.b]);
}

namespace {

/// Adds the fields of a record to the named arguments of a call.
void add_named(Record& named, const Record& fields) {
  polled_each(fields.values.size(), kEntryWork, [&](size_t n) {
    const Name name = fields.keys->names[n];
    if (named.find(name)) fail(ErrorName::argument_given_twice, "'...' gives the argument '{}' twice", *name);
    named.set(name, fields.values[n]);
  });
}

}  // namespace

void append_all(Context& context, Frame& frame, const Instruction& i) {
  const Value source = frame.base[i.b];
  if (i.kills_b()) clear(frame.base[i.b]);
  if (source.is(Tag::record)) return add_named(frame.base[i.c].as<Record>(), source.as<Record>());
  const bool has_items = items_of(source) || source.is(Tag::range);
  if (!has_items) {
    fail_with(ErrorName::wrong_operand_type,
              fmt::format("'...' takes a list, a tuple, a range or a record apart, not {}", type_name(source)),
              hints_of(source.is(Tag::tensor) ? "`tolist(x)` makes a list of a tensor" : ""));
  }
  Collector items;
  for (const Value& item : frame.base[i.a].as<List>().items) items.add(item);
  Value item;
  for (int64_t state = 0; iterate(context, source, state, item);) items.add(std::move(item));
  frame.base[i.a] = make_list(items.take());
}

namespace {

/// Formats or checks a value of an f-string: the caret of its error is under it.
template <class Step> auto at_value(int value, Step step) {
  try {
    return step();
  } catch (Failure& failure) {
    if (!failure.error().is_located) failure.error().argument = value;
    throw;
  }
}

void add_value(TextBuilder& to, Context& context, const Value& value, const std::string& spec) {
  if (value.is_number()) to += format_value(context, value, spec);  // short
  else add_format(to, context, value, spec);
}

/// Returns the format spec of the value in a register.
const std::string& spec_of(Context& context, const TemplatePart& part, const Value* value) {
  return part.has_computed_spec ? expect_string(context, value[1], "a format spec") : part.spec;
}

/// Formats an f-string whose values are all known.
std::string join_template(Context& context, const Template& parts, const Value* values) {
  TextBuilder text;
  int value = 0;
  for (const TemplatePart& part : parts) {
    if (part.text) text += *part.text;
    else at_value(value, [&] { add_value(text, context, values[value], spec_of(context, part, values + value)); });
    value += part.register_count();
  }
  return text.take();
}

Value lazy_template(Context& context, const Template& parts, const Value* values) {
  Ref<LazyString> text = make_ref<LazyString>();
  int value = 0;
  for (const TemplatePart& part : parts) {
    if (part.text) {
      text->pieces.push_back({make_string(*part.text), ""});
      continue;
    }
    at_value(value, [&] {
      const std::string& spec = spec_of(context, part, values + value);
      check_format(context, values[value], spec);
      text->pieces.push_back({values[value], spec});
    });
    value += part.register_count();
  }
  return Value(std::move(text));
}

}  // namespace

void format(Context& context, Frame& frame, const Instruction& i) {
  const Template& parts = frame.proto->templates[i.c];
  Value* values = frame.base + i.b;
  size_t count = 0;
  bool all_known = true;
  for (const TemplatePart& part : parts) {
    for (int left = part.register_count(); left > 0; --left) all_known &= is_known(context, values[count++]);
  }
  Value result = all_known ? make_string(join_template(context, parts, values)) : lazy_template(context, parts, values);
  clear_operands(values, count);
  frame.base[i.a] = std::move(result);
}

// ---- Elements ------------------------------------------------------------------------------------------

namespace {

/// Returns the element of a list or tuple at an int index; null if it is out of range or not an int.
Value* element_at(std::vector<Value>& items, const Value& index) {
  if (!index.is(Tag::integer)) return nullptr;
  const int64_t size = static_cast<int64_t>(items.size());
  const int64_t at = index.integer() < 0 ? index.integer() + size : index.integer();
  return at >= 0 && at < size ? &items[static_cast<size_t>(at)] : nullptr;
}

/// Returns the evaluated items of an index; moves its parts out of `operands`.
std::vector<IndexItem> index_items(const IndexShape& shape, Value* operands) {
  std::vector<IndexItem> items(shape.items.size());
  for (size_t n = 0; n < items.size(); ++n) {
    const IndexShape::Item& part = shape.items[n];
    items[n].kind = static_cast<IndexItem::Kind>(part.kind);
    if (part.kind == IndexShape::Item::Kind::value) items[n].value = std::move(*operands++);
    if (part.has_start) items[n].start = std::move(*operands++);
    if (part.has_stop) items[n].stop = std::move(*operands++);
    if (part.has_step) items[n].step = std::move(*operands++);
  }
  return items;
}

IndexItem single_item(const Value& index) {
  IndexItem item;
  item.value = index;
  return item;
}

}  // namespace

void get_index(Context& context, Frame& frame, const Instruction& i, const Value& index) {
  const Value& object = frame.base[i.b];
  Value result;
  std::vector<Value>* items = items_of(object);
  const Value* element = items ? element_at(*items, index) : nullptr;
  if (element) {
    result = *element;
  } else {
    const IndexItem item = single_item(index);
    result = get_index(context, object, std::span<const IndexItem>(&item, 1));
  }
  if (i.kills_b()) clear(frame.base[i.b]);
  if (i.kills_c()) clear(frame.base[i.c]);
  frame.base[i.a] = std::move(result);
}

void get_items(Context& context, Frame& frame, const Instruction& i) {
  Value* object = frame.base + i.b;
  const std::vector<IndexItem> items = index_items(frame.proto->index_shapes[i.c], object + 1);
  Value result = take_index(context, *object, items);
  clear(*object);
  frame.base[i.a] = std::move(result);
}

const Value& member_of(Context& context, const Module& module, Name name) {
  Cell* cell = module.find(name);
  if (!cell) {
    std::vector<std::string> candidates, notes;
    for (const auto& entry : module.exports) candidates.push_back(*entry.first);
    std::string hint = suggest_member(module.name, *name, candidates, context.builtins().names());
    if (!hint.empty()) notes.push_back(std::move(hint));
    fail_with(ErrorName::unknown_member, fmt::format("module '{}' has no '{}'", module.name, *name), std::move(notes));
  }
  return content(context.runtime(), *cell, name);
}

void get_field(Context& context, Frame& frame, const Instruction& i) {
  const Value& object = frame.base[i.b];
  const Name name = frame.proto->names[i.c];
  const Value* field = object.is(Tag::record) ? object.as<Record>().find(name) : nullptr;
  Value result = field                    ? *field
                 : object.is(Tag::module) ? member_of(context, object.as<Module>(), name)
                                          : get_field(context, object, name);
  if (i.kills_b()) clear(frame.base[i.b]);
  frame.base[i.a] = std::move(result);
}

void get_member(Context& context, Frame& frame, const Instruction& i) {
  frame.base[i.a] = member_of(context, frame.base[i.b].as<Module>(), frame.proto->names[i.c]);
}

// ---- Assignments to parts ------------------------------------------------------------------------------

void set_index(Context& context, Frame& frame, const Instruction& i) {
  Value& object = frame.base[i.a];
  const Value& index = frame.base[i.b];
  const bool moves = i.kills_c() && i.c != i.b;
  Value value = moves ? std::move(frame.base[i.c]) : frame.base[i.c];
  Value* element = object.is(Tag::list) && object.unique() ? element_at(object.as<List>().items, index) : nullptr;
  if (element) {
    *element = std::move(value);
  } else {
    const IndexItem item = single_item(index);
    set_index(context, object, std::span<const IndexItem>(&item, 1), std::move(value));
  }
  if (i.kills_b()) clear(frame.base[i.b]);
}

namespace {

/// Changes the part of an object that a path leads to. Shared containers on the path are copied first, which programs
/// cannot observe, so a failure leaves the object as it was.
class PathChange {
 public:
  PathChange(Context& context, const Path& path, Value* operands)
      : context_(context), path_(path), operands_(operands) {}

  void apply(Value& object) { apply(object, 0, operands_); }

 private:
  Value& value() { return operands_[path_.operand_count]; }

  void apply(Value& object, size_t depth, Value* operands) {
    if (depth == path_.steps.size()) return update_value(context_, path_.op, object, value());  // at the end: x op= v
    const Path::Step& step = path_.steps[depth];
    if (depth + 1 == path_.steps.size()) return finish(object, step, operands);
    Value* rest = operands + step.index.operand_count;
    if (Value* inner = part(object, step, operands)) return apply(*inner, depth + 1, rest);
    // The part has no value of its own (a row of a tensor): read it, change it, and store it again.
    const std::vector<IndexItem> items = index_items(step.index, operands);
    Value inner = step.field ? get_field(context_, object, step.field) : get_index(context_, object, items);
    apply(inner, depth + 1, rest);
    if (step.field) set_field(context_, object, step.field, std::move(inner));
    else set_index(context_, object, items, std::move(inner));
  }

  void finish(Value& object, const Path::Step& step, Value* operands) {
    if (path_.has_op) {
      if (Value* inner = part(object, step, operands)) return update_value(context_, path_.op, *inner, value());
      if (!step.field) return update_index(context_, object, index_items(step.index, operands), path_.op, value());
      return set_field(context_, object, step.field,
                       binary(context_, path_.op, get_field(context_, object, step.field), value()));
    }
    if (step.field) set_field(context_, object, step.field, std::move(value()));
    else set_index(context_, object, index_items(step.index, operands), std::move(value()));
  }

  /// Returns what a step leads to in a record, map or list, after copying the container if it is shared; null for
  /// anything else.
  Value* part(Value& object, const Path::Step& step, const Value* operands) {
    if (step.field) {
      if (!object.is(Tag::record) || !object.as<Record>().find(step.field)) return nullptr;
      return make_unique<Record>(object).find(step.field);
    }
    const bool is_single = step.index.items.size() == 1 && step.index.items[0].kind == IndexShape::Item::Kind::value;
    if (is_single && object.is(Tag::map)) {
      const Value key = as_key(context_, *operands);
      return unopened_map(object).has(key) ? unique_map(object).find_to_change(key) : nullptr;
    }
    if (!is_single || !object.is(Tag::list) || !element_at(object.as<List>().items, *operands)) return nullptr;
    return element_at(make_unique<List>(object).items, *operands);
  }

  Context& context_;
  const Path& path_;
  Value* operands_;
};

/// Applies a change to the content of `target`, which is emptied meanwhile: a trace that ends during the change
/// replaces containers wherever it finds them, but must not replace the one being changed.
void change_part(Context& context, Value& target, PathChange change) {
  Value object = std::move(target);
  const auto put_back = [&] {
    target = std::move(object);
    materialize_pending(context, {&target, 1});
  };
  try {
    change.apply(object);
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
}

Value& root_of(Context& context, Frame& frame, const Instruction& i) {
  Cell* cell = nullptr;
  Name name = nullptr;
  switch (static_cast<RootKind>(i.extra())) {
    case RootKind::reg: return frame.base[i.a];
    case RootKind::cell: cell = &frame.base[i.a].as<Cell>(); break;
    case RootKind::capture:
      cell = frame.function().captures[i.a].get();
      name = frame.proto->captures[i.a].name;
      break;
    case RootKind::global:
      cell = frame.proto->globals[i.a].get();
      name = frame.proto->global_names[i.a];
      break;
  }
  return content(context.runtime(), *cell, name);
}

}  // namespace

void set_path(Context& context, Frame& frame, const Instruction& i) {
  const Path& path = frame.proto->paths[i.c];
  Value* operands = frame.base + i.b;
  change_part(context, root_of(context, frame, i), PathChange(context, path, operands));
  clear_operands(operands, path.operand_count + size_t{1});
}

// ---- Loops ---------------------------------------------------------------------------------------------

void start_range(Context& context, Frame& frame, const Instruction& i) {
  Value* state = frame.base + i.a;
  const std::array<Value, 2> bounds = bounds_of_range(context, state[0], state[1]);
  const int64_t begin = expect_int(context, bounds[0], "the start of a range");
  const int64_t end = expect_int(context, bounds[1], "the end of a range");
  const bool is_closed = i.extra() != 0;
  uint64_t count = begin > end ? 0 : static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
  if (is_closed && begin <= end && count != UINT64_MAX) ++count;
  state[0] = Value(begin);
  state[1] = Value(static_cast<int64_t>(count));
}

bool next_each(Context& context, Frame& frame, const Instruction& i) {
  const Value& iterable = frame.base[i.a];
  Value& state = frame.base[i.a + 1];
  if (const std::vector<Value>* items = items_of(iterable)) {
    const size_t at = static_cast<size_t>(state.integer());
    if (at >= items->size()) return false;
    frame.base[i.b] = (*items)[at];
    state = Value(static_cast<int64_t>(at + 1));
    return true;
  }
  int64_t position = state.integer();
  if (has_entries(iterable) && i.b != i.a && is_free_pair(frame.base[i.b])) {  // of the loop's last turn
    std::vector<Value>& pair = frame.base[i.b].as<Tuple>().items;
    const bool has_entry = next_entry(iterable, position, pair[0], pair[1]);
    state.become(position);
    return has_entry;
  }
  if (iterable.is(Tag::string) && i.b != i.a) {
    const bool has_character = next_character(iterable.as<String>().text, position, frame.base[i.b]);
    state.become(position);
    return has_character;
  }
  Value item;
  const bool has_item = iterate(context, iterable, position, item);
  state = Value(position);
  if (has_item) frame.base[i.b] = std::move(item);
  return has_item;
}

void not_set(Name name) {
  if (!name) fail(ErrorName::used_before_declaration, "a variable is used before its declaration has run");
  fail(ErrorName::used_before_declaration, "'{}' is used before its declaration has run", *name);
}

}  // namespace tsl::vm
