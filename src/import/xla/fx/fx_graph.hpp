// A graph of PyTorch as its file has it: nodes with their operations, arguments and types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "import/xla/xla_shape.hpp"

namespace roofline::core {

/// An argument of a node.
struct FxArgument {
    enum class Kind : std::uint8_t { none, flag, number, text, node, list, slice };
    Kind kind = Kind::none;
    double number = 0;  ///< of a flag 0 or 1
    std::string text{};
    std::uint32_t node = 0;           ///< the index of a node before this one
    std::vector<FxArgument> items{};  ///< of a list; start, stop and step of a slice
};

/// The type of what a node gives.
struct FxType {
    enum class Kind : std::uint8_t { none, tensor, number, list };
    Kind kind = Kind::none;
    XlaShape shape{};
    double number = 0;
    std::vector<FxType> items{};
};

using FxNamedArguments = std::vector<std::pair<std::string, FxArgument>>;

struct FxNode {
    std::string name;
    std::string op;      ///< "placeholder", "get_attr", "call_function", "call_method", "call_module", "output"
    std::string target;  ///< "aten.mm.default", "torch.softmax", "layers.0.up"
    std::vector<FxArgument> args;
    FxNamedArguments kwargs;
    FxType type;
    std::string file;  ///< the user's source file, or ""
    int line = 0;
    std::string scope;  ///< "Model/layers/0/up", or ""
    std::string kind;   ///< of a called module: "torch.nn.modules.linear.Linear", or ""
    std::vector<std::pair<std::string, FxType>> parameters;  ///< of a called module
    FxNamedArguments settings;                               ///< simple attributes of a called module
    std::size_t offset = 0;                                  ///< in the text
};

struct FxGraph {
    std::vector<FxNode> nodes;
    std::int64_t devices = 0;                                              ///< 0 if the file does not say
    std::map<std::string, std::vector<std::int64_t>, std::less<>> groups;  ///< ranks by the name of the group
};

/// Reads a graph as `roofline.torch_graph()` records it, or as a list of nodes with `name`, `op`, `target`, `args`,
/// `shape` and `dtype`, where arguments are texts. `name` stands in messages. Errors, with their place: text that is no
/// JSON or no such graph, nodes that are defined twice or used before they are defined, shapes that are symbolic or
/// cannot be counted, types that no array has.
[[nodiscard]] Result<FxGraph> read_fx_graph(std::string_view text, const std::string& name);

}  // namespace roofline::core
