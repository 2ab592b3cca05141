# The command line. Exceptions are enabled only here, because CLI11 throws.

file(GLOB_RECURSE roofline_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/app/cli/*.cpp)
list(FILTER roofline_cli_sources EXCLUDE REGEX "_test\\.cpp$")

# Everything except main() is compiled once, for the program and for its tests.
set(roofline_main ${PROJECT_SOURCE_DIR}/src/app/cli/main.cpp)
list(REMOVE_ITEM roofline_cli_sources ${roofline_main})

add_executable(roofline ${roofline_main})
# The modules are loaded, not linked, but the program must be built with them.
get_property(roofline_built_modules GLOBAL PROPERTY roofline_built_modules)
if(roofline_built_modules)
  add_dependencies(roofline ${roofline_built_modules})
endif()
set(roofline_front roofline)
if(roofline_cli_sources)
  add_library(roofline_cli OBJECT ${roofline_cli_sources})
  target_link_libraries(roofline_cli PUBLIC roofline_local)
  roofline_compile_by_folder(roofline_cli)
  set_target_properties(roofline_cli PROPERTIES POSITION_INDEPENDENT_CODE ON)  # the Python module has it, too
  target_link_libraries(roofline PRIVATE roofline_cli)
  list(APPEND roofline_front roofline_cli)
endif()
foreach(target IN LISTS roofline_front)
  roofline_own_code(${target})
  roofline_harden(${target})
  target_link_libraries(${target} PRIVATE roofline_local CLI11::CLI11 nlohmann_json::nlohmann_json)
endforeach()
