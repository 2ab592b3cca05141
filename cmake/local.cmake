# Code that accesses the machine it runs on: src/measure and src/app/local. Parts that need a library which may be
# absent are modules: src/measure/NAME/*.cpp or src/app/local/NAME/*.cpp becomes modules/roofline-NAME.so, which is
# loaded at run time (measure/module.hpp).

set(roofline_modules dnnl hwloc mpi cbc http)

file(GLOB_RECURSE roofline_local_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/measure/*.cpp ${PROJECT_SOURCE_DIR}/src/app/local/*.cpp)
list(FILTER roofline_local_sources EXCLUDE REGEX "_test\\.cpp$")
foreach(name IN LISTS roofline_modules)
  list(FILTER roofline_local_sources EXCLUDE REGEX "/src/(measure|app/local)/${name}/")
endforeach()

find_package(Threads REQUIRED)
add_library(roofline_local STATIC ${roofline_local_sources})
set_target_properties(roofline_local PROPERTIES POSITION_INDEPENDENT_CODE ON)
roofline_own_code(roofline_local)
roofline_harden(roofline_local)
roofline_precompile(roofline_local)
roofline_compile_by_folder(roofline_local)
target_compile_options(roofline_local PRIVATE -fno-exceptions)
target_compile_definitions(roofline_local PUBLIC ROOFLINE_VERSION="${PROJECT_VERSION}")
target_link_libraries(roofline_local PUBLIC roofline_core Threads::Threads
  PRIVATE nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})

# roofline_module(name libraries...): does nothing if the module has no sources.
function(roofline_module name)
  file(GLOB sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/measure/${name}/*.cpp ${PROJECT_SOURCE_DIR}/src/app/local/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  if(NOT sources)
    return()
  endif()
  add_library(roofline_${name} MODULE ${sources})
  set_target_properties(roofline_${name} PROPERTIES PREFIX "" OUTPUT_NAME roofline-${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/modules CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    # The run path is final from the start. CMake would pad a run path that is replaced at installation with `:`, which
    # the loader takes for the current folder.
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
  roofline_own_code(roofline_${name})
  roofline_harden(roofline_${name})
  target_link_libraries(roofline_${name} PRIVATE roofline_local ${ARGN})
  # The program's calls of its own functions must not be bound to the module's copies of them.
  target_link_options(roofline_${name} PRIVATE -Wl,--exclude-libs,ALL)
  set_property(GLOBAL APPEND PROPERTY roofline_built_modules roofline_${name})
  # The program looks for modules relative to its own folder, whatever the system's library folder for an architecture.
  install(TARGETS roofline_${name} LIBRARY DESTINATION lib/roofline COMPONENT modules)
endfunction()

if(ROOFLINE_HWLOC_FOUND)
  roofline_module(hwloc PkgConfig::ROOFLINE_HWLOC)
endif()

# Loops that the compiler should vectorize.
set_source_files_properties(
  ${PROJECT_SOURCE_DIR}/src/measure/run/elements.cpp ${PROJECT_SOURCE_DIR}/src/measure/run/plain_matmul.cpp
  ${PROJECT_SOURCE_DIR}/src/measure/run/register_tile.cpp
  ${PROJECT_SOURCE_DIR}/src/measure/network/sum.cpp
  PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release,RelWithDebInfo>:-O3>)

if(ROOFLINE_DNNL_INCLUDE AND ROOFLINE_DNNL_LIBRARY)
  roofline_module(dnnl ${ROOFLINE_DNNL_LIBRARY})
endif()
if(MPI_CXX_FOUND)
  roofline_module(mpi MPI::MPI_CXX)
endif()
if(ROOFLINE_CBC_FOUND)
  roofline_module(cbc PkgConfig::ROOFLINE_CBC)
endif()
if(ROOFLINE_HTTPLIB_FOUND)
  roofline_module(http PkgConfig::ROOFLINE_HTTPLIB Threads::Threads)
endif()
