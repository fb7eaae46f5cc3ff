// The common part of kernel sources. The files of this folder are compiled once per instruction set, into the namespace
// TSL_ISA. They must not emit anything that the linker may merge (inline functions, templates of the standard library):
// a copy compiled for AVX-512 could then run on every machine. So everything is static, and no standard headers are
// used except <stddef> and similar ones.
#pragma once

#include "backend/cpu/kernels.h"
#include "tensor/bodies/scalar_bodies.h"

#if defined(__clang__)
#define TSL_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define TSL_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace tsl::cpu::TSL_ISA {

/// Add the kernels of one source to the table.
void add_unary_kernels(KernelTable& table);
void add_binary_kernels(KernelTable& table);
void add_exact_kernels(KernelTable& table);
void add_cast_kernels(KernelTable& table);
void add_reduce_kernels(KernelTable& table);
void add_scan_kernels(KernelTable& table);
void add_order_kernels(KernelTable& table);
void add_source_kernels(KernelTable& table);
void add_copy_kernels(KernelTable& table);
void add_chain_kernel(KernelTable& table);
void add_fft_kernels(KernelTable& table);
void add_convolution_kernels(KernelTable& table);
void add_plane_kernels(KernelTable& table);
void add_attention_kernels(KernelTable& table);

namespace {

template <DType kDType> struct ElementOf;
using math::BFloat16;
using math::Half;
#define TSL_DTYPE(id, name, element, ...) \
  template <> struct ElementOf<DType::id> { using Type = element; };
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
template <DType kDType> using Element = typename ElementOf<kDType>::Type;

constexpr int index_of(DType dtype) { return static_cast<int>(dtype); }

template <bool kFirst, class A, class B> struct ChoiceOf { using Type = A; };
template <class A, class B> struct ChoiceOf<false, A, B> { using Type = B; };
template <bool kFirst, class A, class B> using Choice = typename ChoiceOf<kFirst, A, B>::Type;

/// Bytes of the instruction set's widest vector.
#if defined(__AVX512F__)
constexpr size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr size_t kVectorBytes = 32;
#else
constexpr size_t kVectorBytes = 16;
#endif

/// f16 and bf16 are converted to f32 in buffers of this many elements.
constexpr size_t kBuffer = 512;

constexpr size_t least(size_t a, size_t b) { return a < b ? a : b; }

/// Calls body with each dtype as a compile-time constant.
template <DType kDType> struct DTypeConstant { static constexpr DType value = kDType; };
template <class Body> void for_each_dtype(Body body) {
#define TSL_DTYPE(id, ...) body(DTypeConstant<DType::id>());
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
}

}  // namespace

/// Convert between f16 or bf16 and f32, with the machine's instructions if it has them.
void widen(float* out, const math::Half* in, size_t n);
void widen(float* out, const math::BFloat16* in, size_t n);
void narrow(math::Half* out, const float* in, size_t n);
void narrow(math::BFloat16* out, const float* in, size_t n);

/// Replaces x[i] by exp(x[i]).
void exponentiate(float* x, size_t n);
void exponentiate(double* x, size_t n);

}  // namespace tsl::cpu::TSL_ISA
