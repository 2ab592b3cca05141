// How attributes of StableHLO are called in HLO.
#pragma once

#include <cstdint>
#include <string_view>

namespace roofline::core {

/// How a value of MLIR becomes one of HLO.
enum class AttributeForm : std::uint8_t {
    braces,      ///< `array<i64: 1, 0>`: `{1,0}`
    one,         ///< `1 : i64`: `{1}`
    word,        ///< `1 : i64`, `#stablehlo<fft_type RFFT>`: what is left without type and wrapping
    lower,       ///< the same in lower case, after a prefix
    flag,        ///< true, or an entry without a value: `true`; left out if false
    beyond_one,  ///< a number; left out if it is 1
    string,      ///< a string of HLO, with quotation marks
    bare,        ///< a string without quotation marks
    nothing      ///< HLO says it otherwise, or not at all
};

/// An attribute of any operation, or of one.
struct AttributeRule {
    std::string_view key;
    std::string_view hlo;
    AttributeForm form = AttributeForm::word;
    std::string_view opcode = {};  ///< of HLO; "" for any
};

/// Finds the rule for an attribute of an operation with this opcode of HLO. Null if HLO has no such attribute.
[[nodiscard]] const AttributeRule* find_attribute_rule(std::string_view key, std::string_view opcode);

}  // namespace roofline::core
