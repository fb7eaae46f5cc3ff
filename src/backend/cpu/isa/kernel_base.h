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

namespace {

template <DType kDType> struct ElementOf;
template <> struct ElementOf<DType::boolean> { using Type = bool; };
template <> struct ElementOf<DType::u8> { using Type = uint8_t; };
template <> struct ElementOf<DType::i8> { using Type = int8_t; };
template <> struct ElementOf<DType::i16> { using Type = int16_t; };
template <> struct ElementOf<DType::i32> { using Type = int32_t; };
template <> struct ElementOf<DType::i64> { using Type = int64_t; };
template <> struct ElementOf<DType::f16> { using Type = math::Half; };
template <> struct ElementOf<DType::bf16> { using Type = math::BFloat16; };
template <> struct ElementOf<DType::f32> { using Type = float; };
template <> struct ElementOf<DType::f64> { using Type = double; };
template <DType kDType> using Element = typename ElementOf<kDType>::Type;

constexpr int index_of(DType dtype) { return static_cast<int>(dtype); }
constexpr bool is_short(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

template <bool kFirst, class A, class B> struct ChoiceOf { using Type = A; };
template <class A, class B> struct ChoiceOf<false, A, B> { using Type = B; };
template <bool kFirst, class A, class B> using Choice = typename ChoiceOf<kFirst, A, B>::Type;

/// f16 and bf16 are converted to f32 in buffers of this many elements.
constexpr size_t kBuffer = 512;

constexpr size_t least(size_t a, size_t b) { return a < b ? a : b; }

/// Calls body with each dtype as a compile-time constant.
template <DType kDType> struct DTypeConstant { static constexpr DType value = kDType; };
template <class Body> void for_each_dtype(Body body) {
  body(DTypeConstant<DType::boolean>());
  body(DTypeConstant<DType::u8>());
  body(DTypeConstant<DType::i8>());
  body(DTypeConstant<DType::i16>());
  body(DTypeConstant<DType::i32>());
  body(DTypeConstant<DType::i64>());
  body(DTypeConstant<DType::f16>());
  body(DTypeConstant<DType::bf16>());
  body(DTypeConstant<DType::f32>());
  body(DTypeConstant<DType::f64>());
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
