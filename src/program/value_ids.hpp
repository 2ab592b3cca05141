// Values and dimensions that are inserted into a program.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
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

/// Adds a dimension of that size, named `like` or, if that is taken, with a number behind it. Returns its name.
inline std::string new_dim(Program& program, const std::string& like, std::int64_t size) {
    std::string dim = like;
    for (int i = 2; std::find(program.dims.begin(), program.dims.end(), dim) != program.dims.end(); ++i) {
        dim = fmt::format("{}{}", like, i);
    }
    program.dims.push_back(dim);
    program.sizes[dim] = size;
    return dim;
}

}  // namespace roofline::core
