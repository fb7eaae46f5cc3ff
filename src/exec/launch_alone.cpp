#include "exec/launch_alone.h"

#include <algorithm>
#include <memory_resource>
#include <set>

#include "graph/kernel_facts.h"
#include "graph/plan_steps.h"
#include "graph/spec.h"

namespace tsl::exec {

using namespace graph;

namespace {

constexpr uint32_t kNone = ~0u;

class Extraction {
 public:
  Extraction(const Plan& whole, uint32_t launch)
      : whole_(whole),
        launch_(whole.launches[launch]),
        node_of_(whole.graph.size(), kNoNode),
        buffer_of_node_(whole.graph.size(), kNone),
        buffer_of_(whole.buffers.size(), kNone) {
    for (uint32_t b = 0; b < whole.buffers.size(); ++b) buffer_of_node_[whole.buffers[b].node] = b;
  }

  LaunchAlone run() {
    plan().options = whole_.options;
    plan().device = whole_.device;
    copy_nodes();
    for (uint32_t i = 0; i < operands_.size(); ++i) add_buffer(operands_[i], Buffer::Kind::input, i);
    add_outputs();
    plan().launches.emplace_back();
    for (uint32_t k : launch_) add_kernel(whole_.kernels[k]);
    std::pmr::monotonic_buffer_resource scratch;
    assign_buffers(plan(), &scratch);
    if (enforces_specification()) {
      verify(plan().graph, "launch alone");
      if (!writes_parts(whole_, launch_)) verify(plan(), "launch alone");
    }
    return std::move(result_);
  }

 private:
  Plan& plan() { return result_.plan; }

  /// Copies the nodes that the launch computes, in their order, and adds an input for each other node that they name.
  void copy_nodes() {
    std::set<NodeId> own;
    for (uint32_t k : launch_) own.insert(whole_.kernels[k].nodes.begin(), whole_.kernels[k].nodes.end());
    for (NodeId id : own) {
      Node node = whole_.graph[id];
      for (Arg& arg : node.args) {
        if (!arg.is_tensor()) continue;
        if (node_of_[arg.node] == kNoNode) add_input(arg.node);
        arg.node = node_of_[arg.node];
      }
      node_of_[id] = plan().graph.add(std::move(node));
    }
  }

  void add_input(NodeId id) {
    const Node& node = whole_.graph[id];
    node_of_[id] =
        plan().graph.add_input(node.dtype, node.is_input ? node.input_layout : Layout::contiguous(node.shape));
    operands_.push_back(buffer_of_node_[id]);
  }

  void add_buffer(uint32_t of, Buffer::Kind kind, uint32_t index) {
    Buffer buffer;
    buffer.kind = kind;
    buffer.index = index;
    buffer.node = node_of_[whole_.buffers[of].node];
    buffer.dtype = whole_.buffers[of].dtype;
    buffer.count = whole_.buffers[of].count;
    buffer_of_[of] = static_cast<uint32_t>(plan().buffers.size());
    plan().buffers.push_back(buffer);
    result_.buffers.push_back(of);
  }

  /// Adds an output for each buffer that the launch writes; several kernels may write parts of one.
  void add_outputs() {
    for (uint32_t k : launch_) {
      for (const uint32_t b : written_by(whole_.kernels[k])) {
        if (buffer_of_[b] != kNone) continue;
        add_buffer(b, Buffer::Kind::output, static_cast<uint32_t>(plan().outputs.size()));
        const Buffer& buffer = plan().buffers.back();
        const Layout layout = Layout::contiguous(plan().graph[buffer.node].shape);
        plan().outputs.push_back({buffer_of_[b], layout, buffer.dtype});
        plan().graph.outputs.push_back({buffer.node, layout});
      }
    }
  }

  void add_kernel(const Kernel& of) {
    Kernel kernel = of;
    const auto renumber = [&](NodeId& id) {
      if (id != kNoNode) id = node_of_[id];
    };
    for (uint32_t& b : kernel.buffers) b = buffer_of_[b];
    for (NodeId& id : kernel.nodes) renumber(id);
    for (Instr& instr : kernel.program) renumber(instr.node);
    renumber(kernel.op_node);
    plan().launches[0].push_back(static_cast<uint32_t>(plan().kernels.size()));
    plan().kernels.push_back(std::move(kernel));
  }

  const Plan& whole_;
  const std::vector<uint32_t>& launch_;
  std::vector<NodeId> node_of_;           // by node of the whole plan
  std::vector<uint32_t> buffer_of_node_;  // of the whole plan
  std::vector<uint32_t> buffer_of_;       // by buffer of the whole plan
  std::vector<uint32_t> operands_;        // buffers of the whole plan that become inputs
  LaunchAlone result_;
};

bool uses_memory_of(const Plan& plan, uint32_t launch, uint32_t buffer) {
  return std::any_of(plan.launches[launch].begin(), plan.launches[launch].end(), [&](uint32_t k) {
    const std::vector<uint32_t>& used = plan.kernels[k].buffers;
    return std::any_of(used.begin(), used.end(), [&](uint32_t b) {
      return may_share_memory(plan, b, buffer) || may_share_memory(plan, buffer, b);
    });
  });
}

}  // namespace

bool writes_parts(const Plan& plan, const std::vector<uint32_t>& launch) {
  return std::any_of(launch.begin(), launch.end(), [&](uint32_t k) {
    const WritesInto writes_into = plan.graph[plan.kernels[k].nodes[0]].def().traits.writes_into;
    return writes_into == WritesInto::copy_of_first || writes_into == WritesInto::copies_of_operands;
  });
}

LaunchAlone launch_alone(const Plan& plan, uint32_t launch) { return Extraction(plan, launch).run(); }

CacheDistances::CacheDistances(const Plan& plan) : plan_(plan) {
  for (const std::vector<uint32_t>& launch : plan.launches) bytes_.push_back(facts_of(plan, launch).bytes);
}

uint64_t CacheDistances::bytes_since_use(uint32_t launch, uint32_t buffer, uint64_t enough) const {
  const auto launches = static_cast<uint32_t>(plan_.launches.size());
  uint64_t bytes = 0;
  for (uint32_t back = 1; back < launches && bytes <= enough; ++back) {
    const uint32_t other = (launch + launches - back) % launches;
    if (uses_memory_of(plan_, other, buffer)) return bytes;
    bytes += bytes_[other];
  }
  return bytes;
}

}  // namespace tsl::exec
