# The library: everything in src/ except tests, the command line, and code that accesses the machine it runs on. It is
# built without exceptions because the same code runs as WebAssembly.

file(GLOB_RECURSE roofline_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
list(FILTER roofline_sources EXCLUDE REGEX "_test\\.cpp$")
list(FILTER roofline_sources EXCLUDE REGEX "/src/(measure|app/local|app/cli)/")

# The data files as constants in one generated source. The program that generates it runs on the build machine, so
# cross-compiling requires a build of that program (the target embed_data) for the build machine.
set(ROOFLINE_EMBED_DATA "" CACHE FILEPATH
    "When cross-compiling: the program embed_data, built for the machine that builds")
set(roofline_embed_data ${ROOFLINE_EMBED_DATA})
if(NOT roofline_embed_data)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(FATAL_ERROR "cross-compiling needs -DROOFLINE_EMBED_DATA=<build folder for this machine>/embed_data")
  endif()
  set(roofline_embed_data embed_data)
  add_executable(embed_data ${PROJECT_SOURCE_DIR}/tools/embed_data.cpp)
  foreach(source base/result base/ascii base/utf8 text/source text/value text/toml_guard text/toml_node)
    target_sources(embed_data PRIVATE ${PROJECT_SOURCE_DIR}/src/${source}.cpp)
  endforeach()
  roofline_own_code(embed_data)
  target_include_directories(embed_data PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(embed_data SYSTEM PRIVATE ${ROOFLINE_TOMLPLUSPLUS_INCLUDE})
  target_link_libraries(embed_data PRIVATE fmt::fmt tl::expected)
endif()
set(ROOFLINE_EMBED_FORM "parsed" CACHE STRING "How TOML files are embedded: parsed, for speed, or text, for size")
set_property(CACHE ROOFLINE_EMBED_FORM PROPERTY STRINGS parsed text)
set(roofline_embedded ${PROJECT_BINARY_DIR}/embedded.cpp)
file(GLOB_RECURSE roofline_data CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/*.toml
     ${PROJECT_SOURCE_DIR}/data/*.roof)
add_custom_command(
  OUTPUT ${roofline_embedded}
  COMMAND ${roofline_embed_data} ${ROOFLINE_EMBED_FORM} ${PROJECT_SOURCE_DIR}/data ${roofline_embedded}
  DEPENDS ${roofline_data} ${roofline_embed_data}
  COMMENT "Embedding data/"
  VERBATIM)

# The file is libroofline.a; the target has another name because `roofline` is the program.
add_library(roofline_core STATIC ${roofline_sources} ${roofline_embedded})
add_library(roofline::roofline ALIAS roofline_core)
set_target_properties(roofline_core PROPERTIES
  OUTPUT_NAME roofline EXPORT_NAME roofline POSITION_INDEPENDENT_CODE ON)
roofline_own_code(roofline_core)
roofline_harden(roofline_core)
roofline_precompile(roofline_core)
roofline_compile_by_folder(roofline_core)
target_compile_features(roofline_core PUBLIC cxx_std_20)
target_compile_options(roofline_core PRIVATE -fno-exceptions)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Nobody interposes single functions of the library, so calls between them may be inlined, as clang does anyway.
  target_compile_options(roofline_core PRIVATE -fno-semantic-interposition)
endif()
target_compile_definitions(roofline_core PRIVATE ROOFLINE_VERSION="${PROJECT_VERSION}")
target_include_directories(roofline_core PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(roofline_core SYSTEM PRIVATE ${ROOFLINE_TOMLPLUSPLUS_INCLUDE} ${ROOFLINE_YAML_INCLUDE})
# The public headers need only <tl/expected.hpp>; fmt, libyaml, zlib and simdjson are needed for linking.
target_link_libraries(roofline_core
  PUBLIC tl::expected $<BUILD_INTERFACE:fmt::fmt> $<INSTALL_INTERFACE:$<LINK_ONLY:fmt::fmt>>
  PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:${ROOFLINE_YAML_LIBRARY}>
          $<INSTALL_INTERFACE:yaml> $<BUILD_INTERFACE:ZLIB::ZLIB> $<INSTALL_INTERFACE:z>
          $<BUILD_INTERFACE:simdjson::simdjson> $<INSTALL_INTERFACE:simdjson> ${CMAKE_DL_LIBS})

if(SQLite3_FOUND)
  foreach(source sqlite_file nsys_sqlite rocpd_sqlite rocpd_sqlite_test)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/import/profile/${source}.cpp PROPERTIES
      COMPILE_DEFINITIONS ROOFLINE_HAVE_SQLITE SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  target_link_libraries(roofline_core PRIVATE $<BUILD_INTERFACE:SQLite::SQLite3> $<INSTALL_INTERFACE:sqlite3>)
endif()

if(ROOFLINE_RSVG_FOUND)
  list(TRANSFORM ROOFLINE_RSVG_INCLUDE_DIRS PREPEND "-isystem;" OUTPUT_VARIABLE rsvg_includes)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/report/plot/png.cpp PROPERTIES
    COMPILE_DEFINITIONS ROOFLINE_HAVE_RSVG COMPILE_OPTIONS "${rsvg_includes}")
endif()
