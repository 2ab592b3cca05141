// What the printed forms of an `op` answer are made from.
#pragma once

#include <string>
#include <vector>

#include "bound/analysis.hpp"
#include "bound/sweep.hpp"
#include "machine/machine.hpp"
#include "program/program.hpp"

namespace roofline {

/// A program on one machine.
struct OpAnswer {
    std::string name;  ///< of the program: its file, or ""
    Program program;
    Machine machine;
    ProgramAnalysis analysis;
    WorkOptions options;
    std::vector<std::string> notes;  ///< of the request: sizes overruled, a tile that was chosen
};

/// All notes of an answer, the request's first.
[[nodiscard]] std::vector<std::string> notes_of(const OpAnswer& answer);

/// The number of a polynomial at the program's sizes, if they are all known.
[[nodiscard]] std::optional<Rational> count(const Program& program, const Polynomial& polynomial);

/// A polynomial with bare numbers put in, for printing.
[[nodiscard]] Polynomial shown(const Program& program, const Polynomial& polynomial);

/// The whole size that a crossing comes down to: "256".
[[nodiscard]] std::string whole_text(const Crossing& crossing);

}  // namespace roofline
