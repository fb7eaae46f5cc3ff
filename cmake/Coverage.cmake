# The target `coverage` runs the tests and prints the line coverage of src/ by folder (gcovr); it fails below 90 %.
# Generated files lie in the build folder and do not count.
if(CMAKE_SCRIPT_MODE_FILE)  # run as a script: prints the table from gcovr's SUMMARY
  file(READ ${SUMMARY} summary)
  string(JSON count LENGTH ${summary} files)
  math(EXPR last "${count} - 1")
  set(folders total)
  foreach(i RANGE ${last})
    string(JSON name GET ${summary} files ${i} filename)
    string(JSON lines GET ${summary} files ${i} line_total)
    string(JSON covered GET ${summary} files ${i} line_covered)
    get_filename_component(folder ${name} DIRECTORY)
    list(APPEND folders ${folder})
    foreach(row ${folder} total)
      math(EXPR lines_${row} "0${lines_${row}} + ${lines}")
      math(EXPR covered_${row} "0${covered_${row}} + ${covered}")
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(SORT folders)
  foreach(folder ${folders})
    math(EXPR tenths "${covered_${folder}} * 1000 / ${lines_${folder}}")
    string(REGEX REPLACE "(.)$" ".\\1" percent ${tenths})
    message("${percent} %\t${covered_${folder}} of ${lines_${folder}} lines\t${folder}")
  endforeach()
  if(tenths LESS 900)  # of the total, the last row
    message(FATAL_ERROR "Less than 90 % of src/ is covered.")
  endif()
  return()
endif()

find_program(TSL_GCOVR gcovr)
if(NOT TSL_GCOVR)
  message(FATAL_ERROR "gcovr was not found (Debian: apt-get install gcovr).")
endif()
set(gcov "gcov")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(gcov "llvm-cov gcov")
endif()
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
set(summary ${PROJECT_BINARY_DIR}/coverage.json)
add_custom_target(coverage
  COMMAND find ${PROJECT_BINARY_DIR} -name "*.gcda" -delete
  COMMAND ${CMAKE_CTEST_COMMAND} --output-on-failure --parallel ${cores}
  COMMAND ${TSL_GCOVR} --root ${PROJECT_SOURCE_DIR} --filter ${PROJECT_SOURCE_DIR}/src/ --gcov-executable "${gcov}"
          --exclude-unreachable-branches --json-summary ${summary} ${PROJECT_BINARY_DIR}
  COMMAND ${CMAKE_COMMAND} -DSUMMARY=${summary} -P ${CMAKE_CURRENT_LIST_FILE}
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
  VERBATIM USES_TERMINAL)
# It is built on request, after everything that ctest runs.
get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/tests PROPERTY BUILDSYSTEM_TARGETS)
add_dependencies(coverage ${targets})
if(TARGET tsl)
  add_dependencies(coverage tsl)
endif()
