// Random programs that are valid by construction, and random machines to price them on.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "algebra/polynomial.hpp"
#include "bound/analysis.hpp"
#include "machine/machine.hpp"
#include "program/program.hpp"

namespace roofline::core::property {

using Dims = std::vector<std::string>;

struct Tensor {
    std::string name;
    std::string dtype;
    Dims dims;
    std::string level;  ///< "hbm", "vmem", "host"
};

/// A statement `result : type = function(operands[0] * operands[1] ...)`, or the same without a function.
struct RandomStatement {
    Tensor result;
    std::string function;
    std::vector<Tensor> operands;
};

struct RandomProgram {
    Sizes sizes;
    std::vector<Tensor> inputs;
    std::vector<RandomStatement> statements;
    std::int64_t repeats = 1;
    bool fused = false;
};

/// Options for writing a RandomProgram as text.
struct Writing {
    bool sized = true;                             ///< the text contains the sizes
    bool reversed = false;                         ///< the operands of every product are in reverse order
    std::map<std::string, std::string> new_names;  ///< new names of dimensions
};

/// Returns a program of one to four statements over up to six dimensions with sizes of 1 to 64: products of at most
/// `most_operands` operands, sums, and maps.
[[nodiscard]] RandomProgram random_program(std::size_t most_operands = 3);

[[nodiscard]] std::string text_of(const RandomProgram& program, const Writing& writing = {});

/// Parses the program in this form; the property fails if it is rejected.
[[nodiscard]] Program parsed(const RandomProgram& program, const Writing& writing = {});

/// A machine as TOML with random rates (HBM, VMEM, PCIe, matrix units for bf16 and int8, vector units), each multiplied
/// by `factor`.
struct RandomMachine {
    std::vector<std::int64_t> rates;  ///< in units of 1e9 per second

    [[nodiscard]] Machine times(int factor) const;
};
[[nodiscard]] RandomMachine random_machine();

[[nodiscard]] ProgramAnalysis analysed(const Program& program, const Machine& machine);

/// Returns whether two numbers are equal up to the rounding errors of a few sums of doubles.
[[nodiscard]] bool close(double a, double b);

}  // namespace roofline::core::property
