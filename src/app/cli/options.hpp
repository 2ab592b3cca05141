// The command line: words to a request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "app/request.hpp"

namespace roofline::core::cli {

/// Where a plot goes.
struct PlotFiles {
    std::string svg;
    std::string png;
};

/// What the words ask for: a request, one of this machine, or a text to print (help, version).
struct Parsed {
    std::optional<Request> request;
    std::optional<LocalRequest> local;
    PlotFiles plots;
    std::string print;
};

/// Errors: unknown commands and options with the nearest, unreadable files. `json` says whether errors go out as JSON.
[[nodiscard]] Result<Parsed> parse_arguments(const std::vector<std::string>& arguments, bool& json);

}  // namespace roofline::core::cli
