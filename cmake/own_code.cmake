# Settings for all targets with code of this project; they do not apply to third-party headers.

# Precompiled headers are off by default and for clang-tidy, which checks that every source includes what it uses.
function(roofline_precompile target)
  if(ROOFLINE_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <cstdint> <functional> <map> <optional> <set>
      <string> <string_view> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
  endif()
endfunction()

function(roofline_own_code target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow)
  if(ROOFLINE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 warns of overlapping copies in "literal" + std::string (GCC bug 105651) and of uninitialized values in
    # copies of an empty std::optional (GCC bug 80635), where there are none.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-maybe-uninitialized)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # clang reports code inside std::stable_sort of libstdc++ 12.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
  # All targets use the same mode, even if they enable exceptions, because the inline functions of these headers must
  # be the same everywhere.
  target_compile_definitions(${target} PRIVATE TOML_EXCEPTIONS=0 TOML_HEADER_ONLY=1 JSON_NOEXCEPTION)
  # Users of the library may have another copy of nlohmann_json, which throws; the linker must not mix up both.
  target_compile_definitions(${target} PRIVATE NLOHMANN_JSON_NAMESPACE=nlohmann::roofline_json
    "NLOHMANN_JSON_NAMESPACE_BEGIN=namespace nlohmann { inline namespace roofline_json {"
    "NLOHMANN_JSON_NAMESPACE_END=} }")
endfunction()

# Released binaries are hardened: calls that know the size of a buffer check it, and stack overwrites are detected.
# Sanitizers have stricter checks of their own, and without optimization these checks do not exist. WebAssembly cannot
# overwrite its stack.
function(roofline_harden target)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_SYSTEM_PROCESSOR STREQUAL "wasm32")
    return()
  endif()
  target_compile_options(${target} PRIVATE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
    -fstack-clash-protection)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE -pie -Wl,-z,relro,-z,now)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  elseif(type STREQUAL "MODULE_LIBRARY" OR type STREQUAL "SHARED_LIBRARY")
    target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now)
  endif()
endfunction()

# The sources of a folder are compiled as one unit, which reduces a clean build to a quarter of the time. So names in
# the unnamed namespaces of a folder must differ; tests are a separate target. Sources with their own flags are compiled
# alone, and clang-tidy examines each source alone.
function(roofline_compile_by_folder target)
  if(NOT ROOFLINE_BY_FOLDER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(GET name PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A local name may equal a name in another file of the unit. clang-tidy reports names that shadow others in the same
  # file.
  target_compile_options(${target} PRIVATE -Wno-shadow)
endfunction()
