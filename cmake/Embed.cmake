# Turns stdlib/*.tsl into a C++ table of texts. Included, it offers tsl_embed(TARGET FOLDER); run as a script, it
# writes OUTPUT from FILES (names relative to FOLDER).
if(CMAKE_SCRIPT_MODE_FILE)
  set(rows "")
  string(REPLACE "|" ";" FILES "${FILES}")
  foreach(file ${FILES})
    file(READ ${FOLDER}/${file} text)
    string(REGEX REPLACE "\\.tsl$" "" name ${file})
    # One literal may not be too long for every compiler, so each line has its own.
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
    string(APPEND rows "    {\"${name}\",\n     \"${text}\"},\n")
  endforeach()
  file(WRITE ${OUTPUT} "// Generated from stdlib/ by cmake/Embed.cmake.
#include \"engine/library.h\"

namespace tsl {

namespace {
constexpr LibrarySource kSources[] = {
${rows}    {\"\", \"\"},  // so that the table is never empty
};
}  // namespace

std::span<const LibrarySource> embedded_sources() { return std::span(kSources).first(std::size(kSources) - 1); }

}  // namespace tsl
")
  return()
endif()

function(tsl_embed target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*.tsl)
  list(SORT files)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_sources.cpp)
  string(REPLACE ";" "|" joined "${files}")
  set(paths ${files})
  list(TRANSFORM paths PREPEND ${folder}/)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFILES=${joined} -DFOLDER=${folder} -DOUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
