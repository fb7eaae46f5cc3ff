# Tests whose home is the release build: they start the program, or host programs, and compare what these print.

# The language's chapters; `tsl test` runs each on every tier.
# lang/bits holds scripts that compare bits: they make thousands of kernels, which the corpus leaves out.
file(GLOB chapters CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} lang/*.tsl lang/bits/*.tsl)
# None warns of anything, but for those that do on purpose what a warning is about: they look at the shape or the dtype of
# a result and at nothing else, or read a thousand numbers.
set(warned lang/annotations_parts lang/bits/views lang/counters lang/devices lang/display lang/integers lang/lists_that_grow
    lang/operators lang/patterns lang/std_halves lang/unread_results lang/tensors_dtypes lang/tensors_reduce lang/tensors_special lang/tensors_unsigned)
foreach(chapter ${chapters})
  string(REGEX REPLACE "\\.tsl$" "" name ${chapter})
  set(warnings error)
  if(name IN_LIST warned)
    set(warnings off)
  endif()
  tsl_script_test(${name} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tsl> test --warn ${warnings} tests/${chapter})
endforeach()
# Some scripts write files of fixed names, so they must not run at the same time.
set_tests_properties(lang/csv lang/files lang/streams lang/trees PROPERTIES RESOURCE_LOCK lang_files)

# The prompt under a pseudo-terminal.
if(TARGET libedit::libedit)
  tsl_script_test(prompt_terminal python3 ${CMAKE_CURRENT_SOURCE_DIR}/prompt/test_terminal.py $<TARGET_FILE:tsl>)
  tsl_script_test(prompt_page python3 ${CMAKE_CURRENT_SOURCE_DIR}/prompt/record.py $<TARGET_FILE:tsl> docs/prompt.md)
  set_tests_properties(prompt_terminal PROPERTIES COST 50)
endif()

# Ctrl-C in busy builtins, in scripts and at the prompt: timed, so nothing else runs. (Under a sanitizer nothing ends in time.)
if(TARGET libedit::libedit AND NOT TSL_SANITIZE)
  tsl_script_test(interrupted python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/interrupted.py $<TARGET_FILE:tsl>)
  set_tests_properties(interrupted PROPERTIES RUN_SERIAL ON)
endif()

if(TSL_PYTHON)
  # Programs that stop at breakpoints and errors.
  tsl_script_test(stopped_programs ${TSL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/prompt/stopped.py $<TARGET_FILE:tsl>)
  tsl_script_test(sweep ${TSL_PYTHON} tests/python/test_sweep.py)
  if(TARGET tsl_gloo)
    tsl_script_test(ranks ${TSL_PYTHON} tests/ranks/run.py ${PROJECT_BINARY_DIR})
    tsl_script_test(ranks_random ${TSL_PYTHON} tests/ranks/random_programs.py ${PROJECT_BINARY_DIR} 50)
    # Drawn faults, and kills while ranks save: more in tools/check --long ranks.
    tsl_script_test(ranks_faults ${TSL_PYTHON} tests/ranks/faults.py ${PROJECT_BINARY_DIR} --count 10)
    tsl_script_test(ranks_killed ${TSL_PYTHON} tests/ranks/checkpoints.py ${PROJECT_BINARY_DIR} --count 10)
    set_tests_properties(ranks ranks_random ranks_faults ranks_killed PROPERTIES COST 60)
  endif()
  # The language server: sessions, random edits beside a fresh server, malformed messages; words that editors colour.
  tsl_script_test(lsp ${TSL_PYTHON} tests/lsp/test_session.py $<TARGET_FILE:tsl>)
  tsl_script_test(lsp_edits ${TSL_PYTHON} tests/lsp/test_edits.py $<TARGET_FILE:tsl>)
  tsl_script_test(lsp_fuzz ${TSL_PYTHON} tests/lsp/test_fuzz.py $<TARGET_FILE:tsl>)
  tsl_script_test(editors ${TSL_PYTHON} tests/editors/words.py $<TARGET_FILE:tsl>)
  # Programs that are killed, or lose their power, as they save: at more moments in tools/check --long saves.
  tsl_script_test(killed_saves ${TSL_PYTHON} tests/files/killed_saves.py $<TARGET_FILE:tsl>)
  if(NOT TSL_SANITIZE)  # which must be loaded first
    add_library(power_cut MODULE ${CMAKE_CURRENT_SOURCE_DIR}/files/power_cut.cpp)
    target_link_libraries(power_cut PRIVATE tsl_flags ${CMAKE_DL_LIBS})
    tsl_script_test(power_cuts ${TSL_PYTHON} tests/files/power_cuts.py $<TARGET_FILE:tsl> $<TARGET_FILE:power_cut>)
  endif()
endif()

# Each example, and each script on which the tiers once differed, prints the same, byte for byte, on every tier. No
# example warns of anything; fma.tsl shows that a result is not computed if it is unused, and a warning says so.
file(GLOB examples CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/examples/*.tsl
     ${CMAKE_CURRENT_SOURCE_DIR}/tiers/*.tsl)
foreach(example ${examples})
  string(REGEX REPLACE "\\.tsl$" "" name ${example})
  set(warnings off)
  if(name MATCHES "^examples/" AND NOT name STREQUAL "examples/fma")
    set(warnings error)
  endif()
  tsl_script_test(${name} ${CMAKE_CURRENT_SOURCE_DIR}/compare_tiers.sh $<TARGET_FILE:tsl> ${example} --warn ${warnings})
endforeach()

tsl_script_test(examples/weights ${CMAKE_CURRENT_SOURCE_DIR}/example_weights.sh $<TARGET_FILE:tsl>)
if(TSL_SANITIZE OR TSL_COVERAGE)
  set_tests_properties(examples/text_model PROPERTIES ENVIRONMENT TSL_SCRIPT_ARGUMENTS=10)  # 300 steps otherwise
endif()
set_tests_properties(examples/text_model PROPERTIES COST 100)

tsl_script_test(program_limits ${CMAKE_CURRENT_SOURCE_DIR}/program_limits.sh $<TARGET_FILE:tsl> ${CMAKE_CURRENT_BINARY_DIR}/limits)
if(TSL_SANITIZE)  # a sanitizer takes more of the address space than there is to be
  set_tests_properties(program_limits PROPERTIES ENVIRONMENT TSL_SANITIZE=1)
endif()

# Every script is formatted; `tsl fmt benchmarks examples stdlib tests` formats them.
tsl_script_test(fmt $<TARGET_FILE:tsl> fmt --check benchmarks docs/reference examples stdlib tests)

# The completion scripts and the man page that the program prints.
tsl_script_test(completion ${CMAKE_CURRENT_SOURCE_DIR}/completion.sh $<TARGET_FILE:tsl>
                ${CMAKE_CURRENT_BINARY_DIR}/completion)

# What mistakes that are found before a program runs print; `tests/messages.sh TSL FOLDER --update` writes the texts anew.
tsl_script_test(messages_syntax ${CMAKE_CURRENT_SOURCE_DIR}/messages.sh $<TARGET_FILE:tsl> tests/messages/syntax)
# The blocks of TSL and C++ in the documentation run, and the benchmarks parse; see the scripts.
set(docs_hosts --hosts $<TARGET_FILE:tsl_shared> ${CMAKE_CXX_COMPILER})
if(TSL_SANITIZE OR TSL_MUTANTS)  # host programs would need the sanitizers, too
  set(docs_hosts)
endif()
tsl_script_test(docs ${CMAKE_CURRENT_SOURCE_DIR}/docs.sh $<TARGET_FILE:tsl> ${CMAKE_CURRENT_BINARY_DIR}/docs
                ${docs_hosts} README.md docs)
if(TSL_PYTHON)
  tsl_script_test(docs_tables ${TSL_PYTHON} tests/docs_tables.py $<TARGET_FILE:tsl> docs/coming-from.md)
endif()
# The pictures of docs/plot.md are those that its blocks save; `tests/plots.py TSL FOLDER --update` writes them anew.
if(TSL_PYTHON)
  tsl_script_test(plots ${TSL_PYTHON} tests/plots.py $<TARGET_FILE:tsl> ${CMAKE_CURRENT_BINARY_DIR}/plots)
  set_tests_properties(docs plots PROPERTIES RESOURCE_LOCK plots)  # both run the blocks
endif()
# The examples of the reference run, and every name has one.
tsl_script_test(reference python3 ${CMAKE_CURRENT_SOURCE_DIR}/reference.py $<TARGET_FILE:tsl>)
# What mistakes at run time print; `tests/messages.sh TSL FOLDER --update` writes the texts anew.
tsl_script_test(messages_run ${CMAKE_CURRENT_SOURCE_DIR}/messages.sh $<TARGET_FILE:tsl> tests/messages/run)
# The page of all errors, whose examples run; `tests/errors/page.py TSL --update` writes it anew.
tsl_script_test(errors_page python3 ${CMAKE_CURRENT_SOURCE_DIR}/errors/page.py $<TARGET_FILE:tsl>)
tsl_script_test(benchmarks ${CMAKE_CURRENT_SOURCE_DIR}/check_scripts.sh $<TARGET_FILE:tsl> benchmarks)

# The library of each room links with the rooms that cmake/rooms.txt allows it alone.
tsl_script_test(links ${TSL_PYTHON} tools/lints/symbols.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_NM})
