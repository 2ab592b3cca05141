// Ranges of a machine's figure: the values that a sweep or a design search tries.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// A figure of a machine with the values that it takes.
struct FigureAxis {
    std::string path;             ///< "hbm.bandwidth"
    std::string unit;             ///< of the numbers: "B/s"
    std::vector<double> numbers;  ///< rising in a range, as written in a list

    /// Returns what --set takes: "hbm.bandwidth=2e+12B/s".
    [[nodiscard]] std::string assignment(double number) const;
    /// Returns the number for people: "2 TB/s".
    [[nodiscard]] std::string text(const Machine& machine, double number) const;
};

/// Whether a word before `=` names a figure of a machine: it has a dot, or is `price`, `power` or `clock`.
[[nodiscard]] bool names_figure(std::string_view name);

/// Reads `hbm.bandwidth=2TB/s..16TB/s*1.5`, with `+1TB/s` in place of `*1.5`, `2..16TB/s` if both have the unit of the
/// end, or a list `2TB/s,4TB/s`; values may be relative to the machine's, `*0.5..*4*2`. The end is a value only if an
/// increment meets it. `steps` is the number of values of a range without an increment, each the same factor above
/// the one before, ends included; 0: a range needs one. Errors: those of set_figure(); values that are not positive; a
/// range that runs backwards or never ends; more than `most` values, with their number.
[[nodiscard]] Result<FigureAxis> parse_figure_range(const Machine& machine, std::string_view text, std::size_t steps,
                                                    std::size_t most);

}  // namespace roofline::core
