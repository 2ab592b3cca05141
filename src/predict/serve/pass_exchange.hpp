// The kernels by which a pass of a served model exchanges tokens with experts on other chips.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"

namespace roofline::core {

/// The exchange of the layout that a pass is expected to have. It refers to the prediction.
struct PassExchange {
    const ExchangeKernels* kernels = nullptr;  ///< null: nothing is exchanged, or the kernels are not known
    /// The model of the kernels, of dispatch or of combine, whichever has the larger error; null if they have none, so
    /// that collectives are used.
    const ExpectedExchange* model = nullptr;
    std::string collectives{};  ///< without a model: software of the collectives that are used, "nccl 2.29"
};

/// Returns the exchange of a pass.
[[nodiscard]] PassExchange exchange_of(const Prediction& pass);

/// Returns notes on the exchanges of passes: which kernels they are, why these, and what their times rest on. `server`
/// is the one whose default they are; "" if they were asked for. Empty if nothing is exchanged.
[[nodiscard]] std::vector<std::string> exchange_notes(const Prediction& prefill, const Prediction& decode,
                                                      const std::string& server);

}  // namespace roofline::core
