# Tests of the GPU code without a GPU. All of it runs with a stand-in for NVIDIA's libraries; if a CUDA toolkit is
# installed, src/measure/gpu/cuda_api.hpp is compared with its headers. (Unit tests check that the kernels compile, with
# NVRTC if it is installed.)

if(TARGET roofline_tests)
  # One library under all names, because they share the imaginary device.
  add_library(fake_cuda MODULE ${PROJECT_SOURCE_DIR}/tests/gpu/fake_cuda.cpp)
  set_target_properties(fake_cuda PROPERTIES PREFIX "" OUTPUT_NAME libcuda.so SUFFIX ".1" CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake_cuda)
  roofline_own_code(fake_cuda)
  target_compile_definitions(fake_cuda PRIVATE ROOFLINE_FAKE_COMPILER="${CMAKE_CXX_COMPILER}")
  target_include_directories(fake_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(fake_cuda PRIVATE ${CMAKE_DL_LIBS})
  foreach(library libcublasLt.so.13 libnvrtc.so.13 libnvidia-ml.so.1)
    add_custom_command(TARGET fake_cuda POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E create_symlink libcuda.so.1 ${PROJECT_BINARY_DIR}/fake_cuda/${library})
  endforeach()
  add_dependencies(roofline_tests fake_cuda)
  target_compile_definitions(roofline_tests PRIVATE ROOFLINE_FAKE_CUDA_FOLDER="${PROJECT_BINARY_DIR}/fake_cuda")
endif()

find_path(ROOFLINE_CUDA_INCLUDE cublasLt.h HINTS /usr/local/cuda/include ENV CUDA_PATH PATH_SUFFIXES include)
mark_as_advanced(ROOFLINE_CUDA_INCLUDE)
if(ROOFLINE_CUDA_INCLUDE)
  add_test(NAME cuda_headers
           COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -I${PROJECT_SOURCE_DIR}/src
                   -isystem ${ROOFLINE_CUDA_INCLUDE} ${PROJECT_SOURCE_DIR}/tests/gpu/vendor_headers.cpp)
  set_tests_properties(cuda_headers PROPERTIES LABELS source)
endif()
