// A machine with round rates for tests of kernels, and programs that are analysed on it.
#pragma once

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

#include "calibrate/expected_program.hpp"
#include "notation/notation.hpp"

namespace roofline::core {

/// 100 TFLOP/s in bf16, 10 TFLOP/s of vector f32, 1 TB/s
inline constexpr const char* toy_machine_text = R"(id = "toy"
name = "Toy"
[[matmul]]
dtype = "bf16"
value = "100 TFLOP/s"
basis = "spec"
source = "made up"
[[vector]]
dtype = "f32"
value = "10 TFLOP/s"
basis = "spec"
source = "made up"
[[memory]]
level = "hbm"
[memory.bandwidth]
value = "1 TB/s"
basis = "spec"
source = "made up"
)";

struct AnalysedProgram {
    Program program;
    ProgramAnalysis analysis;
    System system;
};

inline AnalysedProgram analysed(std::string_view text) {
    auto program = parse_program(text, "");
    REQUIRE_MESSAGE(program, program.error().message);
    auto machine = parse_machine(toy_machine_text, "toy.toml");
    REQUIRE_MESSAGE(machine, machine.error().message);
    AnalysedProgram result{std::move(*program), {}, {}};
    auto slice = make_slice(*machine, "1");
    REQUIRE(slice);
    result.system.slice = std::move(*slice);
    auto analysis = analyse(result.program, *machine, {});
    REQUIRE_MESSAGE(analysis, analysis.error().message);
    result.analysis = std::move(*analysis);
    return result;
}

}  // namespace roofline::core
