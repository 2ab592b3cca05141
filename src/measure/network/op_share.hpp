// What one chip does of an operation, as programs of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "layout/op_ways.hpp"
#include "measure/network/boxes.hpp"
#include "measure/network/sum.hpp"
#include "measure/run/steps.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// A program of one statement on what a chip has of its arrays.
struct OpShare {
    Program program;
    StepOptions options;
    /// By operand, then the choices of experts where the operation has none, or the statistics that its rows have by then; operands
    /// may be one value.
    std::vector<ValueId> inputs;
    ValueId output = 0;
};

/// How a way has a tensor of its operation (operands in order, then the result), edges included: of an operand before it works, of
/// the result when it has been made.
[[nodiscard]] HeldShard held_by_way(const OpWays& ways, const Way& way, std::size_t tensor);

/// The operation on the share of each dimension that a chip has, and on the places beside it; `choices` as choices_of() finds them,
/// where it needs them and has none. Errors: a dimension without a size or that does not divide; rows that are looked up or written
/// where they are split.
[[nodiscard]] Result<OpShare> share_of_op(const Program& program, const OpWays& ways, const Way& way,
                                          const System& system, std::int64_t chip,
                                          const std::optional<Operand>& choices = std::nullopt);

/// How the rows that a function of experts moves are split, by their dimensions: groups are filled in shares, the first outermost.
[[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> group_shares(const OpWays& ways, const Way& way,
                                                                             const Operand& choices,
                                                                             const System& system);

/// How a way wants an array that has some of the operation's dimensions, and is none of its tensors.
[[nodiscard]] HeldShard held_beside(const OpWays& ways, const Way& way, const std::vector<std::string>& dims);

/// A function along rows that are split: numbers of each row of a chip's part, which the chips reduce together, round by round, and
/// the result that follows from the part and all of these.
struct RowParts {
    struct Round {
        std::vector<OpShare> numbers;  ///< one for each number of a row
        Reduction reduction = Reduction::sum;
    };
    std::vector<Round> rounds;
    OpShare last;
};

/// Errors: as share_of_op(); a function that does not run.
[[nodiscard]] Result<RowParts> row_parts(const Program& program, const OpWays& ways, const Way& way,
                                         const System& system, std::int64_t chip);

/// In which dtype chips exchange the statistics of rows.
[[nodiscard]] Dtype statistics_dtype(const Op& op);

}  // namespace roofline::core
