// The command line: conversion of arguments to a request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "app/request.hpp"

namespace roofline::core::cli {

/// Destinations of a plot and of a report.
struct PlotFiles {
    std::string svg;
    std::string png;
    std::string html;

    [[nodiscard]] bool plot() const { return !svg.empty() || !png.empty(); }
    [[nodiscard]] bool page() const { return !html.empty(); }
};

/// A parsed command line: a request, a local request, or a text to print (help, version).
struct Parsed {
    std::optional<Request> request;
    std::optional<LocalRequest> local;
    PlotFiles plots;
    std::string print;
    std::string command{};  ///< "plan train"
};

/// Errors: unknown commands and options (the hint names the nearest match), unreadable files. `json` is set to whether
/// errors are printed as JSON.
[[nodiscard]] Result<Parsed> parse_arguments(const std::vector<std::string>& arguments, bool& json);

/// Returns the report of a response as an HTML document, "" if it has none. `arguments` are those that were parsed.
[[nodiscard]] std::string report_html(const Response& response, const Parsed& parsed,
                                      const std::vector<std::string>& arguments);

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
