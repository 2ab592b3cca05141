# cmake --install: the program, the library, its headers, and the package file for find_package(roofline).

include(CMakePackageConfigHelpers)

install(TARGETS roofline RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS roofline_core EXPORT roofline-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Headers include each other as "units/dtype.hpp", and so do users: include/roofline is the include directory.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/roofline
        FILES_MATCHING PATTERN "*.hpp" PATTERN "cli" EXCLUDE PATTERN "*_test.hpp" EXCLUDE)

set(roofline_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/roofline)
install(EXPORT roofline-targets NAMESPACE roofline:: DESTINATION ${roofline_config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/roofline-config.cmake.in
  ${PROJECT_BINARY_DIR}/roofline-config.cmake INSTALL_DESTINATION ${roofline_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/roofline-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/roofline-config.cmake ${PROJECT_BINARY_DIR}/roofline-config-version.cmake
        DESTINATION ${roofline_config_dir})
