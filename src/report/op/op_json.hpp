// The JSON form of `op` answers; docs/reference/json.md documents every key.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns {"schema":1, ...} for one machine and {"schema":1,"machines":[...]} for several.
[[nodiscard]] std::string op_json(const std::vector<Prediction>& answers);

/// Returns what all points of a sweep have in common, without braces: "machine":..., "notes":..., "sources":...
[[nodiscard]] std::string shared_json(const Prediction& answer);

/// Returns {"schema":1,"error":{...}}.
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
