// An operation of StableHLO as it is written, before it becomes instructions of HLO.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/xla/stablehlo/mlir_attributes.hpp"
#include "import/xla/stablehlo/stablehlo_region.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// What an operation needs beyond an opcode and its attributes.
enum class StablehloKind : std::uint8_t {
    plain,             ///< an opcode and attributes that a table translates
    constant,          ///< its literal
    dot,               ///< of vectors and matrices, without dimension numbers
    dot_general,       ///< dimension numbers
    convolution,       ///< a window, labels of dimensions
    broadcast,         ///< the old form without dimensions
    broadcast_in_dim,  ///< dimensions of size 1 that grow
    slice,             ///< limits
    pad,               ///< padding
    window,            ///< reduce_window, select_and_scatter
    gather,            ///< dimension numbers
    scatter,           ///< dimension numbers
    compare,           ///< its direction
    custom_call,       ///< target, configuration
    composite,         ///< becomes a call
    call,              ///< of a function
    reduce,            ///< its own syntax, and `applies`
    loop,              ///< while
    branches,          ///< case, if
    barrier,           ///< several operands become a tuple
    tuple_element,     ///< its index
    manual,            ///< sdy.manual_computation
    named,             ///< sdy.named_computation
    returns,           ///< ends a region
    constraint         ///< sdy.sharding_constraint
};

struct StablehloOpcode {
    std::string_view name;    ///< without the dialect
    std::string_view opcode;  ///< of HLO
    StablehloKind kind = StablehloKind::plain;
};

/// `<@mesh, [{"x"}]>`, or the same after `#sdy.sharding`, as the sharding of one value.
[[nodiscard]] std::string sharding_of_value(std::string_view sharding);

/// Finds an operation by its full name ("stablehlo.add", "mhlo.add", "chlo.erf", "call"). Null if it is none that HLO
/// has.
[[nodiscard]] const StablehloOpcode* find_stablehlo_opcode(std::string_view name);

struct StablehloOp {
    struct Result {
        std::string_view name;
        std::uint32_t count = 1;
    };

    std::string_view name;                    ///< "stablehlo.add"
    const StablehloOpcode* opcode = nullptr;  ///< null for an operation that HLO lacks
    std::vector<Result> results;              ///< `%0:2`
    std::uint32_t result_count = 0;           ///< of all of them
    std::vector<std::uint32_t> operands;      ///< instructions of the region
    std::vector<XlaAttribute> attributes;     ///< as MLIR writes them
    std::vector<std::string_view> words;      ///< `LT`
    std::vector<std::string_view> groups;     ///< values without a key: `[0:4]`, `dense<0>`, `<@mesh, [{}]>`
    std::string_view symbol;                  ///< `@f`
    std::string_view string;                  ///< `"name"` of a composite
    std::vector<std::uint32_t> called;        ///< computations of the regions
    std::uint32_t captured = 0;               ///< the last operands, which its regions use
    std::vector<XlaShape> types;              ///< of the results
    XlaOrigin origin;
    std::size_t offset = 0;

    /// Forgets everything; lists keep their memory.
    void clear();
    /// The value of an attribute as MLIR writes it; "" if it is not there.
    [[nodiscard]] std::string_view attribute(std::string_view key) const;
    [[nodiscard]] bool has(std::string_view key) const;
};

/// Adds to `instruction` what the attributes of `op` say, in HLO's notation; attributes that HLO lacks keep their name
/// and value. `region` has the operands.
void translate_attributes(const StablehloOp& op, const StablehloRegion& region, HloNotation& notation,
                          XlaInstruction& instruction);

/// Adds shardings and frontend attributes, which stand on arguments and results of functions and on any operation:
/// `mhlo.sharding` as `sharding`; `sdy.sharding` and `mhlo.frontend_attributes` as `frontend_attributes`. Anything else
/// keeps its name and value.
void translate_discardable(const std::vector<XlaAttribute>& attributes, HloNotation& notation,
                           std::vector<XlaAttribute>& translated);

}  // namespace roofline::core
