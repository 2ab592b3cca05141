# The core as WebAssembly for the page (page/): the library and the command line's options behind page/src. It is built
# by the preset `page` with the toolchain cmake/wasm32-wasi.cmake.

file(GLOB roofline_page_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/page/src/*.cpp)
file(GLOB roofline_page_options CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/app/cli/*.cpp)
list(FILTER roofline_page_options EXCLUDE REGEX "_test\\.cpp$")
# The disk, the terminal and the parser that throws: page/src has others.
list(FILTER roofline_page_options EXCLUDE REGEX "/(main|files|terminal|terminal_progress|parse_words)\\.cpp$")
set_target_properties(roofline_core PROPERTIES POSITION_INDEPENDENT_CODE OFF)
# libc++ 19 has no std::from_chars for double.
set(roofline_page_before ${PROJECT_SOURCE_DIR}/page/src/double_from_chars.hpp)
target_compile_options(roofline_core PRIVATE "SHELL:-include ${roofline_page_before}")

add_executable(roofline_page ${roofline_page_sources} ${roofline_page_options})
set_target_properties(roofline_page PROPERTIES
  OUTPUT_NAME core SUFFIX .wasm RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/..)
roofline_own_code(roofline_page)
roofline_compile_by_folder(roofline_page)
target_include_directories(roofline_page PRIVATE ${PROJECT_SOURCE_DIR}/page/src)
target_compile_definitions(roofline_page PRIVATE ROOFLINE_VERSION="${PROJECT_VERSION}")
target_link_libraries(roofline_page PRIVATE roofline_core CLI11::CLI11 nlohmann_json::nlohmann_json)
# CLI11 throws: `throw` is compiled to a call that page/src/door.cpp defines, and `catch` is not compiled.
target_compile_options(roofline_page PRIVATE -fignore-exceptions "SHELL:-include ${roofline_page_before}"
                       "SHELL:-include ${PROJECT_SOURCE_DIR}/src/base/no_fstream.hpp")
# clang runs wasm-opt on what it has linked, for a minute or two, if that is installed.
# The stack is in front of the data, so that an overflow is a trap and overwrites nothing.
target_link_options(roofline_page PRIVATE -mexec-model=reactor LINKER:--stack-first LINKER:-z,stack-size=8388608
                    LINKER:--strip-all LINKER:--max-memory=4294967296)

# Unpacks the core in a browser (scripts/page.py). It has a few kB and is optimized for speed.
add_executable(roofline_page_unpack ${PROJECT_SOURCE_DIR}/page/unpack/unpack.c
               ${ROOFLINE_PAGE_SOURCES}/lzma/C/LzmaDec.c)
set_target_properties(roofline_page_unpack PROPERTIES
  OUTPUT_NAME unpack SUFFIX .wasm RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/..)
target_include_directories(roofline_page_unpack SYSTEM PRIVATE ${ROOFLINE_PAGE_SOURCES}/lzma/C)
target_compile_options(roofline_page_unpack PRIVATE -O2)
target_link_options(roofline_page_unpack PRIVATE -nostdlib LINKER:--no-entry LINKER:--strip-all)
add_dependencies(roofline_page roofline_page_unpack)
