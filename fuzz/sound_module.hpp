// What holds for every module that a reader of XLA's modules hands on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "import/xla/xla_module.hpp"
#include "require.hpp"

inline void require_sound(const roofline::core::XlaModule& module) {
    using namespace roofline::core;
    require(module.entry < module.computations.size());
    for (std::size_t at = 0; at < module.computations.size(); ++at) {
        const XlaComputation& computation = module.computations[at];
        require(computation.root < computation.instructions.size());
        for (std::size_t index = 0; index < computation.instructions.size(); ++index) {
            const XlaInstruction& instruction = computation.instructions[index];
            require(!instruction.opcode.empty());
            require(countable(instruction.shape));
            require(instruction.shape.bytes() >= 0);
            require(!shape_text(instruction.shape).empty());
            for (const std::uint32_t operand : instruction.operands) require(operand < index);
            for (const std::uint32_t called : instruction.called) require(called < at);
            std::size_t characters = instruction.literal.size() + instruction.name.size();
            for (const XlaAttribute& attribute : instruction.attributes) {
                characters += attribute.key.size() + attribute.value.size();
                static_cast<void>(instruction.numbers(attribute.key));
                static_cast<void>(instruction.number(attribute.key));
                static_cast<void>(value_of_key(attribute.value, "n"));
            }
            require(characters > 0);
        }
    }
}
