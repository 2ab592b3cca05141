// What loops of an imported program carry from one iteration to the next, as the notation writes it: a name that is
// assigned again.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "import/xla/lower/lower_module.hpp"
#include "import/xla/named/program_dims.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Decides for each array that a loop carries whether the array of an iteration can have the name of that before it:
/// it can if the latter is not needed any more.
class LoopNames {
public:
    LoopNames(const ImportedProgram& imported, ProgramDims& dims);

    /// The value whose name a value has because it takes its place.
    [[nodiscard]] std::optional<ValueId> renames(ValueId id) const;
    /// Arrays before a loop and after an iteration that need a name of their own in the loop, and copies into it.
    [[nodiscard]] std::vector<std::pair<ValueId, ValueId>> copied(const Block& repeat) const;
    /// Whether statements read the value.
    [[nodiscard]] bool used(ValueId id) const { return last_use_[id] > 0; }

private:
    void walk(const Block& block);
    void settle(const Block& block);
    [[nodiscard]] bool may_rename(ValueId first, ValueId last) const;

    const ImportedProgram& imported_;
    ProgramDims& dims_;
    std::vector<std::size_t> made_at_;            ///< by value: its statement, from 1; 0 for inputs
    std::vector<std::size_t> last_use_;           ///< by value: the last statement that reads it; 0: none
    std::map<ValueId, ValueId> first_;            ///< by value that takes another's name: the first with that name
    std::map<ValueId, std::set<ValueId>> names_;  ///< all values with a name, by the first
    std::map<const Block*, std::vector<std::pair<ValueId, ValueId>>> copied_;
    std::size_t position_ = 0;
    std::size_t loops_ = 0;
};

}  // namespace roofline::core
