// Helpers for the tests of the reader of StableHLO.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "import/xla/stablehlo/stablehlo_text.hpp"

namespace roofline::core {

inline XlaModule read_module(const std::string& text) {
    auto module = read_stablehlo_text(text, "test.mlir");
    REQUIRE_MESSAGE(module.has_value(), to_text(module.error()));
    return std::move(*module);
}

// The instruction as HLO writes it, without its name: `f32[2,8] dot(a, b), lhs_contracting_dims={1}`.
inline std::string written(const XlaModule& module, const XlaComputation& computation,
                           const XlaInstruction& instruction) {
    std::string text = fmt::format("{} {}({}", shape_text(instruction.shape), instruction.opcode, instruction.literal);
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : ", ", computation.instructions[instruction.operands[i]].name);
    }
    text += ")";
    for (const XlaAttribute& attribute : instruction.attributes) {
        text += fmt::format(", {}={}", attribute.key, attribute.value);
    }
    for (const std::uint32_t called : instruction.called) text += fmt::format(", {}", module.computations[called].name);
    return text;
}

inline std::string root_of(const XlaModule& module) { return written(module, module.main(), module.main().result()); }

// Reads a function of one operation, which returns its result.
inline std::string root_of_one(const std::string& arguments, const std::string& operation, const std::string& result) {
    return root_of(read_module("func.func @main(" + arguments + ") -> " + result + " {\n  %r = " + operation +
                               "\n  return %r : " + result + "\n}\n"));
}

inline const XlaInstruction& instruction_of(const XlaComputation& computation, std::string_view opcode) {
    for (const XlaInstruction& instruction : computation.instructions) {
        if (instruction.opcode == opcode) return instruction;
    }
    FAIL("no instruction has the opcode ", std::string(opcode));
    return computation.instructions.front();
}

inline std::string error_of(const std::string& text) {
    const auto module = read_stablehlo_text(text, "test.mlir");
    REQUIRE_FALSE(module.has_value());
    const Error& error = module.error();
    CHECK(!error.message.empty());
    return error.place ? fmt::format("{} {}:{} {}", error.code, error.place->line, error.place->column, error.message)
                       : fmt::format("{} {}", error.code, error.message);
}

inline std::string in_function(const std::string& lines) {
    return "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" + lines + "\n}\n";
}

}  // namespace roofline::core
