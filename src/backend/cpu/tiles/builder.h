// The passes that build a TilePlan, in the order in which build_tiles() runs them.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "backend/cpu/tiles/tile_plan.h"

namespace tsl::cpu {

/// What a plan is built from.
struct TileSource {
  const graph::Kernel& kernel;
  const graph::Plan& plan;
  const KernelTable& table;
  uint64_t cached_bytes;
  TileForms forms;

  bool is_plain() const { return forms == TileForms::plain; }
};

// ---- Boxes (builder_boxes.cpp) --------------------------------------------------------------------------------------

/// Divides the loops of a pointwise kernel into boxes within or outside of each part, and returns the kernel of each.
/// Returns none if the kernel has no parts, is too small, or its parts are no boxes.
std::vector<graph::Kernel> divide_into_boxes(const graph::Kernel& kernel);

// ---- Steps (builder_steps.cpp) --------------------------------------------------------------------------------------

/// Turns instructions into steps.
void add_steps(TilePlan& tiles, const TileSource& source);
/// Turns one instruction into a step, but for what its kernel chooses between.
Step make_step(const graph::Instr& instr, const TileSource& source);
/// Lets sums and products read f16 and bf16, which they accumulate in f32, instead of their conversions to f32.
void skip_conversions(TilePlan& tiles, const KernelTable& table);
/// Adds steps that expand row-level registers for full-level steps, unless a chain that runs row by row reads them.
void add_spreads(TilePlan& tiles);
/// Orders steps by phases. A phase ends with reductions, whose results the next phase may use. Steps that run once per
/// row come first. Stores stay last, since they may overwrite an input.
void order_steps(TilePlan& tiles);

/// Returns the strides of a map as numbers.
Access access_of(const graph::IndexMap& map);

// ---- Choices between parts (builder_choices.cpp) --------------------------------------------------------------------

/// How a register of the kernel gets its value: by its instruction's step, or as a choice; none if choices read it.
struct Choices {
  enum class Role : uint8_t { own_step, choice, no_step };
  std::vector<Role> role;         // by register
  std::map<uint32_t, Choose> of;  // by register
};
Choices find_choices(const TileSource& source);

// ---- The tile's shape (builder_shape.cpp) ---------------------------------------------------------------------------

/// Chooses the form, and whether chains run row by row.
void choose_form(TilePlan& tiles, const TileSource& source);
/// Chooses the extents of a tile.
void choose_tile(TilePlan& tiles, bool is_plain);

// ---- Chains (builder_chains.cpp, builder_chain_code.cpp) ------------------------------------------------------------

/// Whether a step can be part of a chain.
bool may_join(const TilePlan& tiles, const Step& step);
/// Groups neighbouring steps that chains can run, and puts a chain where each group was. This is the final order of
/// steps. Returns whether there are any.
bool group_steps(TilePlan& tiles);
/// Runs groups of one step as steps, unless a chain saves repeating an operand for a whole tile, or reading the lines
/// that the step writes.
void dissolve_groups(TilePlan& tiles);
/// Writes the code of chains, whose steps have their outputs.
void build_chains(TilePlan& tiles);
/// Returns the steps in the order in which a tile runs them; those of a chain as if one after the other.
std::vector<Step*> in_order(TilePlan& tiles);
/// Returns the first step that defines each register, or null.
std::vector<const Step*> definitions_of(std::span<const Step> steps, uint32_t registers);

/// Whether the accumulator of a chain can hold elements of the dtype.
inline bool fits_accumulator(DType dtype) { return accumulator_of(dtype) == DType::f32; }

/// Whether a step is an op on the accumulator; other ops are calls.
bool is_arithmetic(const Step& step);
/// Whether a step is a cast that leaves the value in the accumulator.
bool is_conversion(const Step& step);
/// Whether a step reduces the accumulator; other reductions are no part of chains.
bool reduces_accumulator(const Step& step);
/// Whether an instruction combines the accumulator into lanes.
bool combines_lanes(ChainCode code);

/// The values that chains read from outside.
struct ChainInputs {
  const Loops& loops;
  std::vector<const Step*> definition;  // by register
  std::map<uint32_t, Elements> rows;    // by register: loads that are read in place, row by row
};

/// Writes the code that runs the steps. `kept`: the registers whose values are used later.
Chain write_chain(const std::vector<Step>& steps, const ChainInputs& inputs, const std::set<uint32_t>& kept);

// ---- Memory (builder_memory.cpp, builder_slots.cpp) -----------------------------------------------------------------

/// Decides which memory of the plan steps use in place: results are computed in outputs, and loads are read where they
/// are, only if no step writes memory that a later step of the tile reads. The order of steps is final.
void share_memory(TilePlan& tiles, const graph::Plan& plan);
/// Decides which results are stored past the caches: those of kernels that move more than fits there, whose lines would
/// be read only to be overwritten. A result that is read again stays.
void find_streams(TilePlan& tiles, uint64_t cached_bytes);
/// Finds what each phase of long rows runs, and which results are kept for later ones. Loads are repeated instead.
void divide_into_phases(TilePlan& tiles);
/// Allocates slots by linear scan: memory is free again after the last use. Numbers are filled once and kept.
void place_registers(TilePlan& tiles);

/// Whether the elements of a step's result are computed in the memory of a store.
bool is_in_output(const TilePlan& tiles, const Step& step);

}  // namespace tsl::cpu
