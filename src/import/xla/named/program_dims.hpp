// The dimensions of an imported program, tied by its operations.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "import/xla/lower/lower_module.hpp"
#include "import/xla/named/dim_classes.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// The dimensions of one operation, in the order of its operands' own.
struct OpDims {
    std::vector<std::vector<DimClasses::Id>> inputs{};
    std::map<std::string, DimClasses::Id, std::less<>> along{};  ///< by the operation's names, as far as it ties them
};

/// Finds out which dimensions of a program that was made of a module are the same one. Elementwise operations, matmuls
/// and reductions tie the dimensions of their operands; a reshape ties one dimension to several; slices, transposes,
/// gathers and so on tie those that their attributes say they keep; a loop ties what it carries. Dimensions of the same
/// size that nothing ties stay different.
class ProgramDims {
public:
    ProgramDims(const XlaModule& module, const ImportedProgram& imported);

    [[nodiscard]] DimClasses& classes() { return classes_; }
    /// Dimensions of a value, in the order in which it is declared or computed.
    [[nodiscard]] const std::vector<DimClasses::Id>& of_value(ValueId id) const { return values_[id]; }
    /// Dimensions of an operation, by its place in the program.
    [[nodiscard]] const OpDims& of_op(std::size_t index) const { return ops_[index]; }
    /// Returns the dimension of a value that its own type calls so, for masks.
    [[nodiscard]] DimClasses::Id named(ValueId id, const std::string& dim) const;

private:
    void walk(const Block& block);
    void add(const Op& op);
    void add_input(ValueId id);
    void add_tied(const Op& op, OpDims& dims);
    void add_apart(const Op& op, OpDims& dims);
    [[nodiscard]] std::int64_t size_of(const std::string& dim) const;
    [[nodiscard]] std::vector<DimClasses::Id> fresh(const std::vector<std::string>& dims);
    // moved_dims.cpp
    void tie_moved(const Op& op, const OpDims& dims);
    void tie_places(const std::vector<DimClasses::Id>& from, const XlaShape& from_shape, std::size_t from_place,
                    const std::vector<DimClasses::Id>& to, const XlaShape& to_shape, std::size_t to_place);
    void tie_equal_places(const std::vector<DimClasses::Id>& from, const XlaShape& from_shape,
                          const std::vector<DimClasses::Id>& to, const XlaShape& to_shape);
    void tie_gathered(const XlaInstruction& gather, const XlaComputation& all, const OpDims& dims,
                      const std::vector<DimClasses::Id>& made);

    const XlaModule& module_;
    const ImportedProgram& imported_;
    const Program& program_;
    DimClasses classes_;
    std::vector<std::vector<DimClasses::Id>> values_;
    std::vector<OpDims> ops_;
};

/// Whether an operation ties the dimensions of its operands and its result by their names. The others move elements, or
/// nothing is known of them.
[[nodiscard]] bool ties_by_name(const Op& op);

/// By value: whether a statement of the program computes it. The others are inputs.
[[nodiscard]] std::vector<bool> computed_values(const Program& program);

}  // namespace roofline::core
