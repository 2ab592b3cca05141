// The options of `roofline serve` that describe the load of a server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/request.hpp"
#include "plan/request_lengths.hpp"
#include "predict/serve/load_question.hpp"

namespace roofline::core {

/// Parses --rate in requests/s. Errors: not a number above 0.
[[nodiscard]] Result<double> rate_option(const std::string& word);

/// Whether a number of tokens is given as a distribution.
[[nodiscard]] bool is_distribution(const std::string& word);

/// Parses a distribution of numbers of tokens: "uniform:100..200" or "lognormal:MEAN,SIGMA". `option` names the option
/// in error messages.
[[nodiscard]] Result<LengthDistribution> length_distribution(const std::string& word, std::string_view option);

/// Reads a table of requests with the columns `prompt` and `output`. Errors carry the line: no rows, a missing column,
/// a cell that is not a positive whole number.
[[nodiscard]] Result<std::vector<RequestTokens>> read_request_lengths(const NamedText& table);

/// Reads --balancedness; 0 if it is not given. Error: it is no number above 0 and at most 1.
[[nodiscard]] Result<double> balancedness_option(const std::string& word);

/// Reads --memory-fraction, `0.9` or `90%`; empty if it is not given. Error: it is no number above 0 and at most 1.
[[nodiscard]] Result<std::optional<double>> memory_fraction_option(const std::string& word);

/// Returns whether the request has an option of a load.
[[nodiscard]] bool names_load(const ServeRequest& request);

/// Returns the load of a request; empty if it has none of the options of one. A closed loop without a concurrency has
/// `batch` requests in flight. `lengths` are those of --prompt and --output or --lengths. Errors name the option.
[[nodiscard]] Result<std::optional<LoadQuestion>> load_options(const ServeRequest& request, RequestLengths lengths,
                                                               std::int64_t batch);

}  // namespace roofline::core
