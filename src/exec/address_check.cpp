#include "exec/address_check.h"

#include <stdexcept>

#include <fmt/format.h>

#include "graph/dump.h"
#include "graph/spec.h"

namespace tsl::exec {

using graph::Buffer;
using graph::Kernel;
using graph::Reach;
using graph::reach_of;

bool checks_addresses() {
#ifdef TSL_POISON
  return true;
#else
  return graph::enforces_specification();
#endif
}

void check_library_operand(const Layout& layout, const Reach& formed) {
  const std::optional<Reach> reach = reach_of(layout);
  if (reach && reach->holds(formed, 0)) return;
  throw std::logic_error(
      fmt::format("a library call accesses elements {} to {} of an operand of shape {} that has {} to {}", formed.first,
                  formed.last, to_string(layout.shape), reach ? reach->first : 0, reach ? reach->last : -1));
}

void AddressCheck::check_kernels() const {
  for (const Kernel& kernel : plan_.kernels) {
    if (kernel.kind == graph::Template::op) {
      check_operands(kernel);
      continue;
    }
    for (const graph::Instr& instr : kernel.program) {
      using Kind = graph::Instr::Kind;
      if (instr.kind != Kind::load && instr.kind != Kind::store && instr.kind != Kind::gather) continue;
      const std::optional<Reach> reach = reach_of(kernel, instr);
      if (reach) check(kernel, kernel.buffers[instr.buffer], *reach, instr.map.offset);
    }
  }
}

void AddressCheck::check_operands(const Kernel& kernel) const {
  size_t position = 0;
  for (const graph::Arg& arg : plan_.graph[kernel.op_node].args) {
    if (!arg.is_tensor()) continue;
    const uint32_t buffer = kernel.buffers[position++];
    const std::optional<Reach> reach = reach_of(arg.layout);
    if (reach) check(kernel, buffer, *reach, arg.layout.offset);
  }
}

void AddressCheck::check(const Kernel& kernel, uint32_t buffer, const Reach& reach, const Dim& offset) const {
  const Reach memory = memory_of(buffer);
  const int64_t begin = offset.in_run(symbols_);
  if (memory.holds(reach, begin)) return;
  throw std::logic_error(fmt::format("{} accesses elements {} to {} of buffer b{}, which has {} to {}, in\n{}",
                                     kernel.name, reach.first + begin, reach.last + begin, buffer, memory.first,
                                     memory.last, graph::dump(plan_)));
}

Reach AddressCheck::memory_of(uint32_t id) const {
  const Buffer& buffer = plan_.buffers[id];
  if (buffer.kind != Buffer::Kind::input) return {0, buffer.count.hint() - 1};
  const Tensor& input = inputs_[buffer.index];
  const int64_t offset = input.layout().offset.hint();
  return {-offset, static_cast<int64_t>(input->storage->bytes() / size_of(buffer.dtype)) - offset - 1};
}

}  // namespace tsl::exec
