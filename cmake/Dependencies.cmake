# The libraries TSL stands on, each looked for once. What is missing is named with the Debian package that has it.
# Elsewhere: install the library any other way and point CMAKE_PREFIX_PATH to it.

macro(tsl_require package debian_package)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found (Debian: apt-get install ${debian_package}).")
  endif()
endmacro()

# tsl_require_files(TARGET HEADER LIBRARY DEBIAN_PACKAGE [FOLDERS...])
# For libraries without a CMake package, or whose package wants more than we use: an imported target from a header
# and a library file. FOLDERS are where the header may lie below an include folder. LIBRARY is "" if there is none.
function(tsl_require_files target header library debian_package)
  string(MAKE_C_IDENTIFIER "${target}" name)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES ${ARGN})
  if(library)
    find_library(${name}_LIBRARY ${library})
  endif()
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(NOT ${name}_INCLUDE_DIR OR (library AND NOT ${name}_LIBRARY))
    message(FATAL_ERROR "${header} was not found (Debian: apt-get install ${debian_package}).")
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${name}_INCLUDE_DIR})
  if(library)
    target_link_libraries(${target} INTERFACE ${${name}_LIBRARY})
  endif()
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
tsl_require(fmt libfmt-dev)
tsl_require(nlohmann_json nlohmann-json3-dev)
# Debian's package config of libzip also wants its command-line tools; that of CLI11 is not in every distribution.
tsl_require_files(libzip::zip zip.h zip libzip-dev)
tsl_require_files(PNG::PNG png.h png libpng-dev)
tsl_require_files(JPEG::JPEG jpeglib.h jpeg libjpeg-dev)
tsl_require_files(re2::re2 re2/re2.h re2 libre2-dev)
tsl_require_files(utf8proc::utf8proc utf8proc.h utf8proc libutf8proc-dev)
tsl_require_files(CLI11::CLI11 CLI/CLI.hpp "" libcli11-dev)
# Line editing at the prompt. Without it the prompt reads plain lines.
set(TSL_LIBEDIT AUTO CACHE STRING "Edit lines at the prompt with libedit: ON, OFF, or AUTO (if it is found)")
set_property(CACHE TSL_LIBEDIT PROPERTY STRINGS AUTO ON OFF)
if(NOT TSL_LIBEDIT STREQUAL "OFF")
  find_path(libedit_INCLUDE_DIR histedit.h)
  find_library(libedit_LIBRARY edit)
  mark_as_advanced(libedit_INCLUDE_DIR libedit_LIBRARY)
  if(TSL_LIBEDIT STREQUAL "ON" OR (libedit_INCLUDE_DIR AND libedit_LIBRARY))
    tsl_require_files(libedit::libedit histedit.h edit libedit-dev)
  else()
    message(STATUS "No libedit (Debian: libedit-dev): the prompt reads plain lines.")
  endif()
endif()
# cblas.h is in several packages; the one beside openblas_config.h is OpenBLAS's own. Of its library, TSL takes the archive that
# is built without threads: backend/cpu/CMakeLists.txt makes a private copy of its functions.
tsl_require_files(OpenBLAS::Headers openblas_config.h "" libopenblas-serial-dev openblas-serial openblas openblas-pthread)
find_library(TSL_OPENBLAS_ARCHIVE libopenblas.a PATH_SUFFIXES openblas-serial openblas
             DOC "OpenBLAS as a static library without threads")
if(NOT TSL_OPENBLAS_ARCHIVE)
  message(FATAL_ERROR "libopenblas.a was not found (Debian: apt-get install libopenblas-serial-dev).")
endif()
execute_process(COMMAND ${CMAKE_AR} t ${TSL_OPENBLAS_ARCHIVE} OUTPUT_VARIABLE members)
if(members MATCHES "blas_server")
  message(FATAL_ERROR "${TSL_OPENBLAS_ARCHIVE} has threads of its own. Set TSL_OPENBLAS_ARCHIVE to one that has none "
                      "(Debian: apt-get install libopenblas-serial-dev).")
endif()
