// Ids of values of a program into which others are inserted.
#pragma once

#include <cstddef>
#include <variant>

#include "program/program.hpp"

namespace roofline::core {

/// Makes space for `more` values behind `id`: shifts all later ids of a block by so many.
inline void shift_values(Block& block, ValueId id, std::size_t more) {
    const auto shift = [&](std::size_t& place) { place += place > id ? more : 0; };
    shift(block.values_before);
    shift(block.values_after);
    for (Node& node : block.nodes) {
        if (auto* inner = std::get_if<Block>(&node)) {
            shift_values(*inner, id, more);
            continue;
        }
        auto& statement = std::get<Statement>(node);
        shift(statement.result);
        for (Op& op : statement.ops) {
            for (Operand& input : op.inputs) shift(input.value);
            shift(op.output.value);
        }
    }
}

}  // namespace roofline::core
