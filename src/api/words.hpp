// Translates messages that name command-line options to the terms of the library's interface.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

/// Messages, hints and notes name command-line options where they suggest a remedy. These functions replace each option
/// with what a caller of the library writes: "give it: --dims B=4096" becomes `give it: Program::with_sizes({{"B",
/// 4096}})`.
[[nodiscard]] std::string in_library_terms(std::string text);
[[nodiscard]] std::vector<std::string> in_library_terms(std::vector<std::string> texts);
[[nodiscard]] Error in_library_terms(Error error);

template <class T>
[[nodiscard]] Result<T> in_library_terms(Result<T> result) {
    return std::move(result).map_error([](Error error) { return in_library_terms(std::move(error)); });
}

}  // namespace roofline::core
