#include "backend/cuda/libraries/factorisation.h"

#include "base/integers.h"
#include "exec/matrix_layout.h"

namespace tsl::cuda {

namespace {
constexpr uint64_t kPartAlignment = 256;  // of workspaces, as what cudaMalloc gives
}  // namespace

Solver::Solver(Gpu& gpu) : gpu(gpu) {
  library.check(library.cusolverDnCreateParams(&params), "starting");
  library.check(library.cusolverDnCreateSyevjInfo(&jacobi), "starting");
  library.check(library.cusolverDnCreateGesvdjInfo(&singular_jacobi), "starting");
}

Solver::~Solver() {
  library.cusolverDnDestroyGesvdjInfo(singular_jacobi);
  library.cusolverDnDestroySyevjInfo(jacobi);
  library.cusolverDnDestroyParams(params);
}

FactorisationKernel::FactorisationKernel(const graph::Node& node, Solver& solver)
    : solver_(solver), dtype_(node.dtype), count_(exec::batch_count(node.args[0].layout.shape)) {
  const Shape& shape = node.args[0].layout.shape;
  rows_ = shape[shape.rank() - 2].hint();
  columns_ = shape[shape.rank() - 1].hint();
}

uint64_t FactorisationKernel::reserve(uint64_t bytes) {
  return std::exchange(bytes_, bytes_ + rounded_up(bytes, kPartAlignment));
}

ColumnReader::ColumnReader(Gpu& gpu, DType dtype)
    : kernel_(gpu, fmt::format("read_columns_{}", tsl::name_of(dtype)),
              fmt::format("const {}* in, f64* out, const i64 rows, const i64 columns, const i64 step, i64* failed",
                          tsl::name_of(dtype)),
              "  const i64 size = rows * columns, matrix = i / size, at = i % size, column = at / rows;\n"
              "  const f64 x = in[matrix * size + at % rows * columns + column];\n"
              "  const bool is_good = !failed || s_isfinite(x);\n"
              "  if (!is_good) atomicMin(failed, matrix);\n"
              "  out[matrix * step + at] = is_good ? x : 0;\n") {}

RowWriter::RowWriter(Gpu& gpu, DType dtype)
    : kernel_(
          gpu, fmt::format("write_rows_{}", tsl::name_of(dtype)),
          fmt::format("const f64* in, {}* out, const i64 rows, const i64 columns, const i64 length, const i64 step, "
                      "const i64 upper",
                      tsl::name_of(dtype)),
          fmt::format("  const i64 at = i % (rows * columns), row = at / columns, column = at % columns;\n"
                      "  const f64 x = in[i / (rows * columns) * step + column * length + row];\n"
                      "  out[i] = ({})(upper && row > column ? 0 : x);\n",
                      tsl::name_of(dtype))) {}

}  // namespace tsl::cuda
