# How a layer of src/ becomes a library, and how its tests are built.

# Flags every target of the project shares. Contraction is off everywhere: a*b+c must round twice
# wherever it is evaluated ("Numerics" in docs/architecture.md).
add_library(tsl_flags INTERFACE)
# A switch that forgets a value of an enum is an error in every build.
target_compile_options(tsl_flags INTERFACE -Wall -Wextra -Werror=switch -ffp-contract=off)
if(TSL_WERROR)
  target_compile_options(tsl_flags INTERFACE -Werror)
endif()
# GNU-unique symbols stay global whatever hides the others; in libtsl.a they would clash with those of another copy of the same library.
target_compile_options(tsl_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
target_include_directories(tsl_flags INTERFACE ${TSL_SOURCES})
# GCC 12 warns of overlapping copies in std::string's operator+ where there are none (GCC bug 105651), and where that was precompiled,
# so that it is no system header's any more, of endless ones in three ways.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tsl_flags INTERFACE -Wno-restrict)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(tsl_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()
if(TSL_SANITIZE)
  set(sanitizers $<IF:$<STREQUAL:${TSL_SANITIZE},thread>,thread,address$<COMMA>undefined>)
  target_compile_options(tsl_flags INTERFACE -fsanitize=${sanitizers} -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  if(NOT TSL_SANITIZE STREQUAL "thread" AND NOT TSL_ALL_CHECKS)
    # What AddressSanitizer sees as well, alignment where no elements are read from bytes, and use after return, which nobody
    # asks for at run time: these checks, and AddressSanitizer's in place of calls, double what is compiled.
    target_compile_options(tsl_flags INTERFACE -fno-sanitize=null,object-size,vptr,pointer-overflow
                           $<$<NOT:$<BOOL:$<TARGET_PROPERTY:TSL_READS_ELEMENTS>>>:-fno-sanitize=alignment>
                           $<$<CXX_COMPILER_ID:GNU>:--param=asan-instrumentation-with-call-threshold=0;--param=asan-use-after-return=0>)
  endif()
  target_link_options(tsl_flags INTERFACE -fsanitize=${sanitizers})
endif()
if(TSL_COVERAGE)
  target_compile_options(tsl_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(tsl_flags INTERFACE --coverage)
endif()
if(TSL_POISON)
  target_compile_definitions(tsl_flags INTERFACE TSL_POISON=1)
endif()

# What most files include is compiled once for all layers, and once more for the tests. Each file includes what it needs all the same,
# as the preset debug shows, which does without.
set(TSL_COMMON_HEADERS <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstdlib> <cstring> <deque> <functional>
    <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <stdexcept> <string> <string_view> <unordered_map>
    <unordered_set> <utility> <variant> <vector> <fmt/format.h>)

# tsl_precompile_headers(TARGET FROM FIRST HEADERS...): those that FIRST, which is compiled alike, has compiled.
function(tsl_precompile_headers target from first)
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# Files of a folder are compiled several at once, which takes half the time: most of it goes into headers. So the names of
# unnamed namespaces are unique in a folder. The preset debug compiles each file alone, which shows whether it includes what it needs.
option(TSL_UNITY "Compile several files at once" ON)
set(TSL_FILES_AT_ONCE 10)
if(TSL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A type of an unnamed namespace in a class of the same file seems to be a header's to GCC.
  target_compile_options(tsl_flags INTERFACE -Wno-subobject-linkage)
endif()

# tsl_unite(TARGET): groups the sources of a target that is complete, folder by folder.
function(tsl_unite target)
  if(NOT TSL_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(previous "")
  set(group 0)
  set(count 0)
  foreach(source ${sources})
    if(NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    math(EXPR count "${count} + 1")
    if(NOT folder STREQUAL previous OR count GREATER TSL_FILES_AT_ONCE)
      math(EXPR group "${group} + 1")
      set(count 1)
      set(previous ${folder})
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# tsl_layer(NAME [FOR_PEOPLE] [READS_ELEMENTS] [DEPS other layers and libraries...])
# Every .cpp in the folder of the caller (not below it) belongs to the layer. One FOR_PEOPLE makes what they read, so that
# nobody notices how fast: it is compiled in less time. One that READS_ELEMENTS takes numbers from bytes, whose alignment
# the sanitizers check.
function(tsl_layer name)
  cmake_parse_arguments(ARG "FOR_PEOPLE;READS_ELEMENTS" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(tsl_${name} STATIC ${sources})
  set_property(GLOBAL APPEND PROPERTY TSL_LAYERS tsl_${name})
  set_target_properties(tsl_${name} PROPERTIES TSL_READS_ELEMENTS ${ARG_READS_ELEMENTS})
  target_link_libraries(tsl_${name} PUBLIC ${ARG_DEPS} PRIVATE $<BUILD_INTERFACE:tsl_flags>)
  target_include_directories(tsl_${name} PUBLIC ${TSL_SOURCES})
  if(ARG_FOR_PEOPLE)
    target_compile_options(tsl_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  tsl_precompile_headers(tsl_${name} FROM tsl_base ${TSL_COMMON_HEADERS})
  cmake_language(EVAL CODE "cmake_language(DEFER CALL tsl_unite tsl_${name})")  # a layer adds the sources of its subfolders
endfunction()
