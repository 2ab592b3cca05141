#include "app/cli/parse_words.hpp"

namespace roofline::core::cli {

Status parse_words(CLI::App& app, const std::vector<std::string>& words,
                   const std::function<Error(std::string_view)>& rephrased) {
    try {
        std::vector<std::string> reversed(words.rbegin(), words.rend());
        app.parse(reversed);
    } catch (const CLI::ParseError& problem) {
        return fail(rephrased(problem.what()));
    }
    return {};
}

}  // namespace roofline::core::cli
