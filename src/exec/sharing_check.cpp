#include "exec/sharing_check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error_names.h"
#include "graph/dump.h"
#include "graph/kernel_facts.h"
#include "graph/reach.h"
#include "tensor/elements.h"

namespace tsl::exec {

using graph::Buffer;
using graph::Kernel;
using graph::Plan;

bool checks_sharing() {
  static const bool is_set = [] {
    const char* value = std::getenv("TSL_CHECK_SHARING");
    return value && std::string_view(value) == "1";
  }();
  return is_set;
}

Plan isolated(Plan plan) {
  plan.donors.clear();
  plan.arena_bytes = 0;
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    Buffer& buffer = plan.buffers[b];
    buffer.alias_of = b;
    if (buffer.kind != Buffer::Kind::temporary) continue;
    buffer.offset = plan.arena_bytes;
    plan.arena_bytes += bytes_of(buffer);
  }
  return plan;
}

namespace {

using Bytes = std::vector<std::byte>;

/// Calls visit(offset) for each element of a layout, in the order of its indices.
template <class Visit> void for_each_offset(const Layout& layout, int axis, int64_t offset, Visit& visit) {
  if (axis == layout.rank()) return visit(offset);
  const int64_t stride = layout.strides[axis].hint();
  for (int64_t i = 0; i < layout.shape[axis].hint(); ++i) for_each_offset(layout, axis + 1, offset + i * stride, visit);
}

/// Memory of the check alone, which counts in no limit.
class HostBlocks : public Allocator {
 public:
  Ref<Storage> allocate(uint64_t bytes) override {
    return Ref<Storage>(new Storage(this, ::operator new(bytes, kAlignment), bytes, Device()));
  }
  void free(Storage* storage) override {
    ::operator delete(storage->data(), kAlignment);
    delete storage;
  }
  void release_cache() override {}
  Stats stats() const override { return {}; }

 private:
  static constexpr std::align_val_t kAlignment{graph::kAlignment};
};

/// Reads and copies memory of a device.
class DeviceMemory {
 public:
  explicit DeviceMemory(Backend& backend) : backend_(backend) {}

  Bytes read(const void* at, uint64_t bytes, Device device) const {
    Bytes out(bytes);
    if (bytes == 0) return out;
    const Tensor memory = wrap(const_cast<void*>(at), bytes, device);
    std::memcpy(out.data(), (device.is_host() ? memory : backend_.to_host(memory)).data(), bytes);
    return out;
  }
  /// Returns all elements of a tensor in their order, without gaps.
  Bytes elements(const Tensor& tensor) const {
    const Bytes all = read(tensor->storage->data(), reached_bytes(tensor), tensor.device());
    const size_t size = size_of(tensor.dtype());
    Bytes out;
    auto append = [&](int64_t offset) {
      const std::byte* element = all.data() + offset * static_cast<int64_t>(size);
      out.insert(out.end(), element, element + size);
    };
    for_each_offset(tensor.layout(), 0, tensor.layout().offset.hint(), append);
    return out;
  }
  /// Copies a tensor with its layout into memory that nothing else uses. One without elements is shared.
  Tensor copy(const Tensor& tensor) const {
    const uint64_t bytes = reached_bytes(tensor);
    if (bytes == 0) return tensor;
    Ref<Storage> host = host_copy(tensor, bytes);
    if (tensor.device().is_host()) return Tensor(tensor.dtype(), tensor.layout(), std::move(host));
    const Tensor moved = backend_.to_device(Tensor(DType::u8, flat(bytes), std::move(host)));
    return Tensor(tensor.dtype(), tensor.layout(), moved->storage);
  }

 private:
  /// Returns the bytes of the tensor's memory up to its last element; a block may be larger than what was asked for.
  static uint64_t reached_bytes(const Tensor& tensor) {
    const std::optional<graph::Reach> reach = graph::reach_of(tensor.layout());
    if (!reach) return 0;
    return static_cast<uint64_t>(tensor.layout().offset.hint() + reach->last + 1) * size_of(tensor.dtype());
  }
  static Layout flat(uint64_t bytes) { return Layout::contiguous({static_cast<int64_t>(bytes)}); }
  static Tensor wrap(void* at, uint64_t bytes, Device device) {
    return Tensor(DType::u8, flat(bytes), Ref<Storage>(new Storage(nullptr, at, bytes, device)));
  }
  Ref<Storage> host_copy(const Tensor& tensor, uint64_t bytes) const {
    Ref<Storage> out = host_.allocate(bytes);
    const Bytes read_bytes = read(tensor->storage->data(), bytes, tensor.device());
    std::memcpy(out->data(), read_bytes.data(), bytes);
    return out;
  }

  Backend& backend_;
  mutable HostBlocks host_;
};

/// Returns the first element of which two arrays have different bits, or -1. All NaNs are equal: which one an op
/// returns depends on the order of its operands.
int64_t first_difference(const Bytes& a, const Bytes& b, DType dtype) {
  const size_t size = size_of(dtype);
  for (size_t at = 0; at + size <= a.size(); at += size) {
    if (std::memcmp(&a[at], &b[at], size) == 0) continue;
    if (std::isnan(real_element(dtype, &a[at])) && std::isnan(real_element(dtype, &b[at]))) continue;
    return static_cast<int64_t>(at / size);
  }
  return -1;
}

/// The contents of buffers, as the isolated plan has them after its last launch that wrote them.
using History = std::vector<Bytes>;

/// Returns the last launch that writes a buffer; some launches write parts of one.
std::vector<int64_t> last_writers(const Plan& plan) {
  std::vector<int64_t> out(plan.buffers.size(), -1);
  for (size_t launch = 0; launch < plan.launches.size(); ++launch) {
    for (uint32_t k : plan.launches[launch]) {
      for (const uint32_t b : graph::written_by(plan.kernels[k])) out[b] = static_cast<int64_t>(launch);
    }
  }
  return out;
}

/// Returns the first launch that may fail depending on elements, or the number of launches.
size_t first_fallible(const Plan& plan) {
  const auto first = std::find_if(plan.launches.begin(), plan.launches.end(),
                                  [&](const auto& kernels) { return graph::may_fail(plan, kernels); });
  return static_cast<size_t>(first - plan.launches.begin());
}

/// Visits the buffers of a run before and after each launch.
class BufferReader : public LaunchObserver {
 public:
  BufferReader(const Plan& plan, const DeviceMemory& memory, Device device, History& history)
      : plan_(plan), memory_(memory), device_(device), history_(history), last_writer_(last_writers(plan)) {}

 protected:
  template <class Visit> void for_each_read(uint32_t launch, Visit&& visit) const {
    for (uint32_t k : plan_.launches[launch]) {
      const Kernel& kernel = plan_.kernels[k];
      for (size_t i = 0; i < kernel.buffers.size() - kernel.written; ++i) visit(kernel.buffers[i]);
    }
  }
  /// Visits the buffers that are complete after a launch.
  template <class Visit> void for_each_written(uint32_t launch, Visit&& visit) const {
    for (uint32_t k : plan_.launches[launch]) {
      for (const uint32_t b : graph::written_by(plan_.kernels[k])) {
        if (last_writer_[b] == static_cast<int64_t>(launch)) visit(b);
      }
    }
  }
  Bytes contents(uint32_t b, std::byte* const* addresses) const {
    const Buffer& buffer = plan_.buffers[b];
    return memory_.read(addresses[b], static_cast<uint64_t>(buffer.count.hint()) * size_of(buffer.dtype), device_);
  }

  const Plan& plan_;
  const DeviceMemory& memory_;
  Device device_;
  History& history_;
  std::vector<int64_t> last_writer_;
};

/// Fills memory before the isolated plan writes it first, and stores what it computes.
class IsolatedRun : public BufferReader {
 public:
  using BufferReader::BufferReader;
  void before(uint32_t launch, std::byte* const* addresses) override {
    constexpr int kPoison = 0xFB;  // the floats are large numbers below zero
    if (!device_.is_host()) return;
    for (uint32_t k : plan_.launches[launch]) {
      for (const uint32_t b : graph::written_by(plan_.kernels[k])) {
        const Buffer& buffer = plan_.buffers[b];
        if (buffer.first == launch && buffer.count.hint() > 0)
          std::memset(addresses[b], kPoison, static_cast<size_t>(buffer.count.hint()) * size_of(buffer.dtype));
      }
    }
  }
  void after(uint32_t launch, std::byte* const* addresses) override {
    for_each_written(launch, [&](uint32_t b) { history_[b] = contents(b, addresses); });
  }
};

/// Compares the memory of a run with the history, of a run that fails until a launch may have done so: a device goes
/// on, and leaves out launches that overwrite donated inputs.
class ComparedRun : public BufferReader {
 public:
  ComparedRun(const Plan& plan, const DeviceMemory& memory, Device device, History& history, Inputs inputs, bool fails)
      : BufferReader(plan, memory, device, history),
        inputs_(inputs),
        end_(fails ? first_fallible(plan) : plan.launches.size()) {}
  void before(uint32_t launch, std::byte* const* addresses) override {
    if (launch >= end_) return;
    for_each_read(launch, [&](uint32_t b) {
      const Buffer& buffer = plan_.buffers[b];
      const Bytes own =
          buffer.kind == Buffer::Kind::input ? memory_.elements(inputs_[buffer.index]) : contents(b, addresses);
      compare(b, own, fmt::format("before launch {} ({}), which reads it", launch, name_of(launch)));
    });
  }
  void after(uint32_t launch, std::byte* const* addresses) override {
    if (launch >= end_) return;
    for_each_written(launch, [&](uint32_t b) {
      compare(b, contents(b, addresses), fmt::format("after launch {} ({})", launch, name_of(launch)));
    });
  }

 private:
  std::string name_of(uint32_t launch) const { return graph::unique_name(plan_, plan_.launches[launch]); }
  void compare(uint32_t b, const Bytes& own, const std::string& when) const {
    const Buffer& buffer = plan_.buffers[b];
    const int64_t at = first_difference(own, history_[b], buffer.dtype);
    if (at < 0 || own.size() != history_[b].size()) return;
    const size_t offset = static_cast<size_t>(at) * size_of(buffer.dtype);
    const auto number = [&](const Bytes& of) { return real_element(buffer.dtype, &of[offset]); };
    fail(fmt::format("element {} of b{} is {} {}, and {} in memory of its own", at, b, number(own), when,
                     number(history_[b])),
         buffer.node);
  }

 public:
  [[noreturn]] void fail(const std::string& what, graph::NodeId node) const {
    Error error{
        ErrorName::wrong_sharing, fmt::format("{} in {}: {}", kWrongSharing, plan_.options.name, what), {}, {}, {}};
    if (node != graph::kNoNode) error.span = plan_.graph[node].span;
    error.is_final = true;
    error.notes.push_back(graph::dump(plan_));
    throw Failure(std::move(error));
  }

 private:
  Inputs inputs_;
  size_t end_;  // the first launch that is not compared
};

class SharingCheck : public Executable {
 public:
  SharingCheck(Backend& backend, std::unique_ptr<Executable> checked)
      : memory_(backend),
        backend_(backend),
        checked_(std::move(checked)),
        isolated_(backend.prepare_plain(isolated(checked_->plan()))),
        history_(checked_->plan().buffers.size()) {}

  const Plan& plan() const override { return checked_->plan(); }
  std::vector<LoadedKernel> kernels() const override { return checked_->kernels(); }
  std::vector<KernelCandidate> candidates(uint32_t launch) const override { return checked_->candidates(launch); }
  bool has_graphs() const override { return checked_->has_graphs(); }
  std::vector<KernelSource> sources() const override { return checked_->sources(); }

  RunError run(Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
               std::span<Tensor> outputs) override {
    std::vector<Tensor> copies, expected(outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) copies.push_back(memory_.copy(inputs[i]));
    for (const Buffer& buffer : plan().buffers) {
      if (buffer.kind == Buffer::Kind::input)
        history_[static_cast<size_t>(&buffer - plan().buffers.data())] = memory_.elements(copies[buffer.index]);
    }
    const Device device = backend_.allocator().device();
    IsolatedRun alone(isolated_->plan(), memory_, device, history_);
    isolated_->observe(&alone);
    const RunError expected_error = isolated_->run(Inputs(copies), {}, symbols, expected);
    ComparedRun compared(plan(), memory_, device, history_, inputs, static_cast<bool>(expected_error));
    checked_->observe(&compared);
    const RunError error = checked_->run(inputs, donated, symbols, outputs);
    if (error.order != expected_error.order || error.value != expected_error.value)
      compared.fail("the run fails otherwise than in memory of its own", error ? error.node : expected_error.node);
    if (!error) compare_outputs(compared, outputs, expected);
    if (donated.empty()) compare_inputs(compared, inputs, copies);
    return error;
  }

 private:
  void compare_outputs(const ComparedRun& run, std::span<Tensor> outputs, const std::vector<Tensor>& expected) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int64_t at =
          first_difference(memory_.elements(outputs[i]), memory_.elements(expected[i]), outputs[i].dtype());
      if (at >= 0) run.fail(fmt::format("element {} of output {} differs", at, i), plan().graph.outputs[i].node);
    }
  }
  void compare_inputs(const ComparedRun& run, Inputs inputs, const std::vector<Tensor>& copies) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t at = first_difference(memory_.elements(inputs[i]), memory_.elements(copies[i]), inputs[i].dtype());
      if (at >= 0) run.fail(fmt::format("element {} of input {} was overwritten", at, i), graph::kNoNode);
    }
  }

  DeviceMemory memory_;
  Backend& backend_;
  std::unique_ptr<Executable> checked_, isolated_;
  History history_;
};

}  // namespace

std::unique_ptr<Executable> check_sharing(Backend& backend, std::unique_ptr<Executable> checked) {
  return std::make_unique<SharingCheck>(backend, std::move(checked));
}

}  // namespace tsl::exec
