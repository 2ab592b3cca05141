// Plans of servers from the launch of a framework, and as one: --plan-from and --emit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "import/launch/serving_launch.hpp"
#include "predict/serve/serve.hpp"

namespace roofline::core {

/// Returns the request for its first machine with the options that its file of a launch says, and adds notes about
/// that file. Errors: those of LaunchValues::read() and serving_launch(); an option that says something else.
[[nodiscard]] Result<ServeRequest> with_serving_launch(ServeRequest request, std::vector<std::string>& notes);

/// Returns the launch of an answer in the framework that the request names. Errors: no such framework, or one that
/// trains. Disaggregated serving has two launches, first that of the servers that prefill; errors: a framework whose
/// table does not say how. With `replicas` the same is started so often.
[[nodiscard]] Result<EmittedLaunch> emitted_serving(const ServeRequest& request, const ServeAnswer& answer,
                                                    std::int64_t replicas = 1);

}  // namespace roofline::core
