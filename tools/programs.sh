# Sourced by the other tools: the test programs that they call by name.
# shellcheck shell=bash disable=SC2034
readonly engine_tests=test_interp       # has the heavy cases, tagged [random], [matrix], [corpus] and [cuda]
readonly cuda_tests=test_backend_cuda   # of the CUDA backend, tagged [cuda] where they need a GPU
readonly cpu_tests=test_backend         # of the CPU backend
