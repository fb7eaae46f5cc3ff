#include "backend/cuda/backend.h"

#include "backend/cuda/codegen/reduce_shape.h"
#include "backend/cuda/driver/moves.h"
#include "backend/cuda/kernels/generate.h"
#include "backend/cuda/kernels/launch_candidates.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/nvtx.h"
#include "backend/cuda/plans/executable.h"
#include "backend/cuda/ranks/links.h"
#include "backend/cuda/ranks/sum_kernel.h"
#include "backend/cuda/streams.h"
#include "base/error.h"
#include "tensor/limits.h"

namespace tsl::cuda {

namespace {

/// Of an H100, and roughly of others. A short row occupies a warp, which folds it in five steps.
constexpr graph::Rates kRates{.bytes_per_second = 3e12,
                              .operations_per_second = 24e12,
                              .seconds_per_launch = 2e-6,
                              .operations_per_gathered = 4,
                              .operations_per_row = 160};

class CudaBackend : public exec::Backend {
 public:
  CudaBackend(int ordinal, exec::Backend& host, const exec::BackendOptions& options) : gpu_(ordinal, host, options) {
    gpu_.owner = this;
    for (const auto rows : kKernelRows) gpu_.rows.add(rows(gpu_));
  }

  BlockCache& allocator() override { return gpu_.allocator; }
  std::unique_ptr<exec::Executable> prepare(graph::Plan plan) override { return prepare_plan(gpu_, std::move(plan)); }
  std::vector<std::string> launch_choices(const graph::Plan& launch) override {
    std::vector<std::string> out;
    for (const LaunchParameters& each : launch_candidates(launch, launch.launches[0])) out.push_back(to_string(each));
    return out;
  }
  std::unique_ptr<exec::Executable> prepare_with(graph::Plan plan, const std::string& choice) override {
    return prepare_plan(gpu_, std::move(plan), parse_launch_parameters(choice).value_or(LaunchParameters()));
  }
  std::unique_ptr<exec::Executable> prepare_edited(graph::Plan plan,
                                                   std::span<const exec::KernelSource> programs) override {
    return prepare_plan(gpu_, std::move(plan), {}, programs);
  }
  exec::KernelRows* kernel_rows() override { return &gpu_.rows; }
  bool keep_choice(const graph::Plan& launch, const std::string& choice) override {
    const std::optional<LaunchParameters> parameters = parse_launch_parameters(choice);
    return parameters && gpu_.choices.keep(generate_launch(launch, launch.launches[0], true), *parameters);
  }
  bool has_choice(const graph::Plan& launch) override {
    return gpu_.choices.find(generate_launch(launch, launch.launches[0], true)).has_value();
  }
  graph::Rates rates() const override {
    const Properties& properties = gpu_.device.properties();
    graph::Rates rates = kRates;
    rates.threads_at_once = static_cast<double>(properties.multiprocessors) * properties.threads_per_multiprocessor;
    return rates;
  }
  graph::Rates prediction_rates() const override {
    graph::Rates rates = this->rates();
    rates.overlaps = true;
    rates.seconds_per_launch = 1.2e-6;  // a kernel of a graph; decisions also count what the host does
    return rates;
  }
  graph::DeviceTraits traits() const override {
    graph::DeviceTraits traits;
    traits.branches_by_part = true;
    traits.ops_allocate = false;  // scratch memory is allocated as a run begins
    traits.operations_per_byte = kRates.operations_per_second / kRates.bytes_per_second;
    traits.has_clusters = gpu_.facts.has_clusters;
    if (traits.has_clusters) traits.resident.neighbours = kMaxClusterRow;
    traits.resident.apart = graph::kReduceBlock;  // of longer ones, neighbouring threads read no neighbours
    return traits;
  }
  int64_t tensor_limit() const override { return as_limit(gpu_.device.properties().total_memory); }
  bool has_epilogue(const graph::Node& node) override { return gpu_.rows.has_epilogue(node); }
  std::optional<graph::PaddedProduct> padded(const graph::Node& node) override { return gpu_.rows.padded(node); }
  std::string_view no_kernel(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) override {
    return gpu_.rows.no_kernel(op, operands, attrs);
  }
  Tensor to_device(const Tensor& host) override {
    gpu_.timeline();
    return move_to_device(gpu_, host);
  }
  Tensor to_host(const Tensor& tensor) override {
    gpu_.timeline();
    return move_to_host(gpu_, tensor);
  }
  Tensor from_peer(const Tensor& tensor, exec::Backend& peer) override {
    auto* const other = dynamic_cast<CudaBackend*>(&peer);
    gpu_.timeline();
    return other ? move_between(other->gpu_, gpu_, tensor) : Tensor();
  }
  void activate() override { gpu_.device.make_current(); }
  exec::Streams* streams() override { return &streams_; }
  std::unique_ptr<world::RankLink> link_ranks(world::Ranks& ranks, std::string& missing) override {
    std::unique_ptr<world::RankLink> link = cuda::link_ranks(gpu_, ranks, missing);
    if (link) gpu_.rows.add(sum_rows(*link));
    return link;
  }

  std::string hardware() const override { return gpu_.device.properties().name; }
  std::vector<std::pair<std::string, std::string>> code_key() const override {
    return {{"architecture", gpu_.device.arch()}, {"nvrtc", gpu_.kernels.nvrtc_version()}};
  }
  uint64_t cache_bytes() const override { return gpu_.device.properties().cache_bytes; }
  tsl::Counters counters() const override {
    const Counters& device = gpu_.device.counters();
    const Allocator::Stats memory = gpu_.allocator.stats();
    tsl::Counters out;
    out.kernels = device.kernel_launches + device.graph_kernels;
    out.graph_launches = device.graph_launches;
    out.bytes_to_device = device.bytes_to_device;
    out.bytes_to_host = device.bytes_to_host;
    out.bytes_on_device = device.bytes_on_device;
    out.driver_allocations = device.driver_allocations;
    out.kernels_compiled = gpu_.kernels.stats().compiled;
    out.kernels_from_disk = gpu_.kernels.stats().from_disk;
    out.memory = memory.live_bytes;
    out.memory_peak = memory.peak_bytes;
    out.memory_cached = memory.cached_bytes;
    return out;
  }

 private:
  Gpu gpu_;
  CudaStreams streams_{gpu_.device};
};

/// Says why no kernel can be compiled for a GPU; "" if one can.
std::string missing_compiler(int ordinal) {
  try {
    const std::shared_ptr<const Driver> driver = Driver::open();
    const Properties properties = properties_of(*driver, find_device(*driver, ordinal));
    expect_nvrtc(DiskCache(default_cache_folder()), {driver->version_number(), properties.arch});
    return {};
  } catch (const Failure& failure) { return failure.what(); }
}

}  // namespace

exec::BackendEntry backend_entry() {
  return {.name = kBackendName,
          .is_default_place = true,
          .probe = check_device,
          .open = open_backend,
          .missing = missing_compiler,
          .ranges = nvtx_ranges};
}

void check_device(int ordinal) {
  const std::shared_ptr<const Driver> driver = Driver::open();
  properties_of(*driver, find_device(*driver, ordinal));
}

std::string why_no_device() {
  try {
    check_device(0);
    return {};
  } catch (const Failure& failure) { return failure.what(); }
}

std::unique_ptr<exec::Backend> open_backend(int ordinal, exec::Backend& host, const exec::BackendOptions& options) {
  return std::make_unique<CudaBackend>(ordinal, host, options);
}

}  // namespace tsl::cuda
