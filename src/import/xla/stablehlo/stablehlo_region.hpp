// A region of StableHLO while it is read: the computation that it becomes, its values, and what it uses from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/xla/stablehlo/mlir_attributes.hpp"
#include "import/xla/stablehlo/mlir_scanner.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// How a computation gets its arguments: each as a parameter, or all in one parameter that is a tuple.
enum class Arguments : std::uint8_t { apart, tuple };

/// What all regions of a module share.
struct RegionsShared {
    HloNotation& notation;
    std::size_t captured = 0;  ///< values that regions use from outside
};

class StablehloRegion {
public:
    StablehloRegion(RegionsShared& shared, Arguments arguments, StablehloRegion* outer);

    /// Adds an argument; the name of its value is defined with define().
    std::uint32_t add_argument(std::string_view name, XlaShape shape, std::size_t at);
    std::uint32_t add(XlaInstruction instruction);
    /// Adds `get-tuple-element` of a tuple of this region.
    std::uint32_t add_part(std::uint32_t tuple, std::uint32_t part, std::string_view name);
    /// Gives a name to an instruction, or to `count` parts of it from `first` on. False if the name is taken.
    [[nodiscard]] bool define(std::string_view name, std::uint32_t instruction);
    [[nodiscard]] bool define_parts(std::string_view name, std::uint32_t tuple, std::uint32_t first,
                                    std::uint32_t count);
    /// The instruction of a value. One of an outer region becomes an argument more of this region, and a constant of an
    /// outer region is repeated here. Nothing if no region defines it.
    [[nodiscard]] std::optional<std::uint32_t> find(const MlirName& name);

    [[nodiscard]] const XlaInstruction& at(std::uint32_t index) const { return computation.instructions[index]; }
    [[nodiscard]] std::size_t arguments() const { return arguments_.size(); }
    [[nodiscard]] std::uint32_t argument(std::size_t number) const { return arguments_[number]; }
    /// The instructions of the outer region that this one uses, in the order in which they become arguments.
    [[nodiscard]] const std::vector<std::uint32_t>& captured() const { return captured_; }

    /// Makes instructions of the outer region arguments after the region's own: `all` must hold captured(). Where the
    /// arguments are a tuple, those that the region does not use are parts of it, too.
    void number_arguments(const std::vector<std::uint32_t>& all);
    /// The argument that stands for an instruction of the outer region; it is added if the region does not use it.
    std::uint32_t argument_for(std::uint32_t outside);
    /// Makes these instructions the result: one, or a tuple of them.
    void set_results(const std::vector<std::uint32_t>& results, bool always_tuple);

    XlaComputation computation;
    std::vector<std::uint32_t> returned;  ///< by the operation that ends the region
    bool ended = false;
    std::size_t offset = 0;

private:
    struct Value {
        std::uint32_t instruction = 0;
        std::uint32_t first = 0;
        std::uint32_t count = 0;  ///< parts of a tuple; 0 for the instruction itself
        bool defined = true;
    };

    std::uint32_t capture(std::uint32_t outside);
    [[nodiscard]] Value* known(std::string_view name);
    bool put(std::string_view name, Value value);

    RegionsShared& shared_;
    Arguments kind_;
    StablehloRegion* outer_;
    std::vector<Value> numbered_;  ///< values whose name is a number, which most are
    std::unordered_map<std::string_view, Value> named_;
    std::vector<std::uint32_t> arguments_;
    std::vector<std::uint32_t> captured_;
    std::unordered_map<std::uint32_t, std::uint32_t> inside_;  ///< of what is captured
};

}  // namespace roofline::core
