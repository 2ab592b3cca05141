# Benchmarks: one binary, build/roofline_bench, from bench/*.cpp.

file(GLOB roofline_bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
if(benchmark_FOUND AND roofline_bench_sources)
  add_executable(roofline_bench ${roofline_bench_sources})
  roofline_own_code(roofline_bench)
  target_link_libraries(roofline_bench PRIVATE roofline_core simdjson::simdjson benchmark::benchmark_main)
  # The time from start to answer is measured with the program itself.
  target_compile_definitions(roofline_bench PRIVATE ROOFLINE_PROGRAM="$<TARGET_FILE:roofline>")
  add_dependencies(roofline_bench roofline)
endif()
