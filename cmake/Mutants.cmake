# TSL_MUTANTS: a copy of src/ in the build folder with the mistakes of tests/mutants/, for tests/mutants/run.py.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(TSL_SOURCES ${PROJECT_BINARY_DIR}/mutated/src)
execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/mutants/lists.py apply ${PROJECT_SOURCE_DIR}/src ${TSL_SOURCES}
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB lists CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/mutants/*)
file(GLOB_RECURSE originals CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lists} ${originals})
add_compile_options(-include ${PROJECT_BINARY_DIR}/mutated/mutant.h)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-parentheses>)  # of mutated expressions
