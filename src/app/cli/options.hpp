// The command line: conversion of arguments to a request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "app/request.hpp"

namespace roofline::core::cli {

/// Destinations of a plot.
struct PlotFiles {
    std::string svg;
    std::string png;
};

/// A parsed command line: a request, a local request, or a text to print (help, version).
struct Parsed {
    std::optional<Request> request;
    std::optional<LocalRequest> local;
    PlotFiles plots;
    std::string print;
};

/// Errors: unknown commands and options (the hint names the nearest match), unreadable files. `json` is set to whether
/// errors are printed as JSON.
[[nodiscard]] Result<Parsed> parse_arguments(const std::vector<std::string>& arguments, bool& json);

}  // namespace roofline::core::cli
