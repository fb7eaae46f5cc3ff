// How operands of products are described to cuBLASLt. Needs no GPU.
#include "backend/cuda/kernels/products/node_gemm.h"

#include <cstdlib>
#include <vector>

#include "catch.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::cuda;

namespace {

/// Views of [2, 4, 6, 6] of an input of [4, 8, 12, 12]: sliced, reversed and stepped along each axis, alone and in
/// pairs, transposed, and expanded.
std::vector<Layout> views() {
  struct Cut {
    int64_t start, step;
  };
  const Layout whole = Layout::contiguous({4, 8, 12, 12});
  std::vector<Layout> out;
  const Dims extents = {2, 4, 6, 6};
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      for (const Cut& cut : {Cut{1, 1}, Cut{1, 2}, Cut{-1, -1}, Cut{-1, -2}}) {
        Layout view = whole;
        for (int axis = 0; axis < 4; ++axis) {
          const bool is_cut = axis == a || axis == b;
          const int64_t start = !is_cut ? 0 : cut.start < 0 ? whole.shape[axis].hint() - 1 : cut.start;
          view = slice(view, axis, start, extents[axis], is_cut ? cut.step : 1);
        }
        out.push_back(view);
      }
    }
  }
  for (size_t i = out.size(); i-- > 0;) {
    const int transposed[] = {0, 1, 3, 2};
    out.push_back(permute(out[i], transposed));
  }
  for (const Shape& one :
       {Shape{1, 4, 6, 6}, Shape{2, 1, 6, 6}, Shape{1, 1, 6, 6}, Shape{2, 4, 1, 6}, Shape{2, 4, 6, 1}})
    out.push_back(expand(Layout::contiguous(one), extents));
  out.push_back(Layout::contiguous(extents));
  return out;
}

/// The element at an index of the batch, a row and a column, as cuBLASLt finds it.
int64_t element_of(const MatrixOperand& operand, int64_t batch, int64_t row, int64_t column) {
  if (operand.transposed) std::swap(row, column);
  return batch * operand.batch_stride + row * operand.leading + column;
}

graph::Node product_of(const Layout& a, const Layout& b) {
  graph::Node node;
  node.op = Op::matmul;
  node.dtype = DType::f32;
  node.shape = a.shape;
  node.args.resize(2);
  node.args[0].layout = a;
  node.args[1].layout = b;
  return node;
}

}  // namespace

TEST_CASE("an operand that is not copied has its elements where its layout says", "[gemm]") {
  const Layout plain = Layout::contiguous({2, 4, 6, 6});
  size_t in_place = 0;
  for (const Layout& view : views()) {
    const NodeGemm gemm(product_of(view, plain), false);
    CAPTURE(to_string(view.shape), to_string(view.strides), view.offset.hint());
    CHECK_FALSE(gemm.needs_copy(1));
    if (gemm.needs_copy(0)) continue;
    ++in_place;
    size_t wrong = 0;
    for (int64_t i = 0; i < 2 * 4 * 6 * 6; ++i) {
      const int64_t index[] = {i / 144, i / 36 % 4, i / 6 % 6, i % 6};
      int64_t at = 0;
      for (int axis = 0; axis < 4; ++axis) at += index[axis] * view.strides[axis].hint();
      wrong += element_of(gemm.gemm().a, i / 36, index[2], index[3]) != at;
    }
    CHECK(wrong == 0);
  }
  CHECK(in_place > 2);
}

TEST_CASE("an operand lies as a dense copy of it does, but for gaps that keep its alignment", "[gemm]") {
  const Layout other = Layout::contiguous({2, 4, 6, 6});
  for (const Layout& view : views()) {
    const NodeGemm gemm(product_of(view, other), false);
    const MatrixOperand& operand = gemm.gemm().a;
    CAPTURE(to_string(view.shape), to_string(view.strides));
    const int64_t down = std::abs(view.strides[2].hint()), across = std::abs(view.strides[3].hint());
    CHECK(operand.transposed == (down != 0 && down < across));
    if (gemm.needs_copy(0)) CHECK((operand.leading == 6 && operand.batch_stride == 36));
    else CHECK((operand.leading % 2 == 0 && operand.batch_stride % 4 == 0));  // as 6 and 36 are, in elements of 4 bytes
  }
  // A single row or column is never transposed, however far apart its elements are.
  const Layout whole = Layout::contiguous({6, 6});
  const NodeGemm row(product_of(slice(whole, 0, 2, 1, 1), Layout::contiguous({6, 6})), false);
  CHECK((!row.needs_copy(0) && !row.gemm().a.transposed && row.gemm().a.leading == 6));
  const int turned[] = {1, 0};
  const NodeGemm column(product_of(permute(slice(whole, 1, 2, 1, 1), turned), Layout::contiguous({6, 6})), false);
  CHECK((column.needs_copy(0) && !column.gemm().a.transposed && column.gemm().a.leading == 6));
  // Rows 7 elements apart are aligned less well than dense ones of 6.
  Layout odd = Layout::contiguous({6, 7});
  CHECK(NodeGemm(product_of(slice(odd, 1, 0, 6, 1), Layout::contiguous({6, 6})), false).needs_copy(0));
}
