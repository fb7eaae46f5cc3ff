// A host that computes with an OpenBLAS of its own, in one thread, while another makes and uses engines.
#include <atomic>
#include <thread>
#include <vector>

#include <dlfcn.h>

#include "hosts/host.h"

using namespace tsl::hosts;

namespace {

using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                       int);

constexpr int kRows = 101, kNoTranspose = 111;

void multiply(Dgemm dgemm, int n, const std::vector<double>& a, std::vector<double>& c) {
  dgemm(kRows, kNoTranspose, kNoTranspose, n, n, n, 1, a.data(), n, a.data(), n, 0, c.data(), n);
}

}  // namespace

int main() {
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_GLOBAL);
  const auto dgemm = library ? reinterpret_cast<Dgemm>(dlsym(library, "cblas_dgemm")) : nullptr;
  const auto threads = library ? reinterpret_cast<int (*)()>(dlsym(library, "openblas_get_num_threads")) : nullptr;
  const auto set_threads =
      library ? reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads")) : nullptr;
  if (!dgemm || !threads || !set_threads) {
    std::puts("there is no libopenblas.so.0");
    return kSkipped;
  }
  set_threads(4);
  const int before = threads();
  alarm(60);

  std::atomic<int> products{0};
  std::atomic<bool> is_over{false};
  std::thread host([&] {
    constexpr int kSide = 700;
    const std::vector<double> a(kSide * kSide, 1.0);
    std::vector<double> c(a.size());
    while (!is_over) {
      multiply(dgemm, kSide, a, c);
      require(c[0] == kSide && c.back() == kSide, "the host's product is right");
      ++products;
    }
  });
  while (products == 0) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    const auto engine = tsl::Engine::create().value();
    const double sum = engine.run("sum(ones([300, 300]) @ ones([300, 300]))").value().as<double>().value();
    require(sum == 27e6, "TSL's product is right");
  }
  is_over = true;
  host.join();
  require(threads() == before, "the host's OpenBLAS has its threads");
}
