// What options that are numbers have in common: their errors, and fractions that may be percentages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

/// Returns the error (`bad_request`) of an option that `word` is no value of, with at most 40 bytes of the word.
[[nodiscard]] tl::unexpected<Error> wrong_option(std::string_view option, std::string_view word,
                                                 std::string_view problem, std::string hint);

/// Returns an error with the option that it is about before its message.
[[nodiscard]] Error of_option(std::string_view option, Error error);

/// Parses a whole number from 1 to `most`. Errors name the option: `size`, and those of parse_size().
[[nodiscard]] Result<std::int64_t> whole_option(std::string_view option, std::string_view word, std::int64_t most);

/// A number, which may be given as a percentage.
struct Fraction {
    double value = 0;
    bool percent = false;
};
/// Parses "0.9" or "90%". Empty if it is neither.
[[nodiscard]] std::optional<Fraction> fraction_in(std::string_view word);

}  // namespace roofline::core
