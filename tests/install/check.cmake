# Installs the build into an empty prefix, then builds and runs the adjacent consumer against it.

set(scratch ${BUILD}/install-test)
set(prefix ${scratch}/prefix)
file(REMOVE_RECURSE ${scratch})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --config ${CONFIG})
# The compiler's flags depend on how the library was built: one with sanitizers needs a consumer with them.
file(STRINGS ${BUILD}/CMakeCache.txt flags REGEX "^CMAKE_CXX_FLAGS(_[A-Z]+)?:")
set(settings "")
foreach(line IN LISTS flags)
  list(APPEND settings "-D${line}")
endforeach()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${scratch}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=${CONFIG}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${prefix} ${settings})
run(${CMAKE_COMMAND} --build ${scratch}/build --config ${CONFIG})
run(${scratch}/build/consumer)
if(NOT output MATCHES "^bf16 takes 16 bits\n$")
  message(FATAL_ERROR "the consumer said: ${output}")
endif()
run(${prefix}/bin/roofline --version)
if(NOT output MATCHES "${VERSION}")
  message(FATAL_ERROR "the installed program says it is version ${output}")
endif()
file(REMOVE_RECURSE ${scratch})
