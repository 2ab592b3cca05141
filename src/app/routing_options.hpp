// The options of `roofline serve` that say how tokens choose experts, and how many replicas these have.
#pragma once

#include <string>
#include <vector>

#include "app/request.hpp"
#include "base/result.hpp"
#include "model/expert_routing.hpp"

namespace roofline::core {

/// Returns whether a word of --routing is a law and not a file: "uniform", "zipf", or with a colon such as "zipf:1.2".
[[nodiscard]] bool is_routing_law(const std::string& word);

/// Returns the error of a word of --routing that is no law and names no file that can be read, which says the words
/// that there are. `error` is that of the file.
[[nodiscard]] Error unreadable_routing(const std::string& word, const Error& error);

/// Reads a table with a column `tokens` or `share`: how many tokens, or which share of them, chose each expert of a
/// layer, in the order of ids. Errors carry the line: no rows, no such column, a cell that is no number of at least 0,
/// only zeros.
[[nodiscard]] Result<std::vector<double>> read_expert_popularity(const NamedText& table);

/// Reads --routing and --redundant-experts; uniform routing without them. Errors name the option: no such law, an
/// exponent that is no number from 0 to 10, a number of experts that is no whole number; read_expert_popularity().
[[nodiscard]] Result<ExpertRouting> routing_options(const ServeRequest& request);

}  // namespace roofline::core
