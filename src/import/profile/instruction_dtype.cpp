#include "import/profile/instruction_dtype.hpp"

#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "import/profile/kernel_class.hpp"
#include "import/xla/xla_shape.hpp"

namespace roofline::core {

namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || is_digit(c); }

// The operands stand in the brackets after the opcode, which follows the shape of the result; that of a tuple has
// brackets of its own, and layouts in braces may have some, too: {1,0:T(8,128)}.
std::string_view operands_in(std::string_view instruction) {
    const std::size_t result = instruction.find(" = ");
    if (result == std::string_view::npos) return {};
    instruction.remove_prefix(result + 3);
    bool tuple = instruction.starts_with('(');
    int braces = 0;
    int brackets = 0;
    for (std::size_t i = 0; i < instruction.size(); ++i) {
        const char c = instruction[i];
        if (c == '{') ++braces;
        if (c == '}') --braces;
        if (braces > 0) continue;
        if (c == '(' && brackets++ == 0 && !tuple) return instruction.substr(i + 1);
        if (c == ')' && --brackets == 0) tuple = false;
    }
    return {};
}

// Whether an array may be one that is multiplied: indices and conditions are not.
bool is_factor(const XlaElement& element) {
    constexpr int widest_whole = 8;
    return element.kind == XlaElement::Kind::floating ||
           (element.kind == XlaElement::Kind::whole && element.bits <= widest_whole);
}

}  // namespace

std::optional<Dtype> dtype_of_operands(std::string_view instruction) {
    std::optional<Dtype> found;
    std::string_view rest = operands_in(instruction);
    int depth = 1;
    std::size_t word = 0;  // where the last word begins
    for (std::size_t i = 0; i < rest.size() && depth > 0; ++i) {
        if (rest[i] == '(') ++depth;
        if (rest[i] == ')') --depth;
        if (rest[i] == '[') {
            const std::size_t end = rest.find(']', i);
            const XlaElement* element = find_xla_element(rest.substr(word, i - word));
            const bool matrix =
                end != std::string_view::npos && rest.substr(i, end - i).find(',') != std::string_view::npos;
            if (element != nullptr && matrix && is_factor(*element)) {
                if (found && *found != element->dtype) return std::nullopt;
                found = element->dtype;
            }
        }
        if (!is_word(rest[i])) word = i + 1;
    }
    return found;
}

std::optional<Dtype> dtype_of_kernel(std::string_view name) {
    // Parts of names of cuBLAS and CUTLASS in lower case; the first that is found counts.
    static constexpr std::pair<std::string_view, Dtype> known[] = {
        {"e4m3", Dtype::fp8},       {"e5m2", Dtype::fp8},   {"bf16", Dtype::bf16},  {"f16f16", Dtype::f16},
        {"f16_s16816", Dtype::f16}, {"h16816", Dtype::f16}, {"hgemm", Dtype::f16},  {"s8s8", Dtype::int8},
        {"imma", Dtype::int8},      {"dgemm", Dtype::f64},  {"f64f64", Dtype::f64},
    };
    const std::string text = lowered(name);
    if (multiplies_tf32(text)) return Dtype::tf32;
    for (const auto& [part, dtype] : known) {
        if (text.find(part) != std::string::npos) return dtype;
    }
    return std::nullopt;
}

}  // namespace roofline::core
