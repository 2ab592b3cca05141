# cmake -DCOMPILER=... -DINCLUDE=src -DFILE=x.cpp -P check.cmake
# Compiles FILE twice: unchanged, which must succeed, and with MUST_NOT_COMPILE, which must fail with an error that
# matches the line `// refused: REGEX` in the file.

set(command ${COMPILER} -std=c++20 -fsyntax-only -I ${INCLUDE} ${FILE})

execute_process(COMMAND ${command} RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the corrected twin in ${FILE} does not compile:\n${errors}")
endif()

file(STRINGS ${FILE} reason REGEX "^// refused: ")
string(REPLACE "// refused: " "" reason "${reason}")
if(reason STREQUAL "")
  message(FATAL_ERROR "${FILE} has no line `// refused: REGEX`")
endif()

execute_process(COMMAND ${command} -DMUST_NOT_COMPILE RESULT_VARIABLE status ERROR_VARIABLE errors)
if(status EQUAL 0)
  message(FATAL_ERROR "${FILE} compiles, but it must not")
endif()
if(NOT errors MATCHES "${reason}")
  message(FATAL_ERROR "${FILE} is refused for a reason other than `${reason}`:\n${errors}")
endif()
