// Fits what servers add to the kernels of their passes to servers that were timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/server/server_law.hpp"

namespace roofline::core {

/// One served model under one load.
struct ServerSample {
    std::string software;  ///< "vllm 0.14.0"
    std::string model;
    std::string machine;
    std::string source;
    double kernels_s = 0;   ///< of a decode step's kernels and collectives, one by one
    double sequences = 1;   ///< that are decoded at a time
    double output = 1;      ///< tokens of each
    double prompt_s = 0;    ///< of one prompt's kernels and collectives
    double launches = 0;    ///< how many these are
    double measured_s = 0;  ///< from one token of a sequence to the next
};

/// From one token to the next, where the prompts of those that follow go in between: by Little's law sequences / output
/// prompts go in for each step.
[[nodiscard]] double token_seconds(const ServerLaw& law, const ServerSample& sample);

/// Laws by library, alphabetically: the share of the kernels' times is the same for all, the host's constants are each
/// library's own. Found by least absolute relative deviations, so that single odd rows do not bend them. Held out are
/// models, each in turn; a library that has served one model alone has never been tried on another, and its error is 40
/// %. Libraries with fewer than eight rows have no law. Deterministic, whatever the order of samples.
[[nodiscard]] ServerLaws fit_servers(std::vector<ServerSample> samples);

}  // namespace roofline::core
