// Launch parameters that are kept on disk.
#include "backend/cuda/driver/kernel_cache.h"

#include <filesystem>

#include <unistd.h>

#include "backend/cuda/kernels/generate.h"
#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::cuda;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() { fs::remove_all(path_); }
  ~Folder() { fs::remove_all(path_); }
  DiskCache cache() const { return DiskCache(path_); }

 private:
  const std::string path_ = (fs::temp_directory_path() / ("tsl_choices_" + std::to_string(getpid()))).string();
};

GeneratedKernels product(int64_t size, Op op = Op::mul) {
  graph::Graph g;
  const graph::NodeId a = graph::input(g, {size}), b = graph::input(g, {size});
  graph::give(g, graph::add(g, op, {graph::read(g, a), graph::read(g, b)}));
  const graph::Plan plan = graph::compile(std::move(g));
  return generate_launch(plan, plan.launches[0], true);
}

constexpr LaunchParameters kSome{.pointwise_threads = 512};

}  // namespace

TEST_CASE("a kept choice is found for equal code and sizes of its class, also by later processes") {
  const Folder folder;
  LaunchChoices choices(folder.cache(), "sm_90", {});
  CHECK_FALSE(choices.find(product(100'000)));
  CHECK(choices.keep(product(100'000), kSome));
  LaunchChoices later(folder.cache(), "sm_90", {});
  for (LaunchChoices* each : {&choices, &later}) {
    CHECK(each->find(product(100'000)) == kSome);
    CHECK(each->find(product(120'000)) == kSome);
    CHECK_FALSE(each->find(product(200'000)));
    CHECK_FALSE(each->find(product(100'000, Op::add)));
  }
  CHECK(later.keep(product(200'000), {}));  // the usual ones were the best
  CHECK(later.find(product(200'000)) == LaunchParameters{});
}

TEST_CASE("a choice depends on the GPU's architecture and on the compiler's options") {
  const Folder folder;
  const std::vector<std::string> portable = {"--define-macro=TSL_PORTABLE"};
  LaunchChoices(folder.cache(), "sm_90", {}).keep(product(100), kSome);
  CHECK_FALSE(LaunchChoices(folder.cache(), "sm_80", {}).find(product(100)));
  CHECK_FALSE(LaunchChoices(folder.cache(), "sm_90", portable).find(product(100)));
  CHECK(LaunchChoices(folder.cache(), "sm_90", {}).find(product(100)) == kSome);
}

TEST_CASE("without a folder a choice is kept for the process only") {
  LaunchChoices choices(DiskCache(""), "sm_90", {});
  CHECK_FALSE(choices.keep(product(100), kSome));
  CHECK(choices.find(product(100)) == kSome);
}
