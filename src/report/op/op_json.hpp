// The JSON form of `op` answers: docs of every key stand in docs/reference/json.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// {"schema":1, ...} for one machine; {"schema":1,"machines":[...]} for several.
[[nodiscard]] std::string op_json(const std::vector<Prediction>& answers);

/// What every point of a sweep has in common: "machine":..., "notes":..., "sources":..., without braces.
[[nodiscard]] std::string shared_json(const Prediction& answer);

/// {"schema":1,"error":{...}}
[[nodiscard]] std::string error_json(const Error& error);

/// An error about one of several machines, which is named as the request names it.
struct MachineError {
    std::string machine;
    Error error;
};
/// {"schema":1,"machines":[...],"errors":[{"machine":"tpu-v9", ...}]}: `answer`, JSON about the machines that could be
/// answered for, as a list even where that is one machine, and the errors of the others.
[[nodiscard]] std::string json_beside_errors(std::string answer, bool one_machine,
                                             const std::vector<MachineError>& errors);

}  // namespace roofline::core
