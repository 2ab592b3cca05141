# Finds what the build needs. What is required stops the configuration, with all missing packages in one message; what is
# optional is listed at the end with what it would bring.

set(roofline_required_missing "")
set(roofline_optional_missing "")

# roofline_find(package debian_package): a required package with a CMake configuration.
macro(roofline_find package debian)
  find_package(${package} CONFIG QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND roofline_required_missing "${debian}")
  endif()
endmacro()

# roofline_find_header(variable header debian_package): a required header-only library used without its CMake target.
macro(roofline_find_header variable header debian)
  find_path(${variable} ${header})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    list(APPEND roofline_required_missing "${debian}")
  endif()
endmacro()

function(roofline_miss package brings)
  list(APPEND roofline_optional_missing "${package}: ${brings}")
  set(roofline_optional_missing "${roofline_optional_missing}" PARENT_SCOPE)
endfunction()

function(roofline_say_what_is_missing)
  foreach(line IN LISTS roofline_optional_missing)
    message(STATUS "without ${line}")
  endforeach()
endfunction()

roofline_find(fmt libfmt-dev)
roofline_find(tl-expected libexpected-dev)
roofline_find(nlohmann_json nlohmann-json3-dev)
roofline_find(CLI11 libcli11-dev)
# Debian's target for toml++ links a shared library that is built with exceptions; the headers alone do without both.
roofline_find_header(ROOFLINE_TOMLPLUSPLUS_INCLUDE toml++/toml.h libtomlplusplus-dev)
if(roofline_required_missing)
  list(JOIN roofline_required_missing " " packages)
  message(FATAL_ERROR "missing packages (Debian names): ${packages}\n"
                      "  apt-get install ${packages}\n  or run ./dev build, which installs them")
endif()

# PNG output: only the headers are needed here, the library is loaded when a PNG is asked for.
find_package(PkgConfig QUIET)
set(ROOFLINE_RSVG_FOUND FALSE)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(ROOFLINE_RSVG QUIET librsvg-2.0)
endif()
if(NOT ROOFLINE_RSVG_FOUND)
  roofline_miss("librsvg2-dev (and pkgconf)" "no PNG output")
endif()

# Ranks: which MPI, where several are installed. Debian's compiler wrappers are called mpicxx.openmpi and mpicxx.mpich.
set(ROOFLINE_MPI "" CACHE STRING "The MPI to build with: openmpi, mpich, or the system's choice when empty")
set_property(CACHE ROOFLINE_MPI PROPERTY STRINGS "" openmpi mpich)
if(ROOFLINE_MPI AND NOT MPI_CXX_COMPILER)
  find_program(MPI_CXX_COMPILER NAMES mpicxx.${ROOFLINE_MPI})
  find_program(MPIEXEC_EXECUTABLE NAMES mpiexec.${ROOFLINE_MPI})
endif()
set(MPI_CXX_SKIP_MPICXX TRUE)
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  roofline_miss("libopenmpi-dev and openmpi-bin (or libmpich-dev and mpich)" "no `measure network` and no `run` on ranks")
endif()

if(ROOFLINE_TESTS)
  find_package(doctest CONFIG QUIET)
  find_package(rapidcheck CONFIG QUIET)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(NOT doctest_FOUND)
    roofline_miss(doctest-dev "no unit tests")
  endif()
  if(NOT rapidcheck_FOUND)
    roofline_miss(librapidcheck-dev "no property tests")
  endif()
  if(NOT Python3_Interpreter_FOUND)
    roofline_miss(python3 "no tests of the program's output")
  endif()
endif()
if(ROOFLINE_BENCH)
  find_package(benchmark CONFIG QUIET)
  if(NOT benchmark_FOUND)
    roofline_miss(libbenchmark-dev "no benchmarks")
  endif()
endif()
