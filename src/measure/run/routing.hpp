// Which rows go to which expert: shared by all functions of experts in a program.
#pragma once

#include <optional>

#include "program/program.hpp"

namespace roofline::core {

/// The experts chosen for each row that `op`, a function of experts in this program, moves; none for other operations.
/// A dispatch and a collect have them as an argument. A combine has only weights: its choices are those of the last
/// dispatch before it into the same groups. Derivatives, which have the weights of a combine, use the choices of that
/// combine. None is returned also if no dispatch precedes it.
[[nodiscard]] std::optional<Operand> choices_of(const Program& program, const Op& op);

}  // namespace roofline::core
