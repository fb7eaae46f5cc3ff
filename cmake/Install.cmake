# What `cmake --install` puts where: the program, libtsl.so and libtsl.a, their headers, and the files by which CMake
# (find_package(tsl)) and pkg-config find them, the man page, and what completes the command line in bash, zsh and fish.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The tools build the program alone. What `cmake --install` needs besides is built then.
set(installed_targets tsl_shared)
set(missing "NOT EXISTS \"$<TARGET_FILE:tsl_shared>\"")
if(TARGET tsl_static)
  list(APPEND installed_targets tsl_static)
  string(APPEND missing " OR NOT EXISTS \"$<TARGET_FILE:tsl_static>\"")
endif()
list(JOIN installed_targets " " targets)
install(CODE "
  if(${missing})
    message(STATUS \"Building libtsl first: only the program was built\")
    execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target tsl ${targets} RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR \"libtsl cannot be built: cmake --build ${PROJECT_BINARY_DIR} says why\")
    endif()
  endif()")
install(TARGETS tsl)
install(TARGETS tsl_shared EXPORT tslTargets)
if(TARGET tsl_static)
  install(TARGETS tsl_static)
endif()
if(TARGET tsl_gloo)  # by `cmake --install … --component ranks`: packages would need Gloo otherwise
  install(TARGETS tsl_gloo LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tsl COMPONENT ranks EXCLUDE_FROM_ALL)
endif()
install(DIRECTORY include/tsl TYPE INCLUDE)
install(FILES LICENSE SECURITY.md TYPE DOC)
install(DIRECTORY examples/embed DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES examples/digits.tsl DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)  # and what the tutorial reads
install(FILES examples/data/digits.npz examples/data/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/data)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tsl)
install(EXPORT tslTargets NAMESPACE tsl:: DESTINATION ${package})
configure_package_config_file(cmake/tslConfig.cmake.in ${PROJECT_BINARY_DIR}/tslConfig.cmake INSTALL_DESTINATION ${package}
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Before version 1.0 each minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tslConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/tsl.pc.in ${PROJECT_BINARY_DIR}/tsl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tslConfig.cmake ${PROJECT_BINARY_DIR}/tslConfigVersion.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/tsl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# tools/package makes the package of Debian, whose dependencies dpkg-shlibdeps finds.
set(CPACK_PACKAGE_NAME tsl)
set(CPACK_PACKAGE_CONTACT "the TSL project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Tensor scripting language, with libraries for programs that embed it")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION interpreters)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libfmt-dev, libre2-dev, libutf8proc-dev, libzip-dev, libpng-dev, libjpeg-dev, libantlr4-runtime-dev")  # for libtsl.a
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcairo2")  # for plots in .png files
include(CPack)

# The program prints its man page and completion scripts, so it has to run here. The folders are named as its readers do.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(share ${PROJECT_BINARY_DIR}/share)
  foreach(page bash:bash-completion/completions/tsl zsh:zsh/site-functions/_tsl fish:fish/vendor_completions.d/tsl.fish
               man:man/man1/tsl.1)
    string(REGEX MATCH "^([a-z]+):(.*)/([^/]+)$" matched ${page})
    set(folder ${share}/${CMAKE_MATCH_2})
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${folder}/${CMAKE_MATCH_3} COMMAND tsl generate ${CMAKE_MATCH_1} > ${folder}/${CMAKE_MATCH_3}
                       DEPENDS tsl VERBATIM)
    list(APPEND pages ${folder}/${CMAKE_MATCH_3})
  endforeach()
  add_custom_target(tsl_pages ALL DEPENDS ${pages})
  install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target tsl_pages OUTPUT_QUIET)")
  install(DIRECTORY ${share}/ TYPE DATA)
endif()
