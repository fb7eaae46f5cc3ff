#include "backend/cuda/backend.h"

#include "backend/cuda/executable.h"

namespace tsl::cuda {

namespace {

class CudaBackend : public graph::Backend {
 public:
  CudaBackend(int ordinal, graph::Backend& host) : gpu_(ordinal, host) {}

  Allocator& allocator() override { return gpu_.allocator; }
  std::unique_ptr<graph::Executable> prepare(graph::Plan plan) override { return prepare_plan(gpu_, std::move(plan)); }
  Tensor to_device(const Tensor& host) override { return move_to_device(gpu_, host); }
  Tensor to_host(const Tensor& tensor) override { return move_to_host(gpu_, tensor); }

 private:
  Gpu gpu_;
};

}  // namespace

std::unique_ptr<graph::Backend> open_backend(int ordinal, graph::Backend& host) {
  return std::make_unique<CudaBackend>(ordinal, host);
}

}  // namespace tsl::cuda
