#include "backend/cuda/ranks/sum_kernel.h"

#include <fmt/format.h>

namespace tsl::cuda {

namespace {

class SumKernel final : public exec::OpKernel {
 public:
  SumKernel(world::RankLink& link, DType dtype, uint64_t count) : link_(link), dtype_(dtype), count_(count) {}

  std::string name() const override { return fmt::format("sum over ranks ({})", link_.name()); }
  void run(const exec::OpCall& call) override { link_.sum(name_of(dtype_), call.operands[0], call.results[0], count_); }
  bool is_recordable() const override { return true; }

 private:
  world::RankLink& link_;
  const DType dtype_;
  const uint64_t count_;
};

}  // namespace

std::vector<exec::KernelRow> sum_rows(world::RankLink& link) {
  return {{.name = "link",
           .ops = {Op::sum_ranks},
           .refusal =
               [&link](const graph::Node& node) {
                 return link.can_record_sum(name_of(node.dtype)) ? "" : "the link sums by exchanges";
               },
           .make =
               [&link](const graph::Node& node) {
                 return std::make_unique<SumKernel>(link, node.dtype, element_count(node.shape).hint());
               }}};
}

}  // namespace tsl::cuda
