// The state of a thread while it runs a tile. Internal to tiles_*.cpp.
#pragma once

#include "backend/cpu/tiles.h"

namespace tsl::cpu {

/// Positions [start, start + count) of a walk.
struct TileProgram::Range {
  Walk walk;
  int64_t start = 0;
  int64_t count = 0;
};

struct TileProgram::Worker {
  RunState& state;
  std::byte* memory;  // registers' pointers, then their slots
  Range full, row;
  Range total{{}, 0, 1};
  std::byte* partials = nullptr;

  /// Returns the address of a gather's first index, which are read in place.
  const int64_t* indices(const Step& step) const {
    const int64_t* base = reinterpret_cast<const int64_t*>(state.buffers[step.index_buffer]);
    const Symbol* offset = step.index_access.symbolic_offset;
    return offset ? base + state.symbols[offset->id].integer : base;
  }
  const void** registers() const { return reinterpret_cast<const void**>(memory); }
  const void*& value(uint32_t reg) const { return registers()[reg]; }
  const Range& range(graph::Level level) const {
    return level == graph::Level::full ? full : level == graph::Level::row ? row : total;
  }
  /// Returns the address of element 0 in the step's access; a fixed offset is not included, but one of the run is.
  std::byte* address(const Step& step) const {
    std::byte* base = state.buffers[step.buffer];
    const Symbol* offset = step.access.symbolic_offset;
    return offset ? base + state.symbols[offset->id].integer * step.size : base;
  }
  Scalar scalar(Scalar constant, const Symbol* symbol) const { return symbol ? state.symbols[symbol->id] : constant; }
};

}  // namespace tsl::cpu
