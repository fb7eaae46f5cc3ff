#include "backend/cuda/libraries/own_kernel.h"

#include "backend/cuda/driver/loaded_kernels.h"
#include "backend/cuda/libraries/libraries.h"
#include "base/integers.h"

namespace tsl::cuda {

namespace {
constexpr int kThreads = 256;
}  // namespace

OwnLaunches::OwnLaunches(Gpu& gpu, std::vector<OwnLaunch> launches) : gpu_(gpu), launches_(std::move(launches)) {
  for (const OwnLaunch& each : launches_) gpu_.kernels.announce(each.kernel);
}

void OwnLaunches::load() {
  if (!functions_.empty()) return;
  std::vector<CudaKernel*> kernels;
  for (OwnLaunch& each : launches_) kernels.push_back(&each.kernel);
  functions_ = gpu_.kernels.get_many(kernels);
  for (size_t i = 0; i < launches_.size(); ++i) reserve_shared(i);
}

void OwnLaunches::reserve_shared(size_t i) const {
  if (launches_[i].most_shared == 0) return;
  gpu_.device.check(
      gpu_.device.driver().cuFuncSetAttribute(functions_[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                              static_cast<int>(launches_[i].most_shared)),
      "reserving shared memory");
}

void OwnLaunches::enqueue(void* arguments) {
  load();
  const Device& device = gpu_.device;
  for (size_t i = 0; i < launches_.size(); ++i) {
    const OwnLaunch& each = launches_[i];
    const auto [x, y, z] = each.grid;
    if (x == 0) continue;
    device.check(
        device.driver().cuLaunchKernel(functions_[i], x, y, z, static_cast<unsigned>(each.kernel.threads_x), 1, 1,
                                       static_cast<unsigned>(each.shared_bytes), device.stream(), &arguments, nullptr),
        "launching a kernel of an op");
  }
  has_run_ = true;
}

std::vector<exec::LoadedKernel> OwnLaunches::kernels() {
  load();
  std::vector<exec::LoadedKernel> out;
  for (size_t i = 0; i < launches_.size(); ++i) {
    const OwnLaunch& each = launches_[i];
    const int64_t blocks = int64_t{each.grid[0]} * each.grid[1] * each.grid[2];
    out.push_back(describe(gpu_, functions_[i], blocks, each.kernel.threads_x, each.shared_bytes));
  }
  return out;
}

std::vector<exec::KernelSource> OwnLaunches::sources() const {
  std::vector<exec::KernelSource> out;
  for (const OwnLaunch& each : launches_) out.push_back(source_of(each.kernel, 0, gpu_.options));
  return out;
}

bool OwnLaunches::replace(const exec::KernelSource& edited) {
  load();
  bool is_found = false;
  for (size_t i = 0; i < functions_.size(); ++i) {
    if (gpu_.kernels.name_of(functions_[i]) != edited.name) continue;
    functions_[i] = gpu_.kernels.compile_edited(edited.name, edited.text);
    reserve_shared(i);
    is_found = true;
  }
  return is_found;
}

namespace {

/// Runs an OwnOp on a GPU.
class OwnOpKernel final : public exec::OpKernel {
 public:
  OwnOpKernel(Gpu& gpu, std::unique_ptr<OwnOp> op) : op_(std::move(op)), launches_(gpu, op_->launches()) {}

  std::string name() const override { return std::string(op_->name()); }
  uint64_t workspace_bytes() const override { return op_->workspace_bytes(); }
  const Layout* order_of(size_t operand, const Layout& layout) const override { return op_->order_of(operand, layout); }
  bool is_recordable() const override { return true; }
  bool can_record(const exec::OpCall&) override { return launches_.has_run(); }
  exec::OwnCode* own_code() override { return &launches_; }
  void run(const exec::OpCall& call) override { launches_.enqueue(op_->arguments(call)); }

 private:
  std::unique_ptr<OwnOp> op_;
  OwnLaunches launches_;
};

exec::KernelRow kernel_row(Gpu& gpu, const OwnRow& own) {
  const auto make = [&gpu, make_op = own.make](const graph::Node& node) -> std::unique_ptr<exec::OpKernel> {
    std::unique_ptr<OwnOp> op = make_op(node, gpu.facts);
    return op ? std::make_unique<OwnOpKernel>(gpu, std::move(op)) : nullptr;
  };
  return {.name = own.name,
          .ops = own.ops,
          .refusal = [&gpu, refusal = own.refusal](const graph::Node& node) { return refusal(node, gpu.facts); },
          .make = make,
          .refuses_call = own.refuses_call};
}

}  // namespace

std::vector<exec::KernelRow> own_kernel_rows(Gpu& gpu) {
  std::vector<exec::KernelRow> rows;
  for (const auto family : kOwnRows) {
    for (const OwnRow& own : family()) rows.push_back(kernel_row(gpu, own));
  }
  return rows;
}

OwnKernel::OwnKernel(Gpu& gpu, std::string_view name, std::string_view parameters, std::string_view body) {
  CudaKernel kernel;
  kernel.readable = fmt::format("k_{}", name);
  kernel.text.header = "// runs beside a library\n";
  kernel.text.bounds = fmt::format("__launch_bounds__({})", kThreads);
  kernel.text.parameters = fmt::format("const i64 count, {}", parameters);
  kernel.text.body = fmt::format(
      "  const i64 i = (i64)blockIdx.x * {} + threadIdx.x;\n"
      "  if (i >= count) return;\n"
      "{}",
      kThreads, body);
  function_ = gpu.kernels.get(kernel.name(), kernel.source());
}

/// Does not count the launch, which is part of an op's.
void OwnKernel::launch(const Device& device, int64_t count, void** arguments) const {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(count, kThreads));
  device.check(
      device.driver().cuLaunchKernel(function_, blocks, 1, 1, kThreads, 1, 1, 0, device.stream(), arguments, nullptr),
      "launching a kernel beside a library");
}

OwnKernel address_kernel(Gpu& gpu) {
  return {gpu, "addresses", "u64* out, const u64 first, const i64 step", "  out[i] = first + i * step;\n"};
}

}  // namespace tsl::cuda
