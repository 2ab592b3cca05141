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

/// An option of a command, for doors that offer the same options in another form.
struct OptionFacts {
    std::string command;  ///< "plan train"
    std::string name;     ///< "batch-tokens"; of an argument without a name what the help calls it
    std::string help;
    std::string value;        ///< what its value looks like: "4Mi"; "" if it takes none
    bool positional = false;  ///< an argument without a name
    bool repeated = false;    ///< may be given several times
};

/// Returns the options of all commands in the order of the help, without --help.
[[nodiscard]] std::vector<OptionFacts> option_facts();

}  // namespace roofline::core::cli
