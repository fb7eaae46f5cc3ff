// Running sums and products.
#include "backend/cpu/isa/kernel_base.h"

namespace tsl::cpu::TSL_ISA {
namespace {

struct Sum {
  template <class A> static A combine(A a, A x) { return math::s_add(a, x); }
};
struct Prod {
  template <class A> static A combine(A a, A x) { return math::s_mul(a, x); }
};

/// In order: A accumulates elements of T, and each total is rounded to Out.
template <class R, class T, class A, class Out>
void scan(void* out, const void* in, size_t n) {
  const T* x = static_cast<const T*>(in);
  Out* y = static_cast<Out*>(out);
  if (n == 0) return;
  A total = math::s_cast<A>(x[0]);
  y[0] = math::s_cast<Out>(total);
  for (size_t i = 1; i < n; ++i) {
    total = R::combine(total, math::s_cast<A>(x[i]));
    y[i] = math::s_cast<Out>(total);
  }
}

template <class R>
void add_op(ScanKernel* kernels) {
  for_each_dtype([&](auto dtype) {
    using T = Element<dtype.value>;
    ScanKernel& kernel = kernels[index_of(dtype.value)];
    if constexpr (dtype.value < DType::f16) kernel = scan<R, T, int64_t, int64_t>;
    else if constexpr (dtype.value == DType::f64) kernel = scan<R, T, double, double>;
    else kernel = scan<R, T, float, T>;
  });
}

}  // namespace

void add_scan_kernels(KernelTable& table) {
  add_op<Sum>(table.cumsum);
  add_op<Prod>(table.cumprod);
}

}  // namespace tsl::cpu::TSL_ISA
