// The JSON form of `op` answers: docs of every key stand in docs/json.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "report/op_answer.hpp"

namespace roofline {

/// {"schema":1, ...} for one machine; {"schema":1,"machines":[...]} for several.
[[nodiscard]] std::string op_json(const std::vector<OpAnswer>& answers);

/// {"schema":1,"sweep":[...]}, each point with what changes from point to point; {"schema":1,"machines":[{"sweep":...}]}.
[[nodiscard]] std::string sweep_json(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes);

/// {"schema":1,"error":{...}}
[[nodiscard]] std::string error_json(const Error& error);

}  // namespace roofline
