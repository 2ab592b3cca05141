// An ONNX file as it is written: graphs of nodes, tensors and types, without what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "import/xla/xla_shape.hpp"
#include "text/protobuf.hpp"

namespace roofline::core {

/// A number of a small tensor: wide enough for every 64-bit integer and every double.
using OnnxNumber = long double;

/// A tensor whose values are in the file or beside it. Only those of small tensors are kept.
struct OnnxTensor {
    std::string_view name;
    const XlaElement* element = nullptr;  ///< null for text
    std::vector<std::int64_t> dims;
    std::optional<std::vector<OnnxNumber>> numbers;
    std::size_t offset = 0;
};

/// A dimension of a type: a size, the name of one that is not known yet, or neither.
struct OnnxDim {
    std::optional<std::int64_t> size;
    std::string_view name;
};

/// The type of a value. Nothing is known of types that are no tensors.
struct OnnxType {
    std::string_view name;
    const XlaElement* element = nullptr;
    bool is_tensor = false;
    std::optional<std::vector<OnnxDim>> dims;  ///< nothing if not even their number is known
    std::size_t offset = 0;
};

struct OnnxGraph;

struct OnnxAttribute {
    std::string_view name;
    std::string_view refers;  ///< of a function's body: the attribute of the call that it has the value of
    std::optional<std::int64_t> integer;
    std::optional<double> real;
    std::optional<std::string_view> text;
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    std::shared_ptr<const OnnxTensor> tensor;
    std::shared_ptr<const OnnxGraph> graph;
};

struct OnnxNode {
    std::string_view name;
    std::string_view type;
    std::string_view domain;  ///< "" for ai.onnx
    std::string_view overload;
    std::vector<std::string_view> inputs;  ///< "" for one that is left out
    std::vector<std::string_view> outputs;
    std::vector<OnnxAttribute> attributes;
    std::size_t offset = 0;
};

struct OnnxGraph {
    std::string_view name;
    std::vector<OnnxNode> nodes;
    std::vector<OnnxTensor> initializers;
    std::vector<OnnxType> inputs;
    std::vector<OnnxType> outputs;
    std::vector<OnnxType> types;  ///< value_info
    std::size_t offset = 0;
};

/// A function of the model; its calls look like nodes.
struct OnnxFunction {
    std::string_view name;
    std::string_view domain;
    std::string_view overload;
    std::vector<std::string_view> inputs;
    std::vector<std::string_view> outputs;
    std::vector<OnnxAttribute> defaults;
    std::vector<OnnxNode> nodes;
    std::map<std::string_view, std::int64_t> opsets;
};

struct OnnxModel {
    std::string_view producer;
    OnnxGraph graph;
    std::vector<OnnxFunction> functions;
    std::map<std::string_view, std::int64_t> opsets;  ///< versions by domain; "" is ai.onnx
};

/// Returns the element type of a number of TensorProto.DataType; null for text and for a number that it does not have.
[[nodiscard]] const XlaElement* element_of_onnx(std::int64_t type);

/// Reads a ModelProto (onnx/onnx.proto). Views are into the file. Errors: bytes that are no such message, a model
/// without a graph, element types that ONNX does not have, tensors with negative sizes.
[[nodiscard]] Result<OnnxModel> read_onnx_model(ProtoFile& file);

}  // namespace roofline::core
