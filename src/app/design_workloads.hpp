// Reads the workloads of `roofline plan design`.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/request.hpp"

namespace roofline::core {

/// A workload with the request that answers it, on the base machine as it is.
struct NamedWorkload {
    std::string name;
    double weight = 1;
    std::optional<double> target_s{};
    std::variant<OpRequest, TrainRequest, ServeRequest> request;
};

/// Reads tables [[workload]] with `name`, `kind` (op, train or serve), `weight`, `target` and the options of that
/// command as keys, `on` being the shape of the slice. Errors, with line and column: keys that are missing or unknown,
/// values that are none.
[[nodiscard]] Result<std::vector<NamedWorkload>> read_workloads(const DesignRequest& request);

}  // namespace roofline::core
