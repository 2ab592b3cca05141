// What the program would have printed and written, for the page.
#pragma once

#include <string>
#include <vector>

#include "app/cli/options.hpp"
#include "app/request.hpp"

namespace roofline::page {

struct Answer {
    int code = 0;
    std::string out;
    std::string err;
    std::vector<core::NamedText> written{};  ///< files
};

/// Returns the answer to a question that failed.
[[nodiscard]] Answer failed_answer(const core::Error& error, bool json, int code);

/// Returns the answer to the words of a command line. `watch` is told how far a search for plans has come.
[[nodiscard]] Answer answer_to(const std::vector<std::string>& words, bool& json, const core::SearchWatcher& watch);

/// Returns the answer as a list of strings (message.hpp): the exit status, standard output, standard error, and name
/// and content of each file.
[[nodiscard]] std::string answer_list(const Answer& answer);

}  // namespace roofline::page
