// The types of what operations of PyTorch return, by their inputs.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "import/xla/fx/fx_graph.hpp"

namespace roofline::core {

struct ResultQuestion {
    std::string_view op;      ///< "addmm", with the underscore of operations in place
    FxNode& node;             ///< the call; its type is put in, and arguments that PyTorch's backends order otherwise
    FxGraph& graph;           ///< with its inputs; what PyTorch does not record of them is put in
    bool has_values = false;  ///< scalar arguments were recorded
};

/// Puts the type of the results into the call's node. Errors: the operation has no rule, the arguments do not fit it,
/// or a scalar argument is missing.
[[nodiscard]] Status put_results(ResultQuestion& question);

}  // namespace roofline::core
