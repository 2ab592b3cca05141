// The names of the instructions of one computation, for operands to be found by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// A hash table with linear probing over the instructions themselves, because a node of its own for each name would
/// take as much time as the rest of reading. Few names are searched one by one.
class HloNames {
public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// Returns the index of the instruction of that name, or `none`.
    [[nodiscard]] std::uint32_t find(const std::vector<XlaInstruction>& instructions, std::string_view name) const {
        if (slots_.empty()) {
            for (std::size_t i = instructions.size(); i-- > 0;) {
                if (instructions[i].name == name) return static_cast<std::uint32_t>(i);
            }
            return none;
        }
        const std::uint32_t hash = hash_of(name);
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.index == none) return none;
            if (slot.hash == hash && instructions[slot.index].name == name) return slot.index;
        }
    }

    /// Enters the last of the instructions, whose name find() does not find yet.
    void add_last(const std::vector<XlaInstruction>& instructions) {
        if (instructions.size() <= few) return;
        if (2 * instructions.size() > slots_.size()) {
            slots_.assign(std::max<std::size_t>(4 * slots_.size(), 8 * few), Slot{});
            for (std::uint32_t i = 0; i < instructions.size(); ++i) enter(hash_of(instructions[i].name), i);
            return;
        }
        enter(hash_of(instructions.back().name), static_cast<std::uint32_t>(instructions.size() - 1));
    }

private:
    static constexpr std::size_t few = 8;  ///< a power of 2, so that the number of slots is one
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t index = none;
    };

    static std::uint32_t hash_of(std::string_view name) {
        return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
    }
    void enter(std::uint32_t hash, std::uint32_t index) {
        std::size_t at = hash & (slots_.size() - 1);
        while (slots_[at].index != none) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = {hash, index};
    }

    std::vector<Slot> slots_;
};

}  // namespace roofline::core
