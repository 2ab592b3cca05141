// Which rows go to which expert: what the functions of experts of one program have in common.
#pragma once

#include <optional>

#include "program/program.hpp"

namespace roofline::core {

/// The experts that were chosen for each row that `op`, a function of experts in this program, moves; none for other operations. A
/// dispatch and a collect have
/// them as an argument. The way back has weights alone: its choices are those of the last dispatch before it into the same groups;
/// and derivatives, which have the weights of a combine, take those that it took. None, too, where no dispatch stands before it.
[[nodiscard]] std::optional<Operand> choices_of(const Program& program, const Op& op);

}  // namespace roofline::core
