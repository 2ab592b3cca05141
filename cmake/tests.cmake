# Labels: `unit` (what runs inside our own binaries), `program` (what runs the built program), `source` (what reads the
# sources or compiles against them; independent of how the program was built).

# It holds doctest itself, which a doctest.h before it would hide.
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/main.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)

# Tests are compiled often and run for a moment: their own code is not optimised, what they test is.
function(roofline_test_binary target)
  roofline_own_code(${target})
  roofline_precompile(${target} <doctest/doctest.h>)
  roofline_compile_by_folder(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
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
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/docs_test.cpp ${PROJECT_SOURCE_DIR}/tests/embedded_test.cpp
                              PROPERTIES COMPILE_DEFINITIONS ROOFLINE_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
  add_test(NAME unit COMMAND roofline_tests WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(unit PROPERTIES LABELS unit TIMEOUT 2400 COST 200)  # a quarter of an hour with sanitizers on a busy machine
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
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 900)
  endfunction()
  roofline_script_test(transcripts program scripts/check_transcripts.py --program $<TARGET_FILE:roofline>)
  roofline_script_test(cases program scripts/check_cases.py --program $<TARGET_FILE:roofline>)
  # what takes longest starts first
  set_tests_properties(cases PROPERTIES COST 300)
  set_tests_properties(transcripts PROPERTIES COST 200)
  # hundreds of runs of the program over what unit tests go through as well: with sanitizers a quarter of an hour
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
    roofline_script_test(plans program scripts/check_plans.py --program $<TARGET_FILE:roofline> --jobs 1)
    roofline_script_test(cliffs program scripts/count_cliffs.py --program $<TARGET_FILE:roofline> --few --most 1)
  endif()
  roofline_script_test(layers source scripts/check_layers.py)
  roofline_script_test(accuracy source scripts/check_accuracy.py)
  roofline_script_test(scripts source tests/scripts/run.py)
endif()

# One allocation and one write after another fail. Sanitizers have an `operator new` of their own.
if(Python3_Interpreter_FOUND AND NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  add_library(roofline_faults MODULE ${PROJECT_SOURCE_DIR}/tests/faults/faults.cpp)
  roofline_own_code(roofline_faults)
  roofline_script_test(faults program tests/faults/check_faults.py --program $<TARGET_FILE:roofline>
                       --faults $<TARGET_FILE:roofline_faults>)
endif()

# Between ranks. An MPI leaves memory behind, which the sanitizers would take for ours.
if(Python3_Interpreter_FOUND AND MPI_CXX_FOUND AND MPIEXEC_EXECUTABLE AND NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  roofline_script_test(ranks program tests/ranks/check_ranks.py --program $<TARGET_FILE:roofline>
                       --mpirun ${MPIEXEC_EXECUTABLE})
  set_tests_properties(ranks PROPERTIES TIMEOUT 300 RUN_SERIAL ON)
endif()

# Each file holds code that must not compile (under MUST_NOT_COMPILE) and its corrected twin, which must.
file(GLOB roofline_refused CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/must_not_compile/*.cpp)
foreach(file IN LISTS roofline_refused)
  cmake_path(GET file STEM name)
  add_test(NAME must_not_compile.${name}
           COMMAND ${CMAKE_COMMAND} -DCOMPILER=${CMAKE_CXX_COMPILER} -DINCLUDE=${PROJECT_SOURCE_DIR}/include -DFILE=${file}
                   -P ${PROJECT_SOURCE_DIR}/tests/must_not_compile/check.cmake)
  set_tests_properties(must_not_compile.${name} PROPERTIES LABELS source)
endforeach()

# The installed package, as a stranger's project meets it.
add_test(NAME install
         COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DSOURCE=${PROJECT_SOURCE_DIR}/tests/install
                 -DCOMPILER=${CMAKE_CXX_COMPILER} -DGENERATOR=${CMAKE_GENERATOR} -DCONFIG=$<CONFIG>
                 -DVERSION=${PROJECT_VERSION} -P ${PROJECT_SOURCE_DIR}/tests/install/check.cmake)
set_tests_properties(install PROPERTIES LABELS source TIMEOUT 300)

include(gpu_tests)
