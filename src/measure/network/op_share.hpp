// The share of an operation that one chip computes, as a separate program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "layout/op_strategies.hpp"
#include "measure/network/boxes.hpp"
#include "measure/network/sum.hpp"
#include "measure/run/steps.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// A program of one statement on the shards of a chip.
struct OpShare {
    Program program;
    StepOptions options;
    /// Operands in order, followed by the choices of experts if the operation has none of its own, or by the row
    /// statistics that were reduced before. Several operands may be the same value.
    std::vector<ValueId> inputs;
    ValueId output = 0;
};

/// How a way holds a tensor of its operation (operands in order, then the result), halos included: operands as the
/// operation reads them, the result as it was computed.
[[nodiscard]] HeldShard held_by_way(const OpStrategies& ways, const Strategy& way, std::size_t tensor);

/// The operation on a chip's share of each dimension, including halos. `choices` is the result of choices_of() if the
/// operation needs choices and has none. Errors: a dimension has no size or is not divisible; both the indexed
/// dimension and the indices are split.
[[nodiscard]] Result<OpShare> share_of_op(const Program& program, const OpStrategies& ways, const Strategy& way,
                                          const System& system, std::int64_t chip,
                                          const std::optional<Operand>& choices = std::nullopt);

/// How the rows that a function of experts moves are split, by dimension: groups are filled in shares, the first
/// outermost.
[[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> group_shares(const OpStrategies& ways,
                                                                             const Strategy& way,
                                                                             const Operand& choices,
                                                                             const System& system);

/// How a way needs an array that has some of the operation's dimensions but is not one of its tensors.
[[nodiscard]] HeldShard held_extra(const OpStrategies& ways, const Strategy& way, const std::vector<std::string>& dims);

/// A function along split rows: statistics of each row of a chip's part, which the chips reduce together in rounds, and
/// the result that follows from the part and all statistics.
struct RowParts {
    struct Round {
        std::vector<OpShare> numbers;  ///< one for each statistic of a row
        Reduction reduction = Reduction::sum;
    };
    std::vector<Round> rounds;
    OpShare last;
};

/// Errors: those of share_of_op(); the function cannot run.
[[nodiscard]] Result<RowParts> row_parts(const Program& program, const OpStrategies& ways, const Strategy& way,
                                         const System& system, std::int64_t chip);

/// Dtype in which chips exchange row statistics.
[[nodiscard]] Dtype statistics_dtype(const Op& op);

}  // namespace roofline::core
