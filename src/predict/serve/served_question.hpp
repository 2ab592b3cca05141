// A question for serving, checked, with the models that its passes run.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "calibrate/pass/pass_model.hpp"
#include "predict/serve/serve.hpp"
#include "predict/serve/served_model.hpp"
#include "predict/serve/speculation.hpp"

namespace roofline::core {

/// What a question names.
struct ServedQuestion {
    ServedModel prefill;
    ServedModel decode;
    std::optional<Speculation> speculation{};  ///< empty: a step generates one token of each sequence
    std::optional<ExchangeChoice> exchange{};  ///< that was asked for; empty: that of the server
    std::string whole{};                       ///< whole_pass_library()
};

/// Checks a question, builds its models, and moves what it gives into `answer`. `servers` tells whose exchange is used
/// if none is asked for, `passes` which libraries have forward-pass models. Errors: sizes out of range or larger
/// than the model's context; a fraction of memory that is none; balancedness or an exchange for a model without
/// experts; those of served_model(), check_routing(), KnownExchanges::named() and speculation_of().
[[nodiscard]] Result<ServedQuestion> read_question(ServeQuestion& question, const ServerModels& servers,
                                                   const PassModels& passes, ServeAnswer& answer);

}  // namespace roofline::core
