# Tests that need a GPU, or a driver that computes nothing in its place; each half has its own.

# Each case that needs a GPU is a test of its own, so that ctest names what it skips. Cases tagged [alone] take all memory
# or measure time.
function(tsl_gpu_cases program)
  set(common TEST_PREFIX "cuda/" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(properties SKIP_RETURN_CODE ${all_skipped} RESOURCE_LOCK lang_files)
  # SKIP_IS_FAILURE: Catch2 3 would take its own code for skipped programs. (Catch2 2 ignores the word.)
  catch_discover_tests(${program} SKIP_IS_FAILURE TEST_SPEC "[cuda]~[alone]" ${common} PROPERTIES ${properties})
  if(ARGN)
    catch_discover_tests(${program} SKIP_IS_FAILURE TEST_SPEC "[cuda][alone]" ${common} PROPERTIES ${properties} RUN_SERIAL ON)
  endif()
endfunction()

set(on_gpu ${CMAKE_CURRENT_SOURCE_DIR}/on_gpu.sh $<TARGET_FILE:tsl>)
# tsl_gpu_script(NAME COMMAND...): a test that is skipped where no GPU is.
function(tsl_gpu_script name)
  tsl_script_test(${name} ${on_gpu} ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE ${all_skipped})
endfunction()

# The driver, and what stands in for cuSOLVER.
add_library(null_driver SHARED ${CMAKE_SOURCE_DIR}/benchmarks/gpu/null_driver.cpp)
target_link_libraries(null_driver PRIVATE tsl_cuda_headers)
set_target_properties(null_driver PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/null_driver)
add_library(null_cusolver SHARED ${CMAKE_CURRENT_SOURCE_DIR}/null_driver/null_cusolver.cpp)
target_link_libraries(null_cusolver PRIVATE tsl_cuda_headers)
set_target_properties(null_cusolver PROPERTIES OUTPUT_NAME cusolver SUFFIX .so.12
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/null_cusolver)
add_library(null_nccl SHARED ${CMAKE_CURRENT_SOURCE_DIR}/null_driver/null_nccl.cpp)
target_link_libraries(null_nccl PRIVATE Threads::Threads)
set_target_properties(null_nccl PROPERTIES OUTPUT_NAME nccl SUFFIX .so.2
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/null_nccl)
# Beside the driver, what tests/costs/run.py generates kernels with.
foreach(library nvrtc cublasLt)
  string(TOLOWER ${library} lower)
  add_library(null_${lower} SHARED ${CMAKE_CURRENT_SOURCE_DIR}/costs/null_${lower}.cpp)
  target_link_libraries(null_${lower} PRIVATE tsl_cuda_headers)
  set_target_properties(null_${lower} PROPERTIES OUTPUT_NAME ${library} SUFFIX .so.13
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/null_libraries)
endforeach()
add_custom_target(null_libraries DEPENDS null_driver null_nvrtc null_cublaslt)

if(NOT TSL_TEST_HOME STREQUAL "sanitized")
  # Each compiled case is a kernel of its own, so a GPU's turn is every 16th.
  tsl_gpu_script(cuda_oracle $<TARGET_FILE:test_builtins> [oracle])
  set_tests_properties(cuda_oracle PROPERTIES ENVIRONMENT "TSL_TEST_DEVICE=cuda;TSL_TEST_SHARD=1/16")
  tsl_gpu_script(cuda_lang $<TARGET_FILE:tsl> test --device cuda tests/lang)
  tsl_gpu_script(cuda_lang_without_graphs $<TARGET_FILE:tsl> test --device cuda --cuda-graphs off tests/lang)
  set_tests_properties(cuda_lang cuda_lang_without_graphs PROPERTIES RESOURCE_LOCK lang_files)
  # The program on the null driver, for a GPU of any size and age.
  tsl_script_test(null_driver ${CMAKE_CURRENT_SOURCE_DIR}/null_driver.sh $<TARGET_FILE:tsl>
                  $<TARGET_FILE_DIR:null_driver> $<TARGET_FILE_DIR:null_cusolver>)
  set_tests_properties(null_driver PROPERTIES SKIP_RETURN_CODE 77)
  if(TARGET tsl_gloo AND TSL_PYTHON)
    tsl_script_test(ranks_devices ${TSL_PYTHON} tests/ranks/devices.py $<TARGET_FILE:tsl> $<TARGET_FILE_DIR:null_driver>
                    $<TARGET_FILE_DIR:null_nccl>)
  endif()
  if(TSL_nvtx_FOLDER)
    add_library(nvtx_profiler SHARED ${CMAKE_CURRENT_SOURCE_DIR}/nvtx/profiler.cpp)
    target_link_libraries(nvtx_profiler PRIVATE tsl_cuda_headers)
    tsl_script_test(nvtx ${CMAKE_CURRENT_SOURCE_DIR}/nvtx.sh $<TARGET_FILE:tsl> $<TARGET_FILE:nvtx_profiler>
                    $<TARGET_FILE_DIR:null_driver>)
  endif()
endif()

if(NOT TSL_TEST_HOME STREQUAL "release")
  # The other tests of the language, on a GPU.
  foreach(room ${rooms_of_language})
    if(TARGET test_${room})
      tsl_gpu_script(cuda_${room} $<TARGET_FILE:test_${room}>
                     ~[random]~[matrix]~[corpus]~[threads]~[cuda]~[fill]~[oracle]~[examples])
      set_property(TEST cuda_${room} PROPERTY ENVIRONMENT TSL_TEST_DEVICE=cuda)
    endif()
  endforeach()
  tsl_gpu_cases(test_engine)
  tsl_gpu_cases(test_api)
  tsl_gpu_cases(test_builtins)
  tsl_gpu_cases(test_jit with_alone)
  tsl_gpu_cases(test_backend_cuda with_alone)
  # What a profile records where CUPTI is missing. (Tests tagged [real] need results, or cuBLASLt.)
  add_test(NAME cuda_work_log COMMAND test_backend_cuda [profile]~[real],[host])
  # The order of streams, which the null driver records.
  add_test(NAME api_streams COMMAND test_api [cuda]~[real])
  # How often the host waits and patches, which the null driver counts, and what it launches.
  add_test(NAME cuda_counts COMMAND test_jit [counts])
  set(null_folders $<TARGET_FILE_DIR:null_driver>:$<TARGET_FILE_DIR:null_cusolver>)
  set_tests_properties(cuda_work_log api_streams PROPERTIES SKIP_RETURN_CODE ${all_skipped}
                       ENVIRONMENT "LD_LIBRARY_PATH=${null_folders};TSL_CUPTI=off")
  set(null_folders ${null_folders}:$<TARGET_FILE_DIR:null_cublaslt>)
  set_tests_properties(cuda_counts PROPERTIES SKIP_RETURN_CODE ${all_skipped}
                       ENVIRONMENT "LD_LIBRARY_PATH=${null_folders};TSL_CUPTI=off")
endif()
