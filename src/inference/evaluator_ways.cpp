// Ways through a text: branches, attempts and loops.
#include <algorithm>

#include "inference/text_function.h"
#include "value/numbers.h"
#include "vm/operators.h"

namespace tsl::inference {

using ast::as;

namespace {

constexpr size_t kMostUnrolled = 16;  // items of a loop that is run item by item

}  // namespace

Evaluator::Path Evaluator::path_since(size_t mark) const {
  Path path;
  for (size_t i = mark; i < trail_.size(); ++i) path.changed[trail_[i].first] = *trail_[i].first;
  return path;
}

/// Takes back what was written since.
void Evaluator::undo(size_t mark) {
  while (trail_.size() > mark) {
    *trail_.back().first = std::move(trail_.back().second);
    trail_.pop_back();
  }
}

/// Goes a way, and takes back what it has changed.
template <class Body> Evaluator::Path Evaluator::explore(Body&& body) {
  const size_t mark = trail_.size();
  const bool left = std::exchange(leaves_, false);
  ++ways_;
  Value value = body();
  --ways_;
  Path path = path_since(mark);
  path.value = std::move(value);
  path.leaves = std::exchange(leaves_, left);
  undo(mark);
  return path;
}

/// Goes on with what holds after each of some ways, and returns what is sure of their values.
Value Evaluator::merge(const std::vector<Path>& paths) {
  std::vector<const Path*> going_on;
  for (const Path& path : paths) {
    if (!path.leaves) going_on.push_back(&path);
  }
  leaves_ |= going_on.empty();
  if (going_on.empty()) return unknown();
  std::map<Value*, Value> merged;
  for (const Path* path : going_on) {
    for (const auto& [slot, value] : path->changed) merged.try_emplace(slot, value);
  }
  for (auto& [slot, value] : merged) {
    for (const Path* path : going_on) {
      const auto changed = path->changed.find(slot);
      value = join(symbols_, value, changed == path->changed.end() ? *slot : changed->second);
    }
  }
  for (auto& [slot, value] : merged) overwrite(slot, std::move(value));
  Value result = going_on[0]->value;
  for (const Path* path : going_on) result = join(symbols_, result, path->value);
  return result;
}

Value Evaluator::conditional(const ast::IfExpr& e) {
  const Value condition = value_of(*e.condition);
  const auto otherwise = [&] { return e.otherwise ? value_of(*e.otherwise) : Value(); };
  if (condition.is(Tag::boolean)) return condition.boolean() ? block(*e.then) : otherwise();
  std::vector<Path> paths;
  paths.push_back(explore([&] { return block(*e.then); }));
  paths.push_back(explore(otherwise));
  return merge(paths);
}

Value Evaluator::attempt(const ast::TryExpr& e) {
  Value result = unknown();
  if (e.handler) {
    std::vector<Path> paths;
    paths.push_back(explore([&] { return block(*e.body); }));
    paths.push_back(explore([&] {  // after an error anywhere in the body
      for (const auto& [slot, value] : paths[0].changed) overwrite(slot, unknown());
      return block(*e.handler);
    }));
    result = merge(paths);
  } else {
    result = block(*e.body);
  }
  if (!e.last) return result;
  const bool left = std::exchange(leaves_, false);
  block(*e.last);
  leaves_ |= left;
  return result;
}

// ---- Loops ---------------------------------------------------------------------------------------------

void Evaluator::leave_loop(bool is_break) {
  leaves_ = true;
  if (loop_) (is_break ? loop_->out : loop_->next).push_back(path_since(loop_->mark));
}

/// Runs a loop's body until what holds before it no longer changes. `begin` binds what an iteration begins with.
template <class Begin> void Evaluator::repeat(const ast::Block& body, Begin&& begin) {
  constexpr int kRoundsToJoin = 3;  // then nothing is sure of what changes, so that it ends
  Loop loop;
  loop.enclosing = std::exchange(loop_, &loop);
  for (int round = 0;; ++round) {
    loop.next.clear();
    loop.out.clear();
    loop.mark = trail_.size();
    std::vector<Path> ends;
    ends.push_back(explore([&] {
      begin();
      return block(body);
    }));
    std::move(loop.next.begin(), loop.next.end(), std::back_inserter(ends));
    std::erase_if(ends, [](const Path& path) { return path.leaves; });
    bool is_stable = true;
    for (const Path& end : ends) {
      for (const auto& [slot, value] : end.changed) {
        Value joined = join(symbols_, *slot, value);
        if (is_same(joined, *slot)) continue;
        overwrite(slot, round < kRoundsToJoin ? std::move(joined) : unknown());
        is_stable = false;
      }
    }
    if (is_stable) break;
  }
  loop_ = loop.enclosing;
  loop.out.emplace_back();  // the end of the items, or of the condition
  merge(loop.out);
}

void Evaluator::while_loop(const ast::WhileStmt& loop) {
  repeat(*loop.body, [&] { value_of(*loop.condition); });
}

/// Returns the items over which a loop is to run one by one; none if there are many, or they are not known.
std::vector<Value> Evaluator::known_items(const Value& iterable) {
  std::vector<Value> items;
  if (is_items(iterable) && iterable.as<Sequence>().items.size() <= kMostUnrolled)
    items = iterable.as<Sequence>().items;
  if (iterable.is(Tag::range) && iterable.as<Range>().begin.is(Tag::integer) &&
      iterable.as<Range>().end.is(Tag::integer)) {
    const int64_t begin = iterable.as<Range>().begin.integer(), end = iterable.as<Range>().end.integer();
    const bool is_short = begin < end && static_cast<uint64_t>(end) - static_cast<uint64_t>(begin) <= kMostUnrolled;
    for (int64_t i = begin; is_short && i < end; ++i) items.emplace_back(i);
  }
  return items;
}

/// Returns what is sure of all items of an iterable.
Value Evaluator::any_item(const Value& iterable) {
  if (iterable.is(Tag::range)) return some_number(ScalarType::integer);
  if (is_items(iterable)) {
    const std::vector<Value>& items = iterable.as<Sequence>().items;
    if (items.empty()) return unknown();
    Value item = items[0];
    for (const Value& each : items) item = join(symbols_, item, each);
    return item;
  }
  if (!iterable.is(Tag::tensor)) return unknown();
  return if_known([&] {
    tsl::IndexItem first;
    first.value = Value(0);
    return get_index(sketch_, iterable, {&first, 1});
  });
}

void Evaluator::for_loop(const ast::ForStmt& loop) {
  const Value iterable = value_of(*loop.iterable);
  const std::vector<Value> items = known_items(iterable);
  if (!items.empty()) {
    bool has_break = false;
    std::vector<Path> all;
    all.push_back(explore([&] {
      has_break = unroll(loop, items);
      return Value();
    }));
    if (!has_break) {
      merge(all);
      return;
    }
  }
  repeat(*loop.body, [&] { bind(*loop.pattern, any_item(iterable)); });
}

/// Runs a loop item by item. Returns whether a way may break out of it: then what it has found does not hold.
bool Evaluator::unroll(const ast::ForStmt& loop, const std::vector<Value>& items) {
  Loop running;
  running.enclosing = std::exchange(loop_, &running);
  for (const Value& item : items) {
    if (leaves_) break;
    running.next.clear();
    running.mark = trail_.size();
    std::vector<Path> ends;
    ends.push_back(explore([&] {
      bind(*loop.pattern, item);
      return block(*loop.body);
    }));
    std::move(running.next.begin(), running.next.end(), std::back_inserter(ends));
    if (!running.out.empty()) break;
    merge(ends);
  }
  loop_ = running.enclosing;
  return !running.out.empty();
}

}  // namespace tsl::inference
