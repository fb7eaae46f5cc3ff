# Cases that compare tiers, threads and the values of other libraries; their home is the release build.

tsl_catch_test(random_programs test_jit [random]~[cuda])
tsl_catch_test(op_matrix test_jit [matrix]~[cuda])
tsl_catch_test(plan_files test_report [matrix])
tsl_catch_test(threads test_engine [threads])
tsl_catch_test(oracle test_builtins [oracle])
if(NOT TSL_SANITIZE AND NOT TSL_COVERAGE)
  tsl_catch_test(profiled_examples test_profile [examples])
  tsl_catch_test(told_examples test_report [examples])
endif()
# NVRTC is not part of TSL, and test_backend_cuda tests the generation of its input under the sanitizers.
if(TARGET tsl_cuda_driver AND NOT TSL_SANITIZE AND NOT TSL_COVERAGE)
  tsl_catch_test(cuda_corpus test_jit [corpus])
  set_tests_properties(cuda_corpus PROPERTIES RESOURCE_LOCK lang_files PROCESSORS 2 COST 2000)
endif()
if(TSL_SANITIZE OR TSL_COVERAGE)
  # A third: 3 divides neither number of dtypes, so every op is tested with some of them.
  set_tests_properties(op_matrix PROPERTIES ENVIRONMENT TSL_TEST_SHARD=1/3)
  set_tests_properties(oracle PROPERTIES ENVIRONMENT TSL_TEST_SHARD=1/5)
endif()
# More threads than rows, and than this machine may have cores.
set_tests_properties(random_programs PROPERTIES ENVIRONMENT TSL_TEST_THREADS=5)
# The longest first, so that the others run beside them.
set_tests_properties(random_programs PROPERTIES COST 1000)
set_tests_properties(op_matrix PROPERTIES COST 100)
