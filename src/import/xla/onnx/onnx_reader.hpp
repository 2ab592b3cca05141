// Makes a module of HLO of an ONNX model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/xla/onnx/onnx_builder.hpp"
#include "import/xla/onnx/onnx_call.hpp"
#include "import/xla/onnx/onnx_model.hpp"
#include "import/xla/onnx/read_onnx.hpp"
#include "text/protobuf.hpp"

namespace roofline::core {

/// The values of a graph or of a function's body by name. Those of the graph around a graph can be used in it; they
/// are parts of the tuple that is its computation's parameter.
struct OnnxScope {
    OnnxBuilder& hlo;
    OnnxScope* around = nullptr;   ///< of the graph in which this one stands
    bool own_computation = false;  ///< whether its instructions are in another computation than those of `around`
    std::unordered_map<std::string_view, OnnxValue> values{};
    std::unordered_map<std::string_view, const OnnxType*> types{};
    std::vector<OnnxValue> captured{};                  ///< values of `around`, in the order of the parameter's parts
    std::uint32_t state = 0;                            ///< the parts of the parameter before those
    const std::vector<OnnxAttribute>* given = nullptr;  ///< attributes of the call, in a function
    const std::map<std::string_view, std::int64_t>* opsets = nullptr;
    std::string prefix{};  ///< of scopes: the calls of functions around
};

class OnnxModuleReader {
public:
    OnnxModuleReader(std::shared_ptr<const std::string> bytes, const std::string& name, const DimSizes& sizes);

    [[nodiscard]] Result<XlaModule> read();

private:
    using Inputs = std::vector<std::optional<OnnxValue>>;
    using Attributes = std::vector<OnnxAttribute>;

    /// A graph as a computation whose parameter is a tuple: `state`, then what it uses of the graph around it.
    struct Branch {
        std::uint32_t computation = 0;
        std::vector<OnnxValue> captured;
        std::vector<XlaShape> results;
    };
    /// What is done in the scope of a graph before its nodes, and after them.
    using InGraph = std::function<Status(OnnxScope&)>;

    // read_onnx.cpp: inputs, nodes, and what the file says of their shapes
    [[nodiscard]] std::string_view shown(std::string_view name);
    [[nodiscard]] OnnxPlace place_of(const OnnxNode& node, const OnnxScope& scope);
    [[nodiscard]] tl::unexpected<Error> fail_node(const OnnxNode& node, const std::string& message,
                                                  std::string hint = {});
    [[nodiscard]] Status bind_inputs(OnnxScope& scope);
    [[nodiscard]] Status check_sizes(const std::set<std::string>& open, const std::set<std::string>& named) const;
    [[nodiscard]] Status check_builder(const OnnxScope& scope, std::size_t offset, std::string_view what,
                                       std::string_view name);
    [[nodiscard]] Status define(OnnxScope& scope, std::string_view name, OnnxValue value, std::size_t offset);
    [[nodiscard]] std::optional<OnnxValue> find(OnnxScope& scope, std::string_view name);
    [[nodiscard]] Status read_nodes(const std::vector<OnnxNode>& nodes, OnnxScope& scope, int depth);
    [[nodiscard]] Status read_node(const OnnxNode& node, const Inputs& inputs, OnnxScope& scope, int depth);
    [[nodiscard]] std::optional<std::int64_t> size_of(const OnnxDim& dim) const;
    [[nodiscard]] Status check_type(const OnnxNode& node, std::string_view output, const XlaShape& shape,
                                    const OnnxScope& scope);
    [[nodiscard]] std::string type_text(const OnnxType& type);
    /// A kernel for the outputs from `first` on.
    [[nodiscard]] Status unknown_node(const OnnxNode& node, const Inputs& inputs, OnnxScope& scope, std::size_t first);
    [[nodiscard]] Status finish(OnnxScope& scope, const std::vector<OnnxType>& outputs,
                                const std::vector<OnnxValue>& before);

    // onnx_control_flow.cpp: functions and graphs that nodes run
    [[nodiscard]] Status call_function(const OnnxFunction& function, const OnnxNode& node, const Attributes& given,
                                       const Inputs& inputs, OnnxScope& scope, int depth);
    [[nodiscard]] Result<Branch> read_graph(const OnnxGraph& graph, OnnxScope& around, int depth, std::uint32_t state,
                                            const InGraph& prepare, const InGraph& finish_graph);
    [[nodiscard]] Status read_if(const OnnxNode& node, const Attributes& attributes, const Inputs& inputs,
                                 OnnxScope& scope, int depth);
    [[nodiscard]] Status read_loop(const OnnxNode& node, const Attributes& attributes, const Inputs& inputs,
                                   OnnxScope& scope, int depth);
    [[nodiscard]] Status define_parts(const OnnxNode& node, const OnnxValue& tuple, const XlaShape& shape,
                                      std::size_t first, OnnxScope& scope);
    [[nodiscard]] std::uint32_t loop_condition(OnnxScope& scope, const XlaShape& state, std::optional<OnnxNumber> most);

    ProtoFile file_;
    const DimSizes& sizes_;
    OnnxModel model_;
    XlaModule module_;
    std::size_t nodes_ = 0;
};

}  // namespace roofline::core
