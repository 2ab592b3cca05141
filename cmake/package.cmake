# `cpack` in the build folder makes Debian packages. The program has few dependencies. The modules depend on MPI, oneDNN
# and hwloc, so they are a separate package, and so is the library for developers.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The roofline developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program modules library)
if(NOT roofline_built_modules)
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL modules)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME roofline)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "roofline-modules (= ${PROJECT_VERSION})")
# loaded when a PNG is requested
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "librsvg2-2")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "The program `roofline`, its manual page and completions for shells.")

set(CPACK_DEBIAN_MODULES_PACKAGE_NAME roofline-modules)
set(CPACK_DEBIAN_MODULES_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MODULES_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MODULES_PACKAGE_DEPENDS "roofline (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_MODULES_DESCRIPTION
    "What `roofline measure` and `roofline run` do with other libraries: fast kernels, topology, ranks.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libroofline-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libfmt-dev, libexpected-dev, libyaml-dev, zlib1g-dev, libsimdjson-dev")
if(SQLite3_FOUND)
  string(APPEND CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ", libsqlite3-dev")
endif()
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The library and its headers, for C++20 programs.")
include(CPack)
