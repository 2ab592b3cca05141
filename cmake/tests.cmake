# Labels: `unit` (tests inside our own binaries), `program` (tests that run the built program), `source` (tests that
# read the sources or compile against them, independent of how the program was built).

# Seconds after which a test is ended. Sanitizers take ten times as long, and with them tests of the suite `exhaustive`
# are left out: they compare the figures of hundreds of plans, and other tests of the same file run the same code.
set(roofline_test_timeout 900)
set(roofline_left_out)
if(CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  set(roofline_test_timeout 1800)
  set(roofline_left_out --test-suite-exclude=exhaustive)
endif()

# This source contains the implementation of doctest, which an earlier include of doctest.h would suppress.
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/main.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)

# Tests are compiled often and run briefly, so their own code is not optimized, but the code under test is. Of an inline
# function or a template that several objects have, the linker takes the first one: that of the library, which therefore
# stands before the tests. With those of the tests all its containers would not be optimized either, and tests of
# searches take twice the time, with sanitizers many times.
function(roofline_test_binary target)
  roofline_own_code(${target})
  roofline_precompile(${target} <doctest/doctest.h>)
  roofline_compile_by_folder(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,Sanitize>:-O0>)
  if(NOT APPLE)
    target_link_options(${target} PRIVATE
                        "LINKER:--whole-archive,$<TARGET_FILE:roofline_core>,--no-whole-archive")
  endif()
  target_link_libraries(${target} PRIVATE roofline_local nlohmann_json::nlohmann_json doctest::doctest)
  if(TARGET roofline_cli)
    target_link_libraries(${target} PRIVATE roofline_cli)
  endif()
endfunction()

if(doctest_FOUND)
  file(GLOB_RECURSE roofline_unit_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*_test.cpp)
  file(GLOB roofline_tests_own CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*.cpp)
  add_executable(roofline_tests ${roofline_unit_tests} ${roofline_tests_own})
  roofline_test_binary(roofline_tests)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/docs_test.cpp ${PROJECT_SOURCE_DIR}/tests/library_test.cpp
                              ${PROJECT_SOURCE_DIR}/tests/embedded_test.cpp
                              PROPERTIES COMPILE_DEFINITIONS ROOFLINE_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
  # The tests of each source form a test of CTest, so that they run in parallel processes. doctest counts the tests of
  # other sources as skipped, so it must not print these, and it passes if nothing matches.
  foreach(file IN LISTS roofline_unit_tests roofline_tests_own)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    if(NOT name STREQUAL "tests/main.cpp")
      add_test(NAME unit.${name} COMMAND roofline_tests "--source-file=*/${name}" --no-skip --no-skipped-summary
                                                     ${roofline_left_out}
               WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT ${roofline_test_timeout}
                           FAIL_REGULAR_EXPRESSION "test cases: +0 ")
    endif()
    # The longest tests start first.
    if(name MATCHES "^src/(app|measure)/")
      set_tests_properties(unit.${name} PROPERTIES COST 100)
    endif()
  endforeach()
endif()

file(GLOB roofline_properties CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/property/*.cpp)
if(doctest_FOUND AND rapidcheck_FOUND AND roofline_properties)
  add_executable(roofline_properties ${roofline_properties} ${PROJECT_SOURCE_DIR}/tests/main.cpp)
  roofline_test_binary(roofline_properties)
  target_link_libraries(roofline_properties PRIVATE rapidcheck)
  add_test(NAME properties COMMAND roofline_properties WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(properties PROPERTIES LABELS unit TIMEOUT 600)
endif()

if(Python3_Interpreter_FOUND)
  function(roofline_script_test name label)
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${roofline_test_timeout})
  endfunction()
  # Commands that would hang are ended; with sanitizers they take many times as long.
  roofline_script_test(transcripts program scripts/check_transcripts.py --program $<TARGET_FILE:roofline>
                       --timeout $<IF:$<CONFIG:Sanitize>,600,60>)
  roofline_script_test(cases program scripts/check_cases.py --program $<TARGET_FILE:roofline>)
  set_tests_properties(cases PROPERTIES COST 300)
  set_tests_properties(transcripts PROPERTIES COST 200)
  # These tests run the program hundreds of times on code that unit tests also cover; with sanitizers they would take a
  # quarter of an hour.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
    roofline_script_test(plans program scripts/check_plans.py --program $<TARGET_FILE:roofline> --jobs 1)
    roofline_script_test(cliffs program scripts/count_cliffs.py --program $<TARGET_FILE:roofline> --few --most 1)
  endif()
  # They run the program many times, as the two above.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
    roofline_script_test(reports program tests/reports/check_reports.py --program $<TARGET_FILE:roofline>)
  endif()
  roofline_script_test(page_server program tests/reports/check_page_server.py --program $<TARGET_FILE:roofline>)
  roofline_script_test(layers source scripts/check_layers.py)
  if(EXISTS ${PROJECT_SOURCE_DIR}/scripts/check_lines.py)
    roofline_script_test(lines source scripts/check_lines.py)
  endif()
  roofline_script_test(accuracy source scripts/check_accuracy.py)
  roofline_script_test(scripts source tests/scripts/run.py)
endif()

# The Python package as it stands in the build folder: its own tests, types, and the examples of its page. With
# sanitizers `./dev test --all` runs them, because their runtime has to be loaded before the interpreter.
if(Python3_Interpreter_FOUND AND TARGET roofline_python AND NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  add_test(NAME python
           COMMAND ${Python_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/check_python.py
                   --package ${PROJECT_BINARY_DIR}/python --program $<TARGET_FILE:roofline>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # It measures times.
  set_tests_properties(python PROPERTIES LABELS program TIMEOUT 300 RUN_SERIAL ON)
endif()

# Lets single allocations and writes fail. Sanitizers have their own `operator new`.
if(Python3_Interpreter_FOUND AND NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  add_library(roofline_faults MODULE ${PROJECT_SOURCE_DIR}/tests/faults/faults.cpp)
  roofline_own_code(roofline_faults)
  roofline_script_test(faults program tests/faults/check_faults.py --program $<TARGET_FILE:roofline>
                       --faults $<TARGET_FILE:roofline_faults>)
endif()

# Tests with several ranks. MPI libraries leak memory, which sanitizers would report.
if(Python3_Interpreter_FOUND AND MPI_CXX_FOUND AND MPIEXEC_EXECUTABLE AND NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  roofline_script_test(ranks program tests/ranks/check_ranks.py --program $<TARGET_FILE:roofline>
                       --mpirun ${MPIEXEC_EXECUTABLE})
  set_tests_properties(ranks PROPERTIES TIMEOUT 300 RUN_SERIAL ON)
endif()

# Each file contains code that must not compile (under MUST_NOT_COMPILE) and its corrected twin, which must.
file(GLOB roofline_refused CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/must_not_compile/*.cpp)
foreach(file IN LISTS roofline_refused)
  cmake_path(GET file STEM name)
  add_test(NAME must_not_compile.${name}
           COMMAND ${CMAKE_COMMAND} -DCOMPILER=${CMAKE_CXX_COMPILER} -DINCLUDE=${PROJECT_SOURCE_DIR}/include
                   -DFILE=${file} -P ${PROJECT_SOURCE_DIR}/tests/must_not_compile/check.cmake)
  set_tests_properties(must_not_compile.${name} PROPERTIES LABELS source)
endforeach()

# Many concurrent calls. The preset `threads` builds this test and the library with ThreadSanitizer.
add_executable(roofline_threads ${PROJECT_SOURCE_DIR}/tests/threads/threads.cpp)
roofline_own_code(roofline_threads)
target_link_libraries(roofline_threads PRIVATE roofline_core Threads::Threads)
add_test(NAME threads COMMAND roofline_threads)
set_tests_properties(threads PROPERTIES LABELS unit TIMEOUT 600)

# The installed package as an independent project uses it, and the Debian packages.
if(Python3_Interpreter_FOUND)
  roofline_script_test(install source tests/install/check_install.py --build ${PROJECT_BINARY_DIR}
                       --compiler ${CMAKE_CXX_COMPILER} --generator ${CMAKE_GENERATOR} --config $<CONFIG>
                       --version ${PROJECT_VERSION})
  find_program(ROOFLINE_SHLIBDEPS dpkg-shlibdeps)
  mark_as_advanced(ROOFLINE_SHLIBDEPS)
  if(ROOFLINE_SHLIBDEPS)
    roofline_script_test(package source tests/install/check_package.py --build ${PROJECT_BINARY_DIR})
  endif()
endif()

include(gpu_tests)
