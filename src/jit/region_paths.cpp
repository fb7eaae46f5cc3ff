// Which trace paths of a region are evicted, and which regions are forgotten.
#include <algorithm>
#include <utility>

#include "jit/region.h"

namespace tsl::jit {

namespace {

/// Counts the paths from a segment to ends: of the region, or at an error.
size_t count_paths(const Segment& segment) {
  if (segment.next.empty()) return 1;
  size_t paths = 0;
  for (const auto& next : segment.next) paths += count_paths(*next);
  return paths;
}

/// Counts the references to a variable in a tree of segments.
size_t count_references(const Segment& segment, const Cell& cell) {
  const auto is_it = [&cell](const InputGuard& guard) {
    return guard.constant.is(Tag::cell) && &guard.constant.as<Cell>() == &cell;
  };
  size_t count = 0;
  for (const auto& next : segment.next) {
    const SegmentInterface& interface = interface_of(*next);
    for (const InputSource& source : interface.sources) {
      if (source.cell.get() == &cell) ++count;
      count += std::count_if(source.guards.begin(), source.guards.end(), is_it);
    }
    count += std::count_if(interface.cells.begin(), interface.cells.end(),
                           [&](const auto& assigned) { return assigned.first.get() == &cell; });
    count += count_references(*next, cell);
  }
  return count;
}

/// Whether a path is guarded on a closure, or on a variable of a finished call, that only this cache references.
bool is_dead_path(const Segment& segment, const Segment& tree) {
  const auto is_dead = [&tree](const InputGuard& guard) {
    if (!guard.constant.is(Tag::cell)) return is_only_reference(guard.constant);
    const Cell& cell = guard.constant.as<Cell>();
    return cell.use_count() == count_references(tree, cell);
  };
  const std::vector<InputSource>& sources = interface_of(segment).sources;
  return std::any_of(sources.begin(), sources.end(), [&](const InputSource& source) {
    return std::any_of(source.guards.begin(), source.guards.end(), is_dead);
  });
}

void evict_dead(Segment& segment, const Segment& tree) {
  for (size_t i = 0; i < segment.next.size();) {  // the tree stays whole meanwhile, since is_dead_path walks it
    if (is_dead_path(*segment.next[i], tree)) {
      segment.next.erase(segment.next.begin() + static_cast<ptrdiff_t>(i));
    } else {
      evict_dead(*segment.next[i++], tree);
    }
  }
}

bool contains(const std::vector<Segment*>& path, const Segment& segment) {
  return std::find(path.begin(), path.end(), &segment) != path.end();
}

/// Finds the end of the trace path that was used least recently and is not in `kept`; null if there is none.
const Segment* least_used(const Segment& segment, const std::vector<Segment*>& kept) {
  const Segment* found = nullptr;
  for (const auto& next : segment.next) {
    const Segment* end = next->next.empty() ? next.get() : least_used(*next, kept);
    if (end && !contains(kept, *end) && (!found || end->last_use < found->last_use)) found = end;
  }
  return found;
}

/// Evicts `end` and the segments that lead only to it, apart from `kept`. Returns whether `end` is below `segment`.
bool evict(Segment& segment, const Segment& end, const std::vector<Segment*>& kept) {
  for (size_t i = 0; i < segment.next.size(); ++i) {
    Segment& next = *segment.next[i];
    if (&next != &end && !evict(next, end, kept)) continue;
    if (next.next.empty() && !contains(kept, next))
      segment.next.erase(segment.next.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }
  return false;
}

}  // namespace

void Region::evict_dead_paths() { evict_dead(root, root); }

void Region::make_room(const std::vector<Segment*>& path) {
  while (!root.next.empty() && count_paths(root) >= kMaxTracePaths) {
    const Segment* end = least_used(root, path);
    if (!end) return;
    evict(root, *end, path);
  }
}

void Region::evict_end(const std::vector<Segment*>& path) {
  if (!path.empty()) evict(root, *path.back(), {});
}

void Region::evict_all_paths() {
  root.next.clear();
  shape_histories.clear();
  add_annotated_shapes();
}

void RegionCache::recompile(const Proto* function) {
  const auto forget = [this](const void* declaration) {
    const auto found = groups_.find(declaration);
    if (found != groups_.end()) found->second.is_stale = true;
  };
  if (!function) {
    for (auto& [declaration, group] : groups_) group.is_stale = true;
    return;
  }
  forget(function);
  for (const Loop& loop : function->loops) forget(&loop);
}

void RegionCache::record_sums() {
  if (!std::exchange(records_sums_, true)) recompile(nullptr);
}

namespace {

using Visit = std::function<void(const Value&)>;

void visit_cell(const Ref<Cell>& cell, const Visit& visit) {
  if (cell) visit(Value(cell));
}

/// Calls visit(value) for what the segments after one refer to.
void each_reference_after(const Segment& segment, const Visit& visit) {
  for (const auto& next : segment.next) {
    const SegmentInterface& interface = interface_of(*next);
    for (const InputSource& source : interface.sources) {
      visit_cell(source.cell, visit);
      for (const InputGuard& guard : source.guards) visit(guard.constant);
    }
    for (const OutputTemplate& printed : interface.printed) visit(printed.captured());
    if (interface.effect) {
      for (const OutputTemplate& argument : interface.effect->args) visit(argument.captured());
    }
    visit(interface.result.captured());
    for (const auto& [cell, assigned] : interface.cells) {
      visit_cell(cell, visit);
      visit(assigned.captured());
    }
    for (const auto& [reg, written] : interface.registers) visit(written.captured());
    each_reference_after(*next, visit);
  }
}

}  // namespace

void RegionCache::each_reference(const Proto& function, const Visit& visit) const {
  const auto visit_regions = [&](const void* declaration) {
    const auto found = groups_.find(declaration);
    if (found == groups_.end()) return;
    for (const auto& region : found->second.regions) {
      for (const Ref<Cell>& cell : region->captures) visit_cell(cell, visit);
      each_reference_after(region->root, visit);
    }
  };
  visit_regions(&function);
  for (const Loop& loop : function.loops) visit_regions(&loop);
}

void RegionCache::forget(const Proto& function) {
  groups_.erase(&function);
  for (const Loop& loop : function.loops) groups_.erase(&loop);
}

bool Region::is_dead() const {
  return std::any_of(captures.begin(), captures.end(), [this](const Ref<Cell>& cell) {
    return cell->use_count() == std::count(captures.begin(), captures.end(), cell) + count_references(root, *cell);
  });
}

}  // namespace tsl::jit
