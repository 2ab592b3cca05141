// toml++ as this program uses it: results instead of exceptions, and nothing that prints.
#pragma once

#include <version>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#ifdef __cpp_lib_to_chars  // toml++ takes no GCC to have it and makes a stream for every number
#define TOML_FLOAT_CHARCONV 1
#endif
#include <toml++/toml.h>
