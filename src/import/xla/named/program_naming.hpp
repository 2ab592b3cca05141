// The state in which an imported program is written again with named dimensions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/lower/lower_module.hpp"
#include "import/xla/named/loop_names.hpp"
#include "import/xla/named/program_dims.hpp"
#include "import/xla/sharding/module_sharding.hpp"
#include "import/xla/xla_module.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Names of dimensions: the letter D and the size, with letters behind it for further ones of the same size; those that
/// are in more tensors come first.
class DimNaming {
public:
    /// Counts dimensions of one tensor. All must be counted before the first name is asked for.
    void count(const std::vector<DimClasses::Id>& parts);
    void assign(const DimClasses& classes);
    [[nodiscard]] const std::string& name(DimClasses::Id part) const { return names_.at(part); }

private:
    struct Uses {
        std::size_t tensors = 0;
        std::size_t first = 0;  ///< place among all dimensions, in order of appearance
    };
    std::map<DimClasses::Id, Uses> uses_;
    std::map<DimClasses::Id, std::string> names_;
};

class ProgramNaming {
public:
    ProgramNaming(const XlaModule& module, const ImportedProgram& imported, const ModuleSharding* sharding);

    [[nodiscard]] ImportedProgram run();

private:
    using Names = std::vector<std::string>;
    /// Where statements are written: a fuse block, and the block around it, where views of arrays from outside go.
    struct Place {
        Block& into;
        Block& outside;
        std::size_t fuse = 0;  ///< number of the fuse block; 0: none
    };

    // named_program.cpp: blocks and values
    void count_dims();
    void declare_inputs();
    [[nodiscard]] bool declared(ValueId id) const;
    void split(ValueId old, Value& value);
    void block(const Block& from, Block& into);
    void repeat(const Block& from, Block& into);
    [[nodiscard]] Names names(const std::vector<DimClasses::Id>& dims);
    void use_dims(const Names& dims);
    [[nodiscard]] std::string free_name(std::string name);
    /// Adds a value that stands for `old`. Its name is that of a value whose place it takes in a loop, if it does.
    [[nodiscard]] ValueId add_value(ValueId old, const Names& dims, std::string name);
    [[nodiscard]] ValueId add_result(ValueId old, const Names& dims);
    [[nodiscard]] ValueId add_intermediate(ValueId old, const Names& dims, Dtype dtype);
    [[nodiscard]] std::string base_name(ValueId old) const;
    /// The array as it lies in memory.
    [[nodiscard]] Operand as_it_is(ValueId old) const;
    /// The array under these dimensions, by a view if it has others.
    [[nodiscard]] Operand under(ValueId old, const Names& dims, const Place& place);
    void add_move(ValueId from, ValueId to, Block& into);
    [[nodiscard]] static bool same_set(const Names& one, const Names& other);

    // named_statements.cpp: one statement
    void statement(const Statement& from, const Place& place);
    void convolution(const Statement& from, const Place& place);
    void tied(const Op& op, const OpDims& dims, bool last, const Place& place, Statement& into);
    void apart(const Op& op, const OpDims& dims, const Place& place, Statement& into);
    [[nodiscard]] bool gathers_rows(const Op& op, const OpDims& dims, const Place& place, Op& made);
    void scatter(const Op& op, const OpDims& dims, const Place& place, Op& made);
    void finish(Op op, ValueId old, const Names& dims, bool last, Statement& into);
    void say_arithmetic(Statement& statement) const;
    [[nodiscard]] double elements_of(const Names& dims) const;

    const XlaModule& module_;
    const ImportedProgram& imported_;
    const ModuleSharding* sharding_;
    const Program& from_;
    ProgramDims dims_;
    LoopNames loops_;
    DimNaming naming_;
    ImportedProgram out_;
    std::vector<std::optional<ValueId>> now_;  ///< by value of `from_`
    std::vector<std::size_t> fuse_of_;         ///< by new value: where it is made
    std::map<std::pair<ValueId, std::pair<std::size_t, std::string>>, ValueId> views_;  ///< by value, block and type
    std::set<std::string> taken_;                                                       ///< names of tensors
    std::set<std::string> dims_used_;
    std::size_t next_op_ = 0;
    std::size_t fuses_ = 0;
};

}  // namespace roofline::core
