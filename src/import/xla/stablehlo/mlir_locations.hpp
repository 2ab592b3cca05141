// Locations of MLIR: `loc("jit(f)/add"(#loc3))`, and the aliases that a module defines for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "import/xla/stablehlo/mlir_scanner.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

class MlirLocations {
public:
    /// Finds the lines `#loc3 = loc(...)`, which stand before and after the module. Error: one is defined twice.
    [[nodiscard]] Status find_aliases(const MlirScanner& scanner);
    /// Takes `loc(...)` if it comes next; leaves `origin` otherwise. The outermost name becomes op_name, and of the
    /// frames (`callsite(a at b)`, `fused[a, b]`) the innermost that has a file gives file and line. Errors: an alias
    /// that is not defined or refers to itself, locations nested deeper than 256 levels, no location in the brackets.
    [[nodiscard]] Status take(MlirScanner& scanner, XlaOrigin& origin);

private:
    struct Alias {
        std::size_t offset = 0;  ///< of what stands in the brackets after `loc`
        enum class State : std::uint8_t { fresh, entered, known } state = State::fresh;
        XlaOrigin origin;
    };

    [[nodiscard]] Result<XlaOrigin> take_location(MlirScanner& scanner, int depth);
    [[nodiscard]] Result<XlaOrigin> take_alias(MlirScanner& scanner, int depth);
    [[nodiscard]] Result<XlaOrigin> take_named(MlirScanner& scanner, int depth);
    [[nodiscard]] Result<XlaOrigin> take_fused(MlirScanner& scanner, int depth);

    /// The alias of a name; null if it is not defined.
    [[nodiscard]] Alias* find(std::string_view name);

    std::vector<Alias> aliases_;
    std::unordered_map<std::string_view, std::uint32_t> named_;  ///< of aliases_
    std::vector<std::uint32_t> numbered_;  ///< those named `locN`, by N: a place in aliases_ and 1
};

}  // namespace roofline::core
