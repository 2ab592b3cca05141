// A node of ONNX as its operator's code sees it: inputs, attributes, and where its outputs go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/xla/onnx/onnx_builder.hpp"
#include "import/xla/onnx/onnx_model.hpp"

namespace roofline::core {

class OnnxCall {
public:
    OnnxCall(const OnnxNode& node, const std::vector<OnnxAttribute>& attributes, OnnxBuilder& builder,
             std::vector<std::optional<OnnxValue>> inputs, std::int64_t opset)
        : node_(node), attributes_(attributes), builder_(builder), inputs_(std::move(inputs)), opset_(opset) {
        outputs_.resize(node.outputs.size());
    }

    [[nodiscard]] const OnnxNode& node() const { return node_; }
    [[nodiscard]] OnnxBuilder& hlo() { return builder_; }
    [[nodiscard]] std::int64_t opset() const { return opset_; }
    [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
    [[nodiscard]] bool has(std::size_t input) const { return input < inputs_.size() && inputs_[input].has_value(); }
    /// An input; an error if it is left out.
    [[nodiscard]] const OnnxValue& in(std::size_t input);
    [[nodiscard]] const XlaElement* element() { return in(0).shape.element; }
    [[nodiscard]] OnnxDims dims(std::size_t input) { return in(input).shape.dims; }

    [[nodiscard]] const OnnxAttribute* attribute(std::string_view name) const;
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
    [[nodiscard]] double real(std::string_view name, double otherwise) const;
    [[nodiscard]] std::string_view text(std::string_view name, std::string_view otherwise) const;
    [[nodiscard]] std::optional<OnnxDims> integers(std::string_view name) const;
    /// The numbers of an input that must be known while the file is read; nothing, and an error, if they are not.
    [[nodiscard]] std::optional<OnnxDims> known_integers(std::size_t input);
    /// Of operators whose numbers became an input: those of the input if it is there, else of the attribute.
    [[nodiscard]] std::optional<OnnxDims> integers_of(std::size_t input, std::string_view name);
    /// An axis counted from the front; an error, and 0, if a value of this rank does not have it.
    [[nodiscard]] std::int64_t axis(std::int64_t axis, std::size_t rank);
    [[nodiscard]] OnnxDims axes(OnnxDims axes, std::size_t rank);

    void out(std::size_t output, OnnxValue value) {
        if (output < outputs_.size()) outputs_[output] = std::move(value);
    }
    [[nodiscard]] bool wants(std::size_t output) const {
        return output < node_.outputs.size() && !node_.outputs[output].empty();
    }
    [[nodiscard]] const std::optional<OnnxValue>& output(std::size_t output) const { return outputs_[output]; }
    void fail(std::string message, std::string hint = {}) { builder_.fail_once(std::move(message), std::move(hint)); }
    /// The operator is known, and this use of it is not: a kernel of which only the bytes are known.
    void give_up() { unknown_ = true; }
    [[nodiscard]] bool unknown() const { return unknown_; }
    [[nodiscard]] bool failed() const { return builder_.problem().has_value(); }

private:
    const OnnxNode& node_;
    const std::vector<OnnxAttribute>& attributes_;
    OnnxBuilder& builder_;
    std::vector<std::optional<OnnxValue>> inputs_;
    std::vector<std::optional<OnnxValue>> outputs_;
    std::int64_t opset_;
    bool unknown_ = false;
};

/// Writes the instructions of an operator.
using OnnxOperator = void (*)(OnnxCall& call);

struct OnnxOperatorRow {
    std::string_view name;
    OnnxOperator write;
};

/// The operators of each file.
[[nodiscard]] OnnxOperator find_elementwise_operator(std::string_view name);
[[nodiscard]] OnnxOperator find_matmul_operator(std::string_view name);
[[nodiscard]] OnnxOperator find_window_operator(std::string_view name);
[[nodiscard]] OnnxOperator find_normalisation_operator(std::string_view name);
[[nodiscard]] OnnxOperator find_movement_operator(std::string_view name);
[[nodiscard]] OnnxOperator find_image_operator(std::string_view name);
[[nodiscard]] OnnxOperator find_shape_operator(std::string_view name);
[[nodiscard]] OnnxOperator find_attention_operator(std::string_view name);

/// Looks a name up in the rows of a file.
template <std::size_t N>
OnnxOperator find_row(const OnnxOperatorRow (&rows)[N], std::string_view name) {
    for (const OnnxOperatorRow& row : rows) {
        if (row.name == name) return row.write;
    }
    return nullptr;
}

}  // namespace roofline::core
