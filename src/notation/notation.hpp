// The notation's two directions: text to Program and back.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "program/program.hpp"

namespace roofline {

/// Reads a program. `source_name` stands in messages ("" for the command line). Errors carry the place and a hint; texts
/// beyond 64 MB are refused.
[[nodiscard]] Result<Program> parse_program(std::string_view text, std::string_view source_name = {});

/// Reads a list of sizes such as "B=256, D=8k". Errors: as in a program; a name given twice.
[[nodiscard]] Result<Sizes> parse_sizes(std::string_view text, std::string_view source_name = {});

/// The program as text, one statement a line, with the types that were written. parse_program(print(p)) is the same program,
/// but perhaps for the order and numbering of dimensions.
[[nodiscard]] std::string print(const Program& program);

/// How much of its tensors' types a printed statement has.
enum class Types {
    none,   ///< "H = gelu(In * Win)"
    plain,  ///< "H : bf16[B, F] = gelu(In * Win)", a one-liner as it was written
    sized,  ///< the same with each dimension's size where it first appears
};
[[nodiscard]] std::string statement_text(const Program& program, const Statement& statement, Types types);

}  // namespace roofline
