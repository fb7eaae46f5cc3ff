# Sourced by the other tools: the test programs that they call by name.
# shellcheck shell=bash disable=SC2034
readonly heavy_tests=test_jit           # has the cases tagged [random], [matrix] and [corpus], each of which takes minutes
readonly cuda_tests=test_backend_cuda   # the CUDA backend; [cuda] is what needs a GPU
readonly cpu_tests=test_backend_cpu     # the CPU backend
readonly gpu_tests=(test_jit test_engine test_api)  # the others with cases tagged [cuda]
