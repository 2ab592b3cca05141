# The dependencies of the core as WebAssembly, under the names that cmake/dependencies.cmake finds them by. Header-only
# libraries are those of the system, through links, because the rest of its include folder is not for WebAssembly. Of
# the others ROOFLINE_PAGE_SOURCES has Debian's sources, which scripts/page_sources.py fetches: those of the packages
# that the program is built with, so that both read files alike.

enable_language(C)
set(roofline_system_include /usr/include CACHE PATH "Where the header-only libraries are")
set(ROOFLINE_PAGE_SOURCES "" CACHE PATH "Folder of the sources of libyaml, zlib, simdjson and LZMA")
set(roofline_page_include ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${roofline_page_include})
foreach(name fmt nlohmann tl CLI toml++)
  if(NOT EXISTS ${roofline_system_include}/${name})
    message(FATAL_ERROR "${roofline_system_include}/${name} is missing: ./dev page installs what is needed")
  endif()
  file(CREATE_LINK ${roofline_system_include}/${name} ${roofline_page_include}/${name} SYMBOLIC)
endforeach()
foreach(name libyaml zlib simdjson lzma)
  if(NOT IS_DIRECTORY ${ROOFLINE_PAGE_SOURCES}/${name})
    message(FATAL_ERROR "no sources of ${name} in ROOFLINE_PAGE_SOURCES: scripts/page_sources.py fetches them")
  endif()
endforeach()

# roofline_header_library(target): a library that has only headers.
function(roofline_header_library target)
  add_library(${target} INTERFACE IMPORTED)
  set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${roofline_page_include})
endfunction()

roofline_header_library(fmt::fmt)
set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
roofline_header_library(tl::expected)
roofline_header_library(nlohmann_json::nlohmann_json)
roofline_header_library(CLI11::CLI11)
set(ROOFLINE_TOMLPLUSPLUS_INCLUDE ${roofline_page_include})

file(GLOB sources ${ROOFLINE_PAGE_SOURCES}/libyaml/src/*.c)
add_library(roofline_page_yaml STATIC ${sources})
target_include_directories(roofline_page_yaml PRIVATE ${ROOFLINE_PAGE_SOURCES}/libyaml/include)
target_compile_definitions(roofline_page_yaml PRIVATE YAML_VERSION_MAJOR=0 YAML_VERSION_MINOR=2 YAML_VERSION_PATCH=5
                           YAML_VERSION_STRING="0.2.5")
set(ROOFLINE_YAML_INCLUDE ${ROOFLINE_PAGE_SOURCES}/libyaml/include)
set(ROOFLINE_YAML_LIBRARY roofline_page_yaml)

foreach(name adler32 crc32 inffast inflate inftrees zutil)
  list(APPEND roofline_zlib_sources ${ROOFLINE_PAGE_SOURCES}/zlib/${name}.c)
endforeach()
add_library(roofline_page_zlib STATIC ${roofline_zlib_sources})
target_compile_options(roofline_page_zlib PRIVATE -Wno-deprecated-non-prototype)
target_include_directories(roofline_page_zlib SYSTEM PUBLIC ${ROOFLINE_PAGE_SOURCES}/zlib)
add_library(ZLIB::ZLIB ALIAS roofline_page_zlib)

add_library(roofline_page_simdjson STATIC ${ROOFLINE_PAGE_SOURCES}/simdjson/singleheader/simdjson.cpp)
target_include_directories(roofline_page_simdjson SYSTEM PUBLIC ${ROOFLINE_PAGE_SOURCES}/simdjson/singleheader)
target_compile_definitions(roofline_page_simdjson PUBLIC SIMDJSON_EXCEPTIONS=0)
target_compile_options(roofline_page_simdjson PRIVATE -fno-exceptions)
add_library(simdjson::simdjson ALIAS roofline_page_simdjson)
