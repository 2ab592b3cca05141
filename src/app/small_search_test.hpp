// A job with few plans, for tests of searches.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

/// Llama 3.1 8B on eight chips, where only data, fsdp, tensor and the ZeRO stage are searched.
inline PlanRequest small_search() {
    PlanRequest request;
    request.train.config = {"llama-3.1-8b", ""};
    request.train.machines = {{"h100-sxm:8", {}}};
    request.train.batch_tokens = "32Ki";
    request.train.sequence = "4096";
    request.train.remat = "full";
    request.train.microbatches = "1";
    request.without = {"sequence,cp", "pipeline"};
    return request;
}

}  // namespace roofline::core
