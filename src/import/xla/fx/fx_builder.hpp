// Builds the instructions that the nodes of a graph of PyTorch become.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/fx/fx_graph.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// What a node gives: an array of the entry computation, a number, a text, or a list of these.
struct FxValue {
    enum class Kind : std::uint8_t { none, array, number, text, list, slice };
    Kind kind = Kind::none;
    std::uint32_t instruction = 0;
    double number = 0;
    std::string text{};
    std::vector<FxValue> items{};

    [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
    static FxValue of(std::uint32_t instruction) { return {Kind::array, instruction, 0, {}, {}}; }
    static FxValue of_number(double number) { return {Kind::number, 0, number, {}, {}}; }
    static FxValue of_list(std::vector<FxValue> items) { return {Kind::list, 0, 0, {}, std::move(items)}; }
};

using FxDims = std::vector<std::int64_t>;

/// Adds instructions to the entry of a module. Arrays are indices of its instructions. Instructions of one node have
/// its name with a number, and the one that finish() is told its name alone.
class FxBuilder {
public:
    FxBuilder();

    void begin(const FxNode& node);
    /// Ends a node. Its name goes to the matmul that it has or else to the instruction that makes its result.
    void finish(const FxValue& result);

    std::uint32_t add(std::string_view opcode, XlaShape shape, std::vector<std::uint32_t> operands,
                      std::vector<XlaAttribute> attributes = {}, std::vector<std::uint32_t> called = {});
    [[nodiscard]] const XlaShape& shape(std::uint32_t array) const { return shapes_[array]; }
    [[nodiscard]] const FxDims& dims(std::uint32_t array) const { return shape(array).dims; }
    [[nodiscard]] XlaShape shape_like(std::uint32_t array, FxDims dims) const;
    /// Holds the characters of an attribute.
    std::string_view keep(std::string text);
    /// `key={0,2}`
    XlaAttribute list(std::string_view key, const FxDims& numbers);

    std::uint32_t parameter(const XlaShape& shape);
    /// An array with the same number everywhere.
    std::uint32_t number(double value, XlaShape shape);
    /// A view with other dimensions of as many elements.
    std::uint32_t view(std::uint32_t array, FxDims dims);
    /// Adds dimensions before those of the array, and makes those of size 1 larger.
    std::uint32_t broadcast(std::uint32_t array, const FxDims& dims);
    /// The array that was broadcast to this one; the array itself if it is no broadcast.
    [[nodiscard]] std::uint32_t before_broadcast(std::uint32_t array) const {
        const XlaInstruction& made = main_.instructions[array];
        return made.opcode == "broadcast" ? made.operands.front() : array;
    }
    /// An elementwise operation; operands are broadcast to the dimensions of `shape`.
    std::uint32_t map(std::string_view opcode, const XlaShape& shape, const std::vector<FxValue>& operands);
    /// Reduces dimensions, which stay with size 1; `opcode` is add, multiply, maximum, minimum ...
    std::uint32_t reduce(std::uint32_t array, const FxDims& along, std::string_view opcode);
    /// The mean over dimensions, which stay with size 1.
    std::uint32_t mean(std::uint32_t array, const FxDims& along);
    /// A computation of two numbers, for reductions and the like. `second` takes the second number.
    std::uint32_t applied(std::string_view opcode, const XlaElement& element);
    /// Several results of one instruction.
    FxValue parts_of(std::uint32_t tuple);

    /// Computes a formula in postfix notation: `a0` is the first operand, `0.5` a number, anything else an opcode with
    /// as many operands as it takes, and `dup` and `swap` work on what was computed last: "a0 a0 logistic multiply".
    /// `shape` is that of the result. The module has views of `text`, which is a literal. Formulas are those of PyTorch's
    /// documentation.
    FxValue formula(std::string_view text, const std::vector<FxValue>& operands, const XlaShape& shape);

    /// Ends the module. `result` is what the graph returns.
    XlaModule take(const FxValue& result, std::int64_t devices, std::shared_ptr<const std::string> text);

private:
    std::uint32_t as_array(const FxValue& value, const XlaShape& shape);
    [[nodiscard]] std::uint32_t flat(const FxValue& value);

    XlaModule module_;
    XlaComputation main_;
    std::deque<XlaShape> shapes_;  ///< of the instructions; references to them stay valid
    std::map<std::pair<std::string, std::string>, std::uint32_t> applied_;
    std::int64_t parameters_ = 0;
    std::size_t from_ = 0;  ///< the first instruction of the node
    XlaOrigin origin_;
    std::size_t offset_ = 0;
    std::string_view name_;
};

}  // namespace roofline::core
