# Tests of what other programs link, and of what is installed; their home is the release build.

# libtsl.so and libtsl.a show the API alone, and other projects find and link what was installed, or include TSL. Sanitizers
# would have to be linked there, too.
add_test(NAME api_exports COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/api/exports.sh $<TARGET_FILE:tsl_shared>
         ${CMAKE_SOURCE_DIR}/include/tsl/tsl.h)
if(TARGET tsl_static)
  add_test(NAME api_exports_static COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/api/exports.sh $<TARGET_FILE:tsl_static>
           ${CMAKE_SOURCE_DIR}/include/tsl/tsl.h)
endif()
# Host programs around which TSL must disturb nothing. (Sanitizers take memory, stacks and signals of their own.)
if(NOT TSL_SANITIZE AND NOT TSL_MUTANTS)
  file(GLOB hosts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/hosts/*.cpp)
  foreach(source ${hosts})
    get_filename_component(name ${source} NAME_WE)
    add_executable(host_${name} ${source})
    target_link_libraries(host_${name} PRIVATE tsl_shared tsl_flags Threads::Threads ${CMAKE_DL_LIBS})
    target_include_directories(host_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    set(command host_${name})
    if(name STREQUAL "locale")
      set(command ${CMAKE_CURRENT_SOURCE_DIR}/hosts/locale.sh $<TARGET_FILE:host_locale> ${CMAKE_CURRENT_BINARY_DIR}/locales)
    endif()
    add_test(NAME hosts/${name} COMMAND ${command})
    set_tests_properties(hosts/${name} PROPERTIES SKIP_RETURN_CODE ${all_skipped})
  endforeach()
  if(TSL_PYTHON)  # the example for scripts of strangers
    add_executable(example_server ${CMAKE_SOURCE_DIR}/examples/embed/server.cpp)
    target_link_libraries(example_server PRIVATE tsl_shared tsl_flags Threads::Threads)
    tsl_script_test(hosts/attacked_server ${TSL_PYTHON} tests/api/attack_server.py $<TARGET_FILE:example_server>)
    set_tests_properties(hosts/attacked_server PROPERTIES RUN_SERIAL ON)  # it is timed
  endif()
  get_property(layers GLOBAL PROPERTY TSL_LAYERS)
  list(REMOVE_ITEM layers tsl_syntax tsl_cli tsl_prompt)  # the last two are the program's
  list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  add_test(NAME hosts/static_objects COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/hosts/static_objects.sh ${layers})
endif()
# What scripts without capabilities ask of the system. (Sanitizers do not run under strace.)
if(NOT TSL_SANITIZE)
  add_executable(api_sandbox_host ${CMAKE_CURRENT_SOURCE_DIR}/sandbox/host.cpp)
  target_link_libraries(api_sandbox_host PRIVATE tsl_api tsl_flags)
  add_test(NAME api_sandbox COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/sandbox/sandbox.sh $<TARGET_FILE:api_sandbox_host>)
  set_tests_properties(api_sandbox PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(NOT TSL_SANITIZE AND NOT TSL_MUTANTS)
  add_test(NAME api_installed COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/api/installed.sh ${CMAKE_BINARY_DIR}
           ${CMAKE_CURRENT_BINARY_DIR}/installed ${CMAKE_SOURCE_DIR}/examples/embed)
  foreach(way add_subdirectory FetchContent)
    add_test(NAME package/${way} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/package/included.sh ${way} ${CMAKE_SOURCE_DIR}
             ${CMAKE_CURRENT_BINARY_DIR}/included_${way})
  endforeach()
  tsl_script_test(package/archive ${CMAKE_CURRENT_SOURCE_DIR}/package/archive.sh ${CMAKE_BINARY_DIR}
                  ${CMAKE_CURRENT_BINARY_DIR}/archive)
  set_tests_properties(package/archive PROPERTIES SKIP_RETURN_CODE ${all_skipped})
  if(TSL_PYTHON)
    # The package with its extension, and by ctypes alone; and whether it declares all that tsl.h does.
    add_test(NAME python COMMAND ${TSL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/test_tsl.py)
    add_test(NAME python_ctypes COMMAND ${CMAKE_COMMAND} -E env TSL_CTYPES=1
             ${TSL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/test_tsl.py)
    add_test(NAME python_calls COMMAND ${TSL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/test_calls.py)
    add_test(NAME python_script COMMAND ${TSL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/test_script.py)
    add_test(NAME python_header COMMAND ${TSL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/test_header.py)
    add_test(NAME python_numpy COMMAND ${TSL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/test_numpy.py)
    add_test(NAME python_frameworks COMMAND ${TSL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/test_frameworks.py)
    set_tests_properties(python_numpy python_frameworks PROPERTIES SKIP_RETURN_CODE ${all_skipped})
    set_tests_properties(python python_ctypes python_calls python_script python_header python_numpy python_frameworks PROPERTIES ENVIRONMENT
                         "PYTHONPATH=${CMAKE_SOURCE_DIR}/python;TSL_LIBRARY=$<TARGET_FILE:tsl_shared>;PYTHONDONTWRITEBYTECODE=1")
  endif()
endif()

# A tool that links the room `analysis`, and none that runs programs.
add_executable(analysis_alone ${CMAKE_CURRENT_SOURCE_DIR}/analysis_alone.cpp)
target_link_libraries(analysis_alone PRIVATE tsl_analysis tsl_flags)
add_test(NAME analysis_alone COMMAND analysis_alone)
