# The Python package (python/roofline): the extension module roofline._core over the library and the command line's
# options. ROOFLINE_PYTHON=ON needs nanobind, which `pip install .` brings along (pyproject.toml); ./dev test takes it
# from the environment in build/venv. The built package stands in python/ of the build folder.

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT RESULT_VARIABLE roofline_no_nanobind)
if(roofline_no_nanobind)
  message(FATAL_ERROR "ROOFLINE_PYTHON needs nanobind: ${Python_EXECUTABLE} -m pip install nanobind")
endif()
find_package(nanobind CONFIG REQUIRED)

file(GLOB roofline_python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cpp)
nanobind_add_module(roofline_python STABLE_ABI NB_STATIC NOMINSIZE NB_DOMAIN roofline ${roofline_python_sources})
set(roofline_package ${PROJECT_BINARY_DIR}/python/roofline)
set_target_properties(roofline_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${roofline_package})
roofline_own_code(roofline_python)
target_include_directories(roofline_python PRIVATE ${PROJECT_SOURCE_DIR}/python/src)
target_include_directories(roofline_python SYSTEM PRIVATE ${NB_DIR}/include)  # our warnings are not for its headers
target_link_libraries(roofline_python PRIVATE roofline_core nlohmann_json::nlohmann_json CLI11::CLI11 ${CMAKE_DL_LIBS})
# Of the code that touches the machine only what the options need, so that a wheel is built without the measurements.
target_sources(roofline_python PRIVATE $<TARGET_OBJECTS:roofline_cli>
  ${PROJECT_SOURCE_DIR}/src/app/local/this_machine.cpp ${PROJECT_SOURCE_DIR}/src/measure/module.cpp
  ${PROJECT_SOURCE_DIR}/src/measure/network/ranks.cpp)
# The linker drops what these sources have beside that, and what it would need, in every kind of build.
target_compile_options(roofline_python PRIVATE -ffunction-sections -fdata-sections)
target_link_options(roofline_python PRIVATE -Wl,--gc-sections)
target_compile_definitions(roofline_python PRIVATE ROOFLINE_VERSION="${PROJECT_VERSION}")
# Another extension may bring its own copies of fmt and of our symbols.
target_link_options(roofline_python PRIVATE -Wl,--exclude-libs,ALL)

# The package's own files are those of the source folder, so that a change shows without a build.
file(GLOB roofline_package_files RELATIVE ${PROJECT_SOURCE_DIR}/python/roofline CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/python/roofline/*.py ${PROJECT_SOURCE_DIR}/python/roofline/*.pyi
     ${PROJECT_SOURCE_DIR}/python/roofline/py.typed)
file(MAKE_DIRECTORY ${roofline_package})
foreach(file IN LISTS roofline_package_files)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/roofline/${file} ${roofline_package}/${file} SYMBOLIC)
endforeach()

# The solver of plan.fleet() is loaded from the folder `modules` beside the extension module.
if(TARGET roofline_cbc)
  add_dependencies(roofline_python roofline_cbc)
  file(CREATE_LINK ${PROJECT_BINARY_DIR}/modules ${roofline_package}/modules SYMBOLIC)
  install(TARGETS roofline_cbc LIBRARY DESTINATION roofline/modules COMPONENT python EXCLUDE_FROM_ALL)
endif()
# Only `pip` installs these.
install(TARGETS roofline_python LIBRARY DESTINATION roofline COMPONENT python EXCLUDE_FROM_ALL)
