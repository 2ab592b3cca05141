// Reads a graph of PyTorch, as roofline.torch_graph() records it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/xla/fx/fx_graph.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Whether a text is JSON, as a graph of PyTorch is and no text of XLA.
[[nodiscard]] bool is_fx_graph(std::string_view text);

/// Reads a graph of torch.export or torch.fx. Each node becomes the instructions that its operation is in HLO, with the
/// node's name, source line and path of modules. Views (transpose, reshape, expand) are `bitcast`s and `broadcast`s.
/// An operation without a rule, a call that its rule does not expect, and a called module of an unknown class keep
/// their name as opcode: their FLOPs are unknown, and `unknown_because` says why if more can be said. Inputs,
/// parameters and constants are parameters of the entry. `name` stands in messages. Errors, with their place: those of
/// read_fx_graph(), and a graph that has no output.
[[nodiscard]] Result<XlaModule> read_fx_text(std::string text, const std::string& name);

/// Makes a module of a graph, as read_fx_text() does. Error: the graph has no output.
[[nodiscard]] Result<XlaModule> make_fx_module(FxGraph graph, const std::string& name);

}  // namespace roofline::core
