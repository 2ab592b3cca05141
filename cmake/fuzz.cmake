# Fuzzers: fuzz/NAME.cpp becomes fuzz_NAME, with its seeds in fuzz/corpus/NAME/. ./dev fuzz runs them.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "ROOFLINE_FUZZ needs clang: cmake --preset fuzz")
endif()

target_compile_options(roofline_core PRIVATE -fsanitize=fuzzer-no-link)

add_custom_target(fuzzers)
file(GLOB roofline_fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
foreach(file IN LISTS roofline_fuzzers)
  cmake_path(GET file STEM name)
  set(corpus ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  if(NOT IS_DIRECTORY ${corpus})
    message(FATAL_ERROR "fuzz/${name}.cpp has no seeds: put some into fuzz/corpus/${name}/")
  endif()
  add_executable(fuzz_${name} ${file})
  roofline_own_code(fuzz_${name})
  target_link_libraries(fuzz_${name} PRIVATE roofline_core)
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${name})
  if(ROOFLINE_TESTS)
    # Runs each seed once; the seeds include earlier findings of the fuzzers.
    add_test(NAME seeds.${name} COMMAND fuzz_${name} -runs=0 ${corpus})
    set_tests_properties(seeds.${name} PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endforeach()
