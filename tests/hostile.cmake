# Hosts in many threads, allocations that fail, and any bytes at all; their home is the sanitizers' build.

# Engines made, used, interrupted and destroyed in eight threads; tools/check --long soak does so for an hour.
add_executable(soak ${CMAKE_CURRENT_SOURCE_DIR}/soak/soak.cpp)
target_link_libraries(soak PRIVATE tsl_api tsl_flags Threads::Threads)
target_include_directories(soak PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
if(NOT TSL_MUTANTS)
  add_test(NAME soak COMMAND soak 20)
endif()

# A host program, when one of its allocations fails; tools/check --long allocations has all of them.
add_executable(allocations_host ${CMAKE_CURRENT_SOURCE_DIR}/allocations/host.cpp
               ${CMAKE_CURRENT_SOURCE_DIR}/allocations/failing_new.cpp)
target_link_libraries(allocations_host PRIVATE tsl_api tsl_flags)
if(TSL_PYTHON)
  tsl_script_test(allocations_of_host ${TSL_PYTHON} tests/allocations/run.py --host $<TARGET_FILE:allocations_host>
                  tests/tiers/guarded_loop.tsl tests/tiers/failed_steps.tsl)
  set_tests_properties(allocations_of_host PROPERTIES ENVIRONMENT TSL_ALLOCATIONS=40)
endif()

# Any source, text run, program, file and sequence of API calls: for a second here, by chance; by libFuzzer in tools/check --long fuzzers.
option(TSL_FUZZ "Build the fuzzers for libFuzzer (Clang)" OFF)
add_test(NAME fuzz/corpus COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus.sh $<TARGET_FILE:tsl> ${CMAKE_CURRENT_BINARY_DIR}/corpus
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(fuzz/corpus PROPERTIES FIXTURES_SETUP fuzz_corpus)
foreach(fuzzer parser texts programs loaders calls)
  add_executable(fuzz_${fuzzer} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${fuzzer}.cpp)
  target_link_libraries(fuzz_${fuzzer} PRIVATE $<IF:$<STREQUAL:${fuzzer},parser>,tsl_syntax,tsl_api> tsl_flags)
  target_include_directories(fuzz_${fuzzer} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  if(fuzzer STREQUAL "programs")
    target_link_libraries(fuzz_programs PRIVATE tsl_random_programs)
  endif()
  if(TSL_FUZZ)
    target_link_options(fuzz_${fuzzer} PRIVATE -fsanitize=fuzzer)
    continue()
  endif()
  target_sources(fuzz_${fuzzer} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/alone.cpp)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/fuzz_in_${fuzzer})
  file(MAKE_DIRECTORY ${folder})
  add_test(NAME fuzz/${fuzzer} COMMAND fuzz_${fuzzer} 2 1 ${CMAKE_CURRENT_BINARY_DIR}/corpus/${fuzzer} WORKING_DIRECTORY ${folder})
  set_tests_properties(fuzz/${fuzzer} PROPERTIES FIXTURES_REQUIRED fuzz_corpus)
endforeach()

set_tests_properties(jit PROPERTIES COST 100)
if(TEST backend_cuda)
  set_tests_properties(backend_cuda PROPERTIES COST 200)
endif()
