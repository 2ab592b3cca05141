// Fit of server models, which describe what a server adds to the kernels of its passes, to timed servers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/server/server_model.hpp"

namespace roofline::core {

/// A measurement of one served model under one load.
struct ServerSample {
    std::string software;  ///< "vllm 0.14.0"
    std::string model;
    std::string machine;
    std::string source;
    std::string platform{};  ///< of the machine
    StepKernels kernels{};   ///< of a decode step, its collectives included
    double sequences = 1;    ///< sequences that are decoded together
    double output = 1;       ///< tokens per sequence
    double members = 1;      ///< of data parallelism, which divide the sequences and each have a scheduler
    double prompt_s = 0;     ///< the same sum for a prefill pass with one prompt for each member
    double launches = 0;     ///< number of kernels and collectives of that prefill
    double measured_s = 0;   ///< measured time per output token; of a batch, its prompts included
};

/// Returns the time per output token in seconds, including the prefill of other requests. By Little's law each member
/// processes its sequences / output prompts per decode step.
[[nodiscard]] double token_seconds(const ServerModel& costs, const ServerSample& sample);

/// Returns server models by platform and library, and by version ("vllm 0.19") if it has at least thirty measurements
/// of two models and parameters of its own predict held-out models better, in alphabetical order. The factor of the
/// kernels' times is common to a platform, while the host parameters belong to each; those of a library are fitted to
/// all of its versions. The fit minimizes absolute relative deviations, so that single outliers have little influence.
/// The held-out error leaves out one served model at a time; software that was measured with a single one has not been
/// tested on another, and its error is set to 40 %. Libraries with fewer than eight measurements have no server model,
/// and those with fewer than thirty no host time per sequence and per launch. On another platform than that of most of
/// its measurements a library has parameters only if they predict held-out models better than those of that platform
/// do; otherwise `elsewhere` has the error of these. The result is deterministic and independent of the order of
/// samples.
[[nodiscard]] ServerModels fit_servers(std::vector<ServerSample> samples);

/// A measured time to first token beside the one that its server would have without a wait.
struct WaitSample {
    std::string software;
    std::string model;
    double expected_s = 0;  ///< with wait_steps = 0
    double step_s = 0;      ///< expected time of a decode step
    double measured_s = 0;
    std::string platform{};  ///< of the machine
};

/// Sets the wait of each server model to the number of decode steps that minimizes the absolute relative deviations of
/// times to first token of its library or version on its platform, and the error on models that were left
/// out, one at a time. Models with fewer than eight measurements keep no wait.
void fit_waits(ServerModels& models, const std::vector<WaitSample>& samples);

/// A measured time of a served model beside the one that the model of its server gives.
struct ServedSample {
    std::string software;
    std::string platform;      ///< of the machine
    bool first_token = false;  ///< the time to it; otherwise the time per output token
    double expected_s = 0;
    double measured_s = 0;
};

/// Sets the errors of libraries on platforms other than that of their parameters to the mean deviations of all samples
/// there, and `rows` to the number of times per output token. Without samples they keep what fit_servers() found.
void measure_elsewhere(ServerModels& models, const std::vector<ServedSample>& samples);

}  // namespace roofline::core
