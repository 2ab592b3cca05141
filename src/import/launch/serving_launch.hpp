// The plan of a server as the launch of a framework says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "import/launch/launch_values.hpp"
#include "plan/plan.hpp"

namespace roofline::core {

/// Servers of disaggregated serving.
enum class LaunchedPool { none, prefill, decode };

/// What a plan says of a server. Without a value the launch does not say it.
struct ServingLaunch {
    Plan plan;
    std::optional<std::int64_t> batch;       ///< most sequences that are decoded together, all replicas together
    std::optional<std::int64_t> chunk;       ///< tokens of prompts that a replica prefills together
    std::optional<std::int64_t> block;       ///< tokens of a block of the KV cache
    std::optional<double> memory_fraction;   ///< of a chip's memory that it uses
    std::string kv_dtype;                    ///< "fp8"; "": not said
    std::string weights;                     ///< likewise, of all parameters
    std::string exchange;                    ///< kernels that exchange tokens with experts; "": not said
    bool two_batches = false;                ///< collectives of half a batch run beside kernels of the other half
    LaunchedPool pool = LaunchedPool::none;  ///< that it is part of
    std::int64_t workers = 1;                ///< such servers, each with all chips of the plan
    std::vector<std::string> notes;
};

/// Returns the plan of a launch on `chips` chips. Errors, at the place of the setting: degrees that do not multiply to
/// the chips; splits that no plan can express, such as experts by columns over replicas.
[[nodiscard]] Result<ServingLaunch> serving_launch(const LaunchValues& values, std::int64_t chips, bool experts);

/// Returns the launch of a plan of a model with or without experts, with a remark for each thing it does not express.
[[nodiscard]] EmittedLaunch emit_serving(const LaunchTable& table, const ServingLaunch& launch, bool experts);

}  // namespace roofline::core
