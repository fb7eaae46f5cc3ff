// Describes the launches of a plan to people, and to tools that measure them: what kind of work, how much, and for
// which lines of the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/cost.h"
#include "graph/plan.h"

namespace tsl::graph {

/// Returns the category of composed work; `otherwise` if there is none.
Category category_of(ComposedWork work, Category otherwise);

struct KernelFacts {
  /// An op of the program that the launch computes, or a part of one.
  struct SourceOp {
    std::string name;
    Origin origin;    // without a position for eager ops
    double part = 1;  // of the launch's time, as its cost is estimated; those of a launch sum to 1
  };
  std::string name;  // "mul_add_sum"
  Category category = Category::pointwise;
  Category own_category = Category::pointwise;  // of the kernel, whatever its ops are part of
  uint32_t kernels = 1;                         // more than one: a multi-tensor launch
  bool is_constant = false;                     // computes the same in every run
  std::string types;                            // "f32[4096, 1024], f32[1024] -> f32[4096]"
  uint64_t bytes = 0;                           // read and written at least: each element of each tensor once
  uint64_t flops = 0;                           // a function counts as one
  Work work = {};                               // what its time is predicted from
  bool is_predictable = true;                   // false: the model knows nothing of such ops
  std::vector<SourceOp> ops;
};

/// Describes a launch: kernels of `plan`.
KernelFacts facts_of(const Plan& plan, std::span<const uint32_t> kernels);

/// Returns a name for the kernels of a launch that is unique for what they compute: "k_mul_add__3fa2". Sizes do not
/// count.
std::string unique_name(const Plan& plan, std::span<const uint32_t> kernels);

}  // namespace tsl::graph
