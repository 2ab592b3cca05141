// A call of an operation of PyTorch as a profile has it: the shapes of its inputs, but not of its results.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/xla/fx/fx_graph.hpp"

namespace roofline::core {

/// The texts of a call, as Kineto writes them.
struct RecordedCall {
    std::string_view name;      ///< "aten::addmm"
    std::string_view shapes;    ///< `Input Dims`: "[[192],[32,64],[64,192],[],[]]"
    std::string_view types;     ///< `Input type`: "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]"
    std::string_view values;    ///< `Concrete Inputs`: "[\"\",\"\",\"\",\"1\",\"1\"]"; "" if they were not recorded
    bool tf32 = false;          ///< matrix units multiply its floats as TF32, as the names of its kernels say
    std::string_view listed{};  ///< type of tensors in lists, as the names of its kernels say; "": unknown
};

/// Makes a graph of one call. The shapes of results follow from those of the inputs and, for operations such as
/// convolutions, from the recorded values; of a reduction whose dimensions were not recorded the result is taken to be
/// one number, which costs least. Errors, whose message says what is missing: shapes were not recorded, the operation
/// has no rule here, or needs values that were not recorded.
[[nodiscard]] Result<FxGraph> graph_of(const RecordedCall& call);

}  // namespace roofline::core
