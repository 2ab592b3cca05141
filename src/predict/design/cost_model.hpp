// What a chip costs as a function of its figures, from a user's file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// USD of one figure: linear between points, which rise in both. A term without a table has two of them.
struct CostTerm {
    std::string path;  ///< "hbm.capacity"
    std::string unit;  ///< of the points' figures: "B"
    std::vector<double> at;
    std::vector<double> usd;
    std::string source;

    /// Errors: a value outside the points, which names the range.
    [[nodiscard]] Result<double> cost(const Machine& machine, double number) const;
};

struct CostModel {
    std::string name;    ///< of the file
    double base = 0;     ///< USD
    std::string source;  ///< of the base
    std::vector<CostTerm> terms;
    std::vector<std::string> absent;  ///< figures of terms that the machine does not have, which are left out

    [[nodiscard]] const CostTerm* term(std::string_view path) const;
};

/// Reads a cost model for a machine: `base` in USD, and tables [[term]] with `figure`, a path of --set; either `usd`
/// with `per` (15 and "1GB") and the range `from` and `to` in which that holds, or tables [[term.point]] with `at` and
/// `usd`, between which the cost is linear; and `source`. Errors, with line and column: keys that are missing or
/// unknown; values that are none of the figure; a figure with two terms; costs that fall with a better figure.
[[nodiscard]] Result<CostModel> parse_cost_model(const TomlInput& toml, const std::string& origin,
                                                 const Machine& machine);

}  // namespace roofline::core
