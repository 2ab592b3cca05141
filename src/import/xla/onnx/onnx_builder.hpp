// Writes instructions of HLO for nodes of ONNX.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/onnx/onnx_model.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// A value of a graph: an instruction, or numbers that are known while the file is read (shapes, axes, factors) and
/// become a constant where an instruction uses them.
struct OnnxValue {
    static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

    XlaShape shape;
    std::uint32_t at = nowhere;  ///< of the instruction in its computation
    std::optional<std::vector<OnnxNumber>> numbers{};
};

using OnnxDims = std::vector<std::int64_t>;

/// An attribute of an instruction as HLO writes it.
using HloText = std::pair<std::string_view, std::string>;

/// The axes that a dot pairs.
struct DotAxes {
    OnnxDims left_sum;
    OnnxDims right_sum;
    OnnxDims left_batch;
    OnnxDims right_batch;
};

/// Where the instructions come from that are written next.
struct OnnxPlace {
    std::string_view name;
    XlaOrigin origin;
    std::size_t offset = 0;
};

/// Writes the instructions of one computation. What goes wrong first is kept; from then on values mean nothing.
class OnnxBuilder {
public:
    /// The most elements of a value whose numbers are kept.
    static constexpr std::int64_t most_numbers = 4096;

    explicit OnnxBuilder(XlaModule& module) : module_(module) {}

    [[nodiscard]] XlaModule& module() { return module_; }
    [[nodiscard]] XlaComputation& computation() { return computation_; }
    void go_to(const OnnxPlace& place) { place_ = place; }
    [[nodiscard]] const OnnxPlace& place() const { return place_; }
    void fail_once(std::string message, std::string hint = {});
    [[nodiscard]] const std::optional<std::pair<std::string, std::string>>& problem() const { return problem_; }
    std::string_view keep(std::string text) { return module_.spoken->emplace_back(std::move(text)); }

    OnnxValue emit(std::string_view opcode, XlaShape shape, const std::vector<OnnxValue>& operands,
                   std::initializer_list<HloText> attributes = {}, std::vector<std::uint32_t> called = {});
    /// A kernel of which only the bytes are known, as a custom call; its shape may be a tuple.
    OnnxValue unknown(std::string_view target, XlaShape shape, const std::vector<OnnxValue>& operands);
    OnnxValue parameter(std::string_view name, XlaShape shape, std::int64_t number);
    /// Numbers that become a constant where they are used; `numbers` has as many as the shape has elements.
    static OnnxValue known(XlaShape shape, std::vector<OnnxNumber> numbers);
    /// The same number everywhere.
    OnnxValue filled(const XlaShape& shape, OnnxNumber number);
    static OnnxValue scalar(const XlaElement* element, OnnxNumber number);

    OnnxValue convert(const OnnxValue& from, const XlaElement* element);
    OnnxValue reshape(const OnnxValue& from, OnnxDims dims);
    OnnxValue transpose(const OnnxValue& from, const OnnxDims& order);
    /// Stretches dimensions of size 1 and adds some in front, as numpy does. Fails if the shapes do not fit.
    OnnxValue broadcast(const OnnxValue& from, const OnnxDims& dims);
    /// Puts a value of the dimensions `places` of `dims` there.
    OnnxValue broadcast_along(const OnnxValue& from, const OnnxDims& places, const OnnxDims& dims);
    /// Reduces with "add", "multiply", "maximum" or "minimum".
    OnnxValue reduce(std::string_view with, const OnnxValue& from, const OnnxDims& axes, bool keep);
    OnnxValue dot(const OnnxValue& left, const OnnxValue& right, const DotAxes& axes, const XlaElement* element);
    /// Applies an elementwise operation to operands that are broadcast to a common shape. `word` is one of
    /// elementwise_word(); numbers are computed.
    OnnxValue apply(std::string_view word, const std::vector<OnnxValue>& operands);
    /// A computation that applies an operation of HLO to two numbers, as reductions and scatters have it.
    std::uint32_t reducer(std::string_view opcode, const XlaElement* element);

    [[nodiscard]] std::optional<OnnxDims> common_dims(const OnnxDims& one, const OnnxDims& other);

private:
    [[nodiscard]] std::uint32_t operand(const OnnxValue& value);

    XlaModule& module_;
    XlaComputation computation_;
    OnnxPlace place_;
    std::optional<std::pair<std::string, std::string>> problem_;
    std::vector<std::pair<std::string, std::uint32_t>> reducers_;
};

[[nodiscard]] std::string list_of(const OnnxDims& numbers);
[[nodiscard]] std::int64_t product_of(const OnnxDims& dims);
[[nodiscard]] XlaShape array_of(const XlaElement* element, OnnxDims dims);

/// An elementwise word and what it is in HLO.
struct ElementwiseWord {
    std::string_view word;
    std::string_view opcode;
    int operands = 1;
    std::string_view direction;  ///< of a comparison
};

/// Returns the word of a formula such as "x 1 add"; null if it is none.
[[nodiscard]] const ElementwiseWord* elementwise_word(std::string_view word);

}  // namespace roofline::core
