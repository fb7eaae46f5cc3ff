# cmake -DARCHIVE=… -DOBJECT=… -DFUNCTIONS=… -DREPLACED=… -DNM=… -DLINKER=… -DOBJCOPY=… -P PrivateOpenBlas.cmake
# Makes an object of what FUNCTIONS need of OpenBLAS, and shows nothing else, so that it is neither replaced by another OpenBLAS of
# the process, nor replaces that. The functions REPLACED are weak. The tables of the kernels of all processors name those of
# complex numbers of f32, too, a third of the code, which nothing calls: there are none.
execute_process(COMMAND ${NM} --undefined-only ${ARCHIVE} OUTPUT_FILE ${OBJECT}.undefined ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${OBJECT}.undefined complex REGEX " i?c[a-z0-9_]*_[A-Z][A-Z0-9_]*$")
list(TRANSFORM complex REPLACE "^ *U " "")
list(REMOVE_DUPLICATES complex)
list(JOIN complex " = 0;\n" script)
if(complex)
  string(APPEND script " = 0;\n")
endif()
file(WRITE ${OBJECT}.complex "/* Symbols without code. */\n${script}")
file(REMOVE ${OBJECT}.undefined)

list(TRANSFORM FUNCTIONS PREPEND --undefined= OUTPUT_VARIABLE roots)
execute_process(COMMAND ${LINKER} -r -o ${OBJECT} ${roots} ${OBJECT}.complex ${ARCHIVE} COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM FUNCTIONS PREPEND --keep-global-symbol= OUTPUT_VARIABLE shown)
list(TRANSFORM REPLACED PREPEND --keep-global-symbol= OUTPUT_VARIABLE shown_weak)
list(TRANSFORM REPLACED PREPEND --weaken-symbol= OUTPUT_VARIABLE weak)
execute_process(COMMAND ${OBJCOPY} --strip-debug ${shown} ${shown_weak} ${weak} ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
