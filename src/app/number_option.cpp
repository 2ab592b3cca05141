#include "app/number_option.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/ascii.hpp"
#include "text/text_reader.hpp"
#include "units/text.hpp"

namespace roofline::core {

tl::unexpected<Error> wrong_option(std::string_view option, std::string_view word, std::string_view problem,
                                   std::string hint) {
    constexpr std::size_t most_bytes = 40;
    return fail("bad_request", fmt::format("{} {}: {}", option, in_ticks(word.substr(0, most_bytes)), problem),
                std::move(hint));
}

Error of_option(std::string_view option, Error error) {
    error.message = fmt::format("{}: {}", option, error.message);
    return error;
}

Result<std::int64_t> whole_option(std::string_view option, std::string_view word, std::int64_t most) {
    const auto number = parse_size(word);
    if (!number) return fail(of_option(option, number.error()));
    if (*number >= 1 && *number <= most) return *number;
    return fail("size", fmt::format("{} is {}: it must be 1 to {}", option, *number, most));
}

std::optional<Fraction> fraction_in(std::string_view word) {
    const bool percent = word.ends_with('%');
    if (percent) word.remove_suffix(1);
    const auto number = number_in(word);
    if (!number) return std::nullopt;
    constexpr double hundred = 100;
    return Fraction{percent ? *number / hundred : *number, percent};
}

}  // namespace roofline::core
