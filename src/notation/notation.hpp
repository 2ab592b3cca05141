// The notation's two directions: text to Program and back.
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

/// Reads a program. `source_name` stands in messages ("" for the command line). Errors carry the place and a hint; texts
/// beyond 64 MB are refused.
[[nodiscard]] Result<Program> parse_program(std::string_view text, std::string_view source_name = {});

/// One kind of the copies that a `repeat` makes: how many, and in what they differ from the others.
struct RepeatKind {
    std::int64_t count = 1;
    std::map<std::string, bool, std::less<>> options{};
    Sizes sizes{};  ///< of dimensions that have another size in other kinds, too

    bool operator==(const RepeatKind&) const = default;
};

/// What is decided about a program from outside while it is read.
struct Choices {
    std::map<std::string, bool, std::less<>> options{};                     ///< win over those in the text
    std::map<std::string, std::vector<RepeatKind>, std::less<>> repeats{};  ///< by the name of the count
};

/// The same with its options chosen. A `repeat L` with kinds becomes one block for each kind, in that order, with tensors of its
/// own (W, then W_2) and dimensions of its own where their sizes differ (F, then F2). Errors: an option or a count that the
/// program does not have; no copies at all.
[[nodiscard]] Result<Program> parse_program(std::string_view text, std::string_view source_name,
                                            const Choices& choices);

/// What dimensions are to those who split a program over chips, by dimension: {"F", "columns"}.
using DimRoles = std::map<std::string, std::string, std::less<>>;

/// The roles that a program's text gives to dimensions, by lines such as `role columns = F, I`. They mean nothing to the program
/// itself. Errors: as in a program; a dimension with two roles.
[[nodiscard]] Result<DimRoles> parse_roles(std::string_view text, std::string_view source_name = {});

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

}  // namespace roofline::core
