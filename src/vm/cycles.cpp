#include "vm/cycles.h"

#include <unordered_map>

#include "value/value_walk.h"

namespace tsl {

namespace {

/// The objects that closures can reach, each with the number of references that these objects hold to it.
class ReachableFromClosures {
 public:
  explicit ReachableFromClosures(Function& ring) {
    for (Function* f = ring.next; f != &ring; f = f->next) add({Tag::function, f});
    for (size_t i = 0; i < nodes_.size(); ++i) {
      each_part(nodes_[i], [this](Node part) { ++add(part); });
    }
    mark_live();
  }

  bool is_live(Function* f) const { return index_.at(f).live; }

 private:
  struct Node {
    Tag tag;
    Object* object;
  };
  struct State {
    uint32_t inner_references = 0;
    bool live = false;
  };

  uint32_t& add(Node node) {
    const auto [entry, is_new] = index_.try_emplace(node.object);
    if (is_new) nodes_.push_back(node);
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

  template <class Visit> static void each_part(Node node, Visit visit) {
    if (node.tag == Tag::function) {
      for (const Ref<Cell>& cell : static_cast<Function*>(node.object)->captures) visit(Node{Tag::cell, cell.get()});
    } else if (node.tag == Tag::cell) {
      each_value(static_cast<Cell*>(node.object)->value, visit);
    } else {
      for (const Value& item : *elements_of::values_in(node.tag, node.object)) each_value(item, visit);
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

  std::vector<Node> nodes_;
  std::unordered_map<Object*, State> index_;
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

size_t CycleCollector::collect() {
  std::vector<Ref<Function>> garbage;
  size_t live = 0;
  {
    ReachableFromClosures reachable(ring_);
    for (Function* f = ring_.next; f != &ring_; f = f->next) {
      if (reachable.is_live(f)) ++live;
      else garbage.emplace_back(f);
    }
  }
  dissolve(garbage);
  count_ = live;
  next_collection_ = std::max(kFirstCollection, 2 * live);
  return garbage.size();
}

}  // namespace tsl
