# What `cmake --install` puts where: the program, libtsl.so, its headers, and the files by which CMake (find_package(tsl))
# and pkg-config find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS tsl)
install(TARGETS tsl_shared EXPORT tslTargets)
install(DIRECTORY include/tsl TYPE INCLUDE)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tsl)
install(EXPORT tslTargets NAMESPACE tsl:: FILE tslConfig.cmake DESTINATION ${package})
# Before version 1.0 each minor version may change the API.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tslConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/tsl.pc.in ${CMAKE_BINARY_DIR}/tsl.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tslConfigVersion.cmake DESTINATION ${package})
install(FILES ${CMAKE_BINARY_DIR}/tsl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
