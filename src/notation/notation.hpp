// The two directions of the notation: text to Program, and Program to text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Parses a program. `source_name` appears in messages ("" for the command line). Errors carry the place and a hint;
/// texts beyond 64 MB are refused.
[[nodiscard]] Result<Program> parse_program(std::string_view text, std::string_view source_name = {});

/// One kind of iterations of a `repeat`: their number, and how they differ from the others.
struct RepeatKind {
    std::int64_t count = 1;
    std::map<std::string, bool, std::less<>> options{};
    Sizes sizes{};  ///< of dimensions whose sizes differ between kinds

    bool operator==(const RepeatKind&) const = default;
};

/// Choices from outside while a program is read.
struct Choices {
    std::map<std::string, bool, std::less<>> options{};  ///< they take precedence over values in the text
    std::map<std::string, std::vector<RepeatKind>, std::less<>> repeats{};  ///< by the name of the count
};

/// Parses a program with these choices. A `repeat L` with kinds becomes one block per kind, in that order, with
/// separate tensors (W, then W_2), and with separate dimensions where their sizes differ (F, then F2). Errors: an
/// option or a count that the program does not have; no iterations.
[[nodiscard]] Result<Program> parse_program(std::string_view text, std::string_view source_name,
                                            const Choices& choices);

/// Roles of dimensions for sharding a program over chips, by dimension: {"F", "columns"}.
using DimRoles = std::map<std::string, std::string, std::less<>>;

/// Returns the roles that a program's text gives to dimensions by lines such as `role columns = F, I`. They have no
/// effect on the program itself. Errors: as in a program; a dimension with two roles.
[[nodiscard]] Result<DimRoles> parse_roles(std::string_view text, std::string_view source_name = {});

/// A program, and the roles that its text gives to dimensions.
struct ProgramAndRoles {
    Program program;
    DimRoles roles;
};

/// Parses a program with these choices, and its roles. Errors: as parse_program() and parse_roles().
[[nodiscard]] Result<ProgramAndRoles> parse_program_and_roles(std::string_view text, std::string_view source_name,
                                                              const Choices& choices);

/// Parses a list of sizes such as "B=256, D=8k". Errors: as in a program; a name given twice.
[[nodiscard]] Result<Sizes> parse_sizes(std::string_view text, std::string_view source_name = {});

/// Returns the program as text, one statement per line, with the types that were written. parse_program(print(p)) is
/// the same program, except possibly for the order and numbering of dimensions.
[[nodiscard]] std::string print(const Program& program);

/// Whether a printed statement includes the types of its tensors.
enum class Types {
    none,   ///< "H = gelu(In * Win)"
    plain,  ///< "H : bf16[B, F] = gelu(In * Win)", a one-liner as it was written
    sized,  ///< the same with each dimension's size where it first appears
};
/// `local` has what the dimensions of one chip's statement stand for; it is printed as `program` has it.
[[nodiscard]] std::string statement_text(const Program& program, const Statement& statement, Types types,
                                         const LocalDims& local = {});

}  // namespace roofline::core
