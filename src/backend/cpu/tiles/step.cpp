#include "backend/cpu/tiles/step.h"

namespace tsl::cpu {

namespace {

/// Returns where a step has the registers that it reads.
template <class Registers> struct Sources {
  Registers operator()(auto& step) const {
    if constexpr (requires { step.arity; }) return Registers(step.src.data(), step.arity);
    else if constexpr (requires { step.src.size(); }) return Registers(step.src);
    else if constexpr (requires { step.src; }) return Registers(&step.src, 1);
    else return {};
  }
};

}  // namespace

std::span<const uint32_t> sources(const Step& step) {
  return std::visit(Sources<std::span<const uint32_t>>(), step.does);
}

std::span<uint32_t> sources(Step& step) { return std::visit(Sources<std::span<uint32_t>>(), step.does); }

OperandUse use_of(ChainCode code) {
  switch (code) {
    case ChainCode::load:
    case ChainCode::add:
    case ChainCode::sub:
    case ChainCode::sub_from:
    case ChainCode::mul:
    case ChainCode::div:
    case ChainCode::div_into:
    case ChainCode::maximum:
    case ChainCode::minimum: return OperandUse::read;
    case ChainCode::store:
    case ChainCode::store_f16:
    case ChainCode::store_bf16:
    case ChainCode::stream:
    case ChainCode::stream_f16:
    case ChainCode::stream_bf16:
    case ChainCode::sum:
    case ChainCode::prod:
    case ChainCode::max:
    case ChainCode::min:
    case ChainCode::call: return OperandUse::written;
    case ChainCode::round_f16:
    case ChainCode::round_bf16:
    case ChainCode::square:
    case ChainCode::neg:
    case ChainCode::relu:
    case ChainCode::abs:
    case ChainCode::prefetch: return OperandUse::none;
  }
  return OperandUse::none;
}

}  // namespace tsl::cpu
