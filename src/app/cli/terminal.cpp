// What standard output is: whether it has colors, and how wide it is.
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "app/cli/words.hpp"

namespace roofline::core::cli {

bool color_wanted(const std::string& when) {
    if (when != "auto") return when == "always";
    const char* no_color = std::getenv("NO_COLOR");
    if (no_color != nullptr && *no_color != '\0') return false;
    const char* term = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::optional<std::size_t> columns_wanted() {
    constexpr std::size_t least = 20;
    std::size_t columns = 0;
    if (const char* text = std::getenv("COLUMNS"); text != nullptr && *text != '\0') {
        const std::string_view digits(text);
        (void)std::from_chars(digits.data(), digits.data() + digits.size(), columns);
    } else if (winsize size{}; ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        columns = size.ws_col;
    }
    return columns >= least ? std::optional(columns) : std::nullopt;
}

}  // namespace roofline::core::cli
