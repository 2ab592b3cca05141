// toml++ configured for this program: results instead of exceptions, and without printing.
#pragma once

#include <version>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#ifdef __cpp_lib_to_chars  // toml++ assumes that GCC lacks it and would create a stream for every number
#define TOML_FLOAT_CHARCONV 1
#endif
#ifdef __wasi__
#include "base/no_fstream.hpp"
#endif
#include <toml++/toml.h>
