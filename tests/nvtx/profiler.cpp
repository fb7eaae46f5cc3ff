// A profiler that reads NVTX, as far as tests need one: writes the ranges to the file in $RANGES, "> NAME" where one
// begins and "<" where it ends.
#include <cstdio>
#include <cstdlib>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

namespace {

std::FILE* file() {
  static std::FILE* const file = std::fopen(std::getenv("RANGES"), "w");
  return file;
}

int NVTX_API push(const char* name) {
  std::fprintf(file(), "> %s\n", name);
  return 0;
}

int NVTX_API pop() {
  std::fputs("<\n", file());
  return 0;
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &size)) return 0;
  if (size <= NVTX_CBID_CORE_RangePop) return 0;
  *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
