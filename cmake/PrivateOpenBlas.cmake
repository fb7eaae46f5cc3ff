# cmake -DARCHIVE=… -DOBJECT=… -DFUNCTIONS=… -DREPLACED=… -DNM=… -DLINKER=… -DOBJCOPY=… -P PrivateOpenBlas.cmake
# Makes an object of what FUNCTIONS need of OpenBLAS, and shows nothing else, so that it is neither replaced by another OpenBLAS of
# the process, nor replaces that. The functions REPLACED are weak. The tables of the kernels of all processors name those of
# complex numbers of f32, too, a third of the code, which nothing calls: xerbla, which reports errors, has their names. (Of symbols
# with the address 0, the linker for aarch64 makes undefined ones.) Processors of SAME have no kernels of their own, but those of
# another that runs on them (docs/installing.md); in OpenBLAS 0.3.21, those of ZEN are HASWELL's anyway.
set(SAME ATOM=PRESCOTT BARCELONA=PRESCOTT BOBCAT=PRESCOTT CORE2=PRESCOTT DUNNINGTON=PRESCOTT NANO=PRESCOTT NEHALEM=PRESCOTT
         OPTERON=PRESCOTT OPTERON_SSE3=PRESCOTT PENRYN=PRESCOTT BULLDOZER=SANDYBRIDGE PILEDRIVER=SANDYBRIDGE
         STEAMROLLER=SANDYBRIDGE EXCAVATOR=HASWELL ZEN=HASWELL COOPERLAKE=SKYLAKEX)
execute_process(COMMAND ${NM} --undefined-only ${ARCHIVE} OUTPUT_FILE ${OBJECT}.undefined ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${OBJECT}.undefined undefined REGEX " gotoblas_[A-Z]")
string(APPEND undefined ";")
file(STRINGS ${OBJECT}.undefined complex REGEX " i?c[a-z0-9_]*_[A-Z][A-Z0-9_]*$")
list(TRANSFORM complex REPLACE "^ *U " "")
list(REMOVE_DUPLICATES complex)
list(JOIN complex " = xerbla_;\n" script)
if(complex)
  string(APPEND script " = xerbla_;\n")
endif()
foreach(pair ${SAME})
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 left_out)
  list(GET pair 1 kept)
  if(undefined MATCHES "gotoblas_${left_out};" AND undefined MATCHES "gotoblas_${kept};")
    string(APPEND script "gotoblas_${left_out} = gotoblas_${kept};\n")
  endif()
endforeach()
file(WRITE ${OBJECT}.complex "/* Symbols without code. */\n${script}")
file(REMOVE ${OBJECT}.undefined)

list(TRANSFORM FUNCTIONS PREPEND --undefined= OUTPUT_VARIABLE roots)
execute_process(COMMAND ${LINKER} -r -o ${OBJECT} ${roots} ${OBJECT}.complex ${ARCHIVE} COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM FUNCTIONS PREPEND --keep-global-symbol= OUTPUT_VARIABLE shown)
list(TRANSFORM REPLACED PREPEND --keep-global-symbol= OUTPUT_VARIABLE shown_weak)
list(TRANSFORM REPLACED PREPEND --weaken-symbol= OUTPUT_VARIABLE weak)
execute_process(COMMAND ${OBJCOPY} --strip-debug ${shown} ${shown_weak} ${weak} ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
