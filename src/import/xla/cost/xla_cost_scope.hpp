// What the rules of costs share: access to operands and attributes that checks them, and sizes as XLA measures them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// An instruction where it stands, and what is known so far: the costs of all computations that it may call, and of all
/// instructions before it.
struct XlaCostScope {
    const XlaModule& module;
    const XlaCostOptions& options;
    const XlaModuleCost& done;
    const XlaComputation& computation;

    [[nodiscard]] bool gpu() const { return options.analysis == XlaAnalysis::gpu; }
    [[nodiscard]] const XlaShape& operand(const XlaInstruction& at, std::size_t index) const {
        return computation.instructions[at.operands[index]].shape;
    }
};

/// An error that names the instruction.
[[nodiscard]] tl::unexpected<Error> fail_in(const XlaInstruction& at, std::string_view what, std::string hint = {});

/// Error: the instruction has fewer operands.
[[nodiscard]] Status need_operands(const XlaInstruction& at, std::size_t count);
/// The index of a computation that the instruction calls. Error: it calls fewer.
[[nodiscard]] Result<std::uint32_t> callee_of(const XlaInstruction& at, std::size_t place = 0);
/// The numbers of a list such as `dimensions={0,2}`, each a dimension of `shape`; empty if there is none. Errors: text
/// that is no list of numbers, and dimensions that the shape lacks.
[[nodiscard]] Result<std::vector<std::int64_t>> dims_of(const XlaInstruction& at, std::string_view key,
                                                        const XlaShape& shape);

/// The size of a dimension. Error: the shape lacks it.
[[nodiscard]] Result<std::int64_t> dim_of(const XlaInstruction& at, const XlaShape& shape, std::int64_t dim);

/// The shape itself, or the first part of a tuple.
[[nodiscard]] const XlaShape& first_array(const XlaShape& shape);

[[nodiscard]] double count_of(const XlaShape& shape);    ///< elements of an array
[[nodiscard]] double leaf_count(const XlaShape& shape);  ///< elements of all arrays of a tuple, or of the array
[[nodiscard]] double leaf_bytes(const XlaShape& shape);  ///< bytes of the same
/// The bytes of a value where it stands: a tuple is a table of pointers of 8 bytes, as HloCostAnalysis has it.
[[nodiscard]] double size_of(const XlaShape& shape);

/// What reading all operands and writing the result costs, before the rules of an operation.
[[nodiscard]] XlaCost whole_cost(const XlaCostScope& scope, const XlaInstruction& at);
/// Adds a cost so many times.
void add_cost(XlaCost& sum, const XlaCost& cost, double times);
/// No bytes.
void touch_nothing(XlaCost& cost);
/// Enters what the function called at `place` computes, so many times; its bytes do not count.
[[nodiscard]] Status add_function(const XlaCostScope& scope, const XlaInstruction& at, std::size_t place, double times,
                                  XlaCost& cost);

}  // namespace roofline::core
