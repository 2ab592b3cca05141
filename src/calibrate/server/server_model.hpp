// The server model: what a server adds to the kernels of its passes. Its parameters per software are fitted to timed
// servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// The parameters of a server. A decode step takes `kernels` times the sum of its kernels' times, but at least their
/// lower bound, plus a constant and a time per sequence for the host. Prefill takes the time of its kernels, but at
/// least the time to launch them, because it does not use graphs.
struct ServerModel {
    /// Factor of the kernels' and collectives' own times; below 1 if a server fuses operations that tables time
    /// separately.
    double kernels = 1;
    double step_s = 0;      ///< host time per step: scheduling, sampling, sending tokens
    double sequence_s = 0;  ///< host time per sequence of a step, of those of one member of data parallelism
    double launch_s = 0;    ///< host time per kernel outside of graphs
    /// Decode steps that pass before a server looks at a request that arrives meanwhile, and before it sends its first
    /// token, together.
    double wait_steps = 0;

    bool operator==(const ServerModel&) const = default;
};

/// The kernels of a decode step: the sum of their expected times, and the time that the busiest resource of a chip
/// needs for all of them, in seconds.
struct StepKernels {
    double seconds = 0;
    double bound_s = 0;
};

/// Returns the seconds of a decode step of `sequences` sequences per member.
[[nodiscard]] double step_seconds(const ServerModel& costs, const StepKernels& kernels, double sequences);

/// Returns the seconds of the prefill of prompts whose `launches` kernels' times add up to `kernels_s`.
[[nodiscard]] double prompt_seconds(const ServerModel& costs, double kernels_s, double launches);

/// Returns what a server's driver, runtime and kernels are made for: "NVIDIA gpu", "Google tpu".
[[nodiscard]] std::string platform_of(const Machine& machine);

/// A server model with the measurements that it was fitted to and its errors.
struct CalibratedServer {
    std::string software;  ///< "vllm", or with a version that has its own parameters
    ServerModel costs;
    std::int64_t rows = 0;               ///< number of measurements that it was fitted to
    std::vector<std::string> models;     ///< models that were served
    std::vector<std::string> machines;   ///< machines that they ran on
    std::vector<std::string> sources{};  ///< publishers of the measurements
    /// Mean |predicted - measured| / measured of the time per output token, on the measurements of the fit.
    double error_fitted = 0;
    /// The same on measurements of models that were left out of the fit, one model at a time.
    double error_held_out = 0;
    double ttft_error_held_out = 0;  ///< the same of the time to first token; 0: unknown
    std::string platform{};          ///< platform_of() the machines that they ran on; "": of any

    bool operator==(const CalibratedServer&) const = default;
};

/// Errors of predictions of a server's times: mean |predicted - measured| / measured.
struct ServerErrors {
    double tpot = 0;  ///< of the time per output token
    double ttft = 0;  ///< of the time to first token; 0: unknown

    bool operator==(const ServerErrors&) const = default;
};

/// Measurements of a library on another platform than the one that its parameters were fitted to, and the errors of
/// these parameters on them.
struct ServerElsewhere {
    std::string software;  ///< the library: "vllm"
    std::string platform;
    std::int64_t rows = 0;
    std::vector<std::string> models{};
    ServerErrors errors;

    bool operator==(const ServerElsewhere&) const = default;
};

/// The server models of all software.
struct ServerModels {
    std::string fitted;  ///< date of the fit
    std::vector<CalibratedServer> servers;
    std::vector<ServerElsewhere> elsewhere{};

    bool operator==(const ServerModels&) const = default;

    /// Returns the model of the named version, or of its library if that version has none; without a version the model
    /// of the newest one; of an empty name, that of the library with the most measurements of those that run on the
    /// platform's chips. Models that were fitted to the platform precede others, and libraries that were measured there
    /// precede those that were not. Null if the software has none.
    [[nodiscard]] const CalibratedServer* find(std::string_view software, std::string_view platform) const;
    /// Returns the model of the software, or that of an empty name if it has none.
    [[nodiscard]] const CalibratedServer* find_or_usual(std::string_view software, std::string_view platform) const;

    /// Returns the errors of this model on a platform: those on served models that were held out if it was fitted to
    /// that platform; else those of its library's measurements there, and without any at least 40 %.
    [[nodiscard]] ServerErrors errors(const CalibratedServer& server, std::string_view platform) const;
};

/// The error of a server model that no measurement tested.
inline constexpr double untested_server_error = 0.4;

/// Reads data/servers.toml or a file of the same format strictly. Errors carry the line and the column.
[[nodiscard]] Result<ServerModels> parse_server_models(const TomlInput& toml, std::string_view origin);

/// Returns the text of such a file, with parameters rounded to four digits.
[[nodiscard]] std::string server_models_text(const ServerModels& server_models);

/// Returns whether a file contains server models instead of a machine's calibration.
[[nodiscard]] bool holds_server_models(std::string_view toml);

/// Returns the built-in server models.
[[nodiscard]] const ServerModels& built_in_servers();

}  // namespace roofline::core
