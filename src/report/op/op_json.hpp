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
/// Returns {"schema":1,"machines":[...],"errors":[{"machine":"tpu-v9", ...}]}. The machines are those of `answer`, the
/// JSON of all machines that could be answered, which become a list even if there is only one (`one_machine`); the
/// errors are those of all others.
[[nodiscard]] std::string json_beside_errors(std::string answer, bool one_machine,
                                             const std::vector<MachineError>& errors);

}  // namespace roofline::core
