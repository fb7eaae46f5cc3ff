# The target `coverage` runs the tests and prints the line coverage of src/ (gcovr). Generated files lie in the
# build folder and do not count.
find_program(TSL_GCOVR gcovr)
if(NOT TSL_GCOVR)
  message(FATAL_ERROR "gcovr was not found (Debian: apt-get install gcovr).")
endif()
set(gcov "gcov")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(gcov "llvm-cov gcov")
endif()
add_custom_target(coverage
  COMMAND find ${CMAKE_BINARY_DIR} -name "*.gcda" -delete
  COMMAND ${CMAKE_CTEST_COMMAND} --output-on-failure
  COMMAND ${TSL_GCOVR} --root ${CMAKE_SOURCE_DIR} --filter ${CMAKE_SOURCE_DIR}/src/ --gcov-executable "${gcov}"
          --exclude-unreachable-branches --print-summary ${CMAKE_BINARY_DIR}
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
  VERBATIM USES_TERMINAL)
# It is built on request, after everything that ctest runs.
get_property(targets DIRECTORY ${CMAKE_SOURCE_DIR}/tests PROPERTY BUILDSYSTEM_TARGETS)
add_dependencies(coverage ${targets})
if(TARGET tsl)
  add_dependencies(coverage tsl)
endif()
