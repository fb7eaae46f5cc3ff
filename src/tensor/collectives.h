// Functions of all ranks of a world, made of the ops that move tensors between them and of ordinary ones. All ranks
// call them in the same order, with the same dtypes and shapes. A world of one rank moves nothing.
#pragma once

#include "tensor/op.h"

namespace tsl {

/// Returns what each rank has, in the order of ranks: [ranks, …].
Tensor all_gather(Ops& ops, const Tensor& x, int64_t ranks);
/// Returns the sum of what each rank has: ((x0 + x1) + x2) + …, of 16-bit floats in f32, rounded once. So it is the
/// same to the bit on all ranks, however the tensor was moved. Throws Failure (type) for bools.
Tensor all_sum(Ops& ops, const Tensor& x, int64_t ranks);
/// Returns the dtype in which all_sum() adds elements up.
constexpr DType summed_in(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }
/// As all_sum(), made of what moves elements and of ordinary ops.
Tensor sum_of_moves(Ops& ops, const Tensor& x, int64_t ranks);
/// Returns the greatest elements of what each rank has; NaN is the greatest.
Tensor all_max(Ops& ops, const Tensor& x, int64_t ranks);
/// Returns row r of all_sum(x) on rank r, of x [ranks, …], without the others.
Tensor sum_scatter(Ops& ops, const Tensor& x, int64_t ranks);

}  // namespace tsl
