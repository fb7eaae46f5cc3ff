#include "vm/cycles.h"

#include <functional>
#include <optional>
#include <unordered_map>

#include "value/value_walk.h"
#include "vm/region_hooks.h"

namespace tsl {

namespace {

/// An object that closures or code can reach.
struct Node {
  std::optional<Tag> tag;  // none: code
  Object* object;
};

/// The objects that closures and code can reach, each with the number of references that these objects hold to it.
class Reachable {
 public:
  /// Starts at the closures of a ring.
  explicit Reachable(Function& ring) {
    for (Function* f = ring.next; f != &ring; f = f->next) add({Tag::function, f});
  }
  /// Starts at code, too, each of which has one more reference. Must be called at most once, before find_live().
  void add(const std::vector<Ref<Code>>& all, const RegionHooks& regions) {
    regions_ = &regions;
    for (const Ref<Code>& code : all) ++add({std::nullopt, code.get()});
  }
  /// Finds which of the objects are referred to from elsewhere. Returns false if that takes more than `most` work.
  bool find_live(uint64_t most) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      each_part(nodes_[i], [this](Node part) { ++add(part); });
      if (work_ > most) return false;
    }
    mark_live();
    return true;
  }

  bool is_live(const Object* object) const { return index_.at(object).live; }
  uint64_t work() const { return work_; }

 private:
  struct State {
    uint32_t inner_references = 0;
    bool live = false;
  };

  uint32_t& add(Node node) {
    constexpr uint64_t kNodeWork = 32;
    const auto [entry, is_new] = index_.try_emplace(node.object);
    if (is_new) {
      nodes_.push_back(node);
      work_ += kNodeWork;
    }
    return entry->second.inner_references;
  }

  template <class Visit> static void each_value(const Value& v, Visit visit) {
    switch (v.tag()) {
      case Tag::list:
      case Tag::tuple:
      case Tag::record:
      case Tag::map:
      case Tag::builtin:
      case Tag::function:
      case Tag::cell: visit(Node{v.tag(), &v.as<Object>()}); break;
      case Tag::nil:
      case Tag::boolean:
      case Tag::integer:
      case Tag::real:
      case Tag::dtype:
      case Tag::absent:
      case Tag::symbol:
      case Tag::string:
      case Tag::range:
      case Tag::module:
      case Tag::foreign:
      case Tag::tensor:
      case Tag::lazy_string: break;  // no closures; modules live as long as the engine
    }
  }

  template <class Visit> void each_part(const Code& code, Visit visit) const {
    const std::function<void(const Value&)> visit_value = [&](const Value& value) { each_value(value, visit); };
    each_proto(std::as_const(*code.main), [&](const Proto& proto) {
      for (const Ref<Cell>& cell : proto.globals) visit(Node{Tag::cell, cell.get()});
      regions_->each_reference(proto, visit_value);
    });
  }

  template <class Visit> void each_part(Node node, Visit visit) {
    if (!node.tag) {
      each_part(*static_cast<Code*>(node.object), visit);
    } else if (node.tag == Tag::function) {
      const Function& function = *static_cast<Function*>(node.object);
      for (const Ref<Cell>& cell : function.captures) visit(Node{Tag::cell, cell.get()});
      const auto* const owner = regions_ ? dynamic_cast<const ScriptFunction*>(&function) : nullptr;
      if (owner) visit(Node{std::nullopt, owner->code.get()});
    } else if (node.tag == Tag::cell) {
      each_value(static_cast<Cell*>(node.object)->value, visit);
    } else {
      const std::vector<Value>& values = *elements_of::values_in(*node.tag, node.object);
      work_ += values.size();
      for (const Value& item : values) each_value(item, visit);
    }
  }

  /// Marks objects with references from elsewhere as live, and everything that they reach.
  void mark_live() {
    std::vector<Node> work;
    const auto mark = [&](Node node) {
      State& state = index_.at(node.object);
      if (!std::exchange(state.live, true)) work.push_back(node);
    };
    for (const Node& node : nodes_) {
      if (node.object->use_count() > index_.at(node.object).inner_references) mark(node);
    }
    while (!work.empty()) {
      const Node node = work.back();
      work.pop_back();
      each_part(node, mark);
    }
  }

  const RegionHooks* regions_ = nullptr;  // null: code is not looked at
  std::vector<Node> nodes_;
  std::unordered_map<const Object*, State> index_;
  uint64_t work_ = 0;  // about, in nanoseconds
};

/// Frees the closures by clearing their captures, which breaks their cycles.
void dissolve(const std::vector<Ref<Function>>& closures) {
  std::vector<Ref<Cell>> cells;
  for (const Ref<Function>& f : closures) {
    cells.insert(cells.end(), std::make_move_iterator(f->captures.begin()), std::make_move_iterator(f->captures.end()));
    f->captures.clear();
  }
}

}  // namespace

void take_globals(Code& code, std::vector<Ref<Cell>>& to) {
  each_proto(*code.main, [&](Proto& proto) {
    to.insert(to.end(), std::make_move_iterator(proto.globals.begin()), std::make_move_iterator(proto.globals.end()));
    proto.globals.clear();
  });
}

CycleCollector::~CycleCollector() {
  std::vector<Ref<Function>> closures;
  for (Function* f = ring_.next; f != &ring_; f = f->next) closures.emplace_back(f);
  dissolve(closures);
  for (const Ref<Function>& f : closures) {  // unlinks closures that are still referenced
    if (f->next) {
      f->previous->next = f->next;
      f->next->previous = f->previous;
    }
    f->previous = f->next = nullptr;
  }
  closures.clear();
  ring_.previous = ring_.next = nullptr;
}

void CycleCollector::track(Function& closure) {
  closure.previous = ring_.previous;
  closure.next = &ring_;
  ring_.previous->next = &closure;
  ring_.previous = &closure;
  ++count_;
}

/// Frees the closures that are not live, and counts the others.
size_t CycleCollector::free_closures(const std::function<bool(const Function*)>& is_live) {
  std::vector<Ref<Function>> garbage;
  size_t live = 0;
  for (Function* f = ring_.next; f != &ring_; f = f->next) {
    if (is_live(f)) ++live;
    else garbage.emplace_back(f);
  }
  dissolve(garbage);
  count_ = live;
  next_collection_ = std::max(kFirstCollection, 2 * live);
  return garbage.size();
}

size_t CycleCollector::collect() {
  Reachable reachable(ring_);
  reachable.find_live(~uint64_t{0});
  return free_closures([&](const Function* f) { return reachable.is_live(f); });
}

std::vector<Ref<Code>> CycleCollector::collect(std::vector<Ref<Code>>& all, RegionHooks& regions, uint64_t most,
                                               uint64_t& work) {
  Reachable reachable(ring_);
  reachable.add(all, regions);
  const bool is_complete = reachable.find_live(most);
  work += reachable.work();
  if (!is_complete) return {};
  const auto first = std::stable_partition(all.begin(), all.end(),
                                           [&](const Ref<Code>& code) { return reachable.is_live(code.get()); });
  std::vector<Ref<Code>> unused(std::make_move_iterator(first), std::make_move_iterator(all.end()));
  all.erase(first, all.end());
  std::vector<Ref<Cell>> cells;
  for (const Ref<Code>& code : unused) {
    take_globals(*code, cells);
    each_proto(std::as_const(*code->main), [&](const Proto& proto) { regions.forget_regions(proto); });
  }
  free_closures([&](const Function* f) { return reachable.is_live(f); });
  return unused;
}

}  // namespace tsl
