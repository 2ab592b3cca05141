# cmake --install installs the program with its manual page and completions, the library with its public headers, and
# the files for find_package(roofline) and pkg-config. `cpack` makes Debian packages with the same files.

include(CMakePackageConfigHelpers)

# The manual page and the completions are generated from output of the program after it has been built.
set(roofline_shell_files ${PROJECT_BINARY_DIR}/share)
if(NOT CMAKE_CROSSCOMPILING)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  set(roofline_made "")
  foreach(shell bash zsh fish)
    set(output ${roofline_shell_files}/roofline.${shell})
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${roofline_shell_files}
      COMMAND $<TARGET_FILE:roofline> completion ${shell} > ${output}
      DEPENDS roofline
      VERBATIM)
    list(APPEND roofline_made ${output})
  endforeach()
  if(Python3_Interpreter_FOUND)
    set(output ${roofline_shell_files}/roofline.1.gz)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${roofline_shell_files}
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/man_page.py --program $<TARGET_FILE:roofline>
              --output ${output}
      DEPENDS roofline ${PROJECT_SOURCE_DIR}/scripts/man_page.py
      VERBATIM)
    list(APPEND roofline_made ${output})
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  else()
    roofline_miss(python3 "no manual page")
  endif()
  add_custom_target(roofline_shell ALL DEPENDS ${roofline_made})
  # Each shell looks for completions of packages in its own folder.
  install(FILES ${roofline_shell_files}/roofline.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME roofline COMPONENT program)
  install(FILES ${roofline_shell_files}/roofline.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
          RENAME _roofline COMPONENT program)
  install(FILES ${roofline_shell_files}/roofline.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT program)
endif()
# What `./dev page` has built, if it has; `roofline page` finds it there.
install(FILES ${PROJECT_BINARY_DIR}/page/index.html DESTINATION ${CMAKE_INSTALL_DATADIR}/roofline/page
        COMPONENT program OPTIONAL)
install(TARGETS roofline RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

install(TARGETS roofline_core EXPORT roofline-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
        FILES_MATCHING PATTERN "*.hpp")
set(roofline_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/roofline)
install(EXPORT roofline-targets NAMESPACE roofline:: DESTINATION ${roofline_config_dir} COMPONENT library)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/roofline-config.cmake.in
  ${PROJECT_BINARY_DIR}/roofline-config.cmake INSTALL_DESTINATION ${roofline_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/roofline-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/roofline-config.cmake ${PROJECT_BINARY_DIR}/roofline-config-version.cmake
        DESTINATION ${roofline_config_dir} COMPONENT library)
file(RELATIVE_PATH roofline_pc_include ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(SQLite3_FOUND)
  set(roofline_pc_sqlite " sqlite3")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/roofline.pc.in ${PROJECT_BINARY_DIR}/roofline.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/roofline.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

include(package)
