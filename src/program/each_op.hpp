// A walk over the operations of a program.
#pragma once

#include <variant>

#include "program/program.hpp"

namespace roofline::core {

/// Calls `visit` with each operation of a block and of those inside it, in the order of the text.
template <class Visit>
void each_op(Block& block, Visit visit) {
    for (Node& node : block.nodes) {
        if (auto* inner = std::get_if<Block>(&node)) {
            each_op(*inner, visit);
        } else {
            for (Op& op : std::get<Statement>(node).ops) visit(op);
        }
    }
}

}  // namespace roofline::core
