// The server model: what a server adds to the kernels of its passes. Its parameters per software are fitted to timed
// servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// The parameters of a server. A decode step takes `kernels` times the sum of its kernels' times, plus a constant and a
/// time per sequence for the host. Prefill takes the time of its kernels, but at least the time to launch them, because
/// it does not use graphs.
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

/// Returns the seconds of a decode step of `sequences` sequences per member whose kernels' times add up to `kernels_s`.
[[nodiscard]] double step_seconds(const ServerModel& costs, double kernels_s, double sequences);

/// Returns the seconds of the prefill of prompts whose `launches` kernels' times add up to `kernels_s`.
[[nodiscard]] double prompt_seconds(const ServerModel& costs, double kernels_s, double launches);

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

    bool operator==(const CalibratedServer&) const = default;
};

/// The server models of all software.
struct ServerModels {
    std::string fitted;  ///< date of the fit
    std::vector<CalibratedServer> servers;

    bool operator==(const ServerModels&) const = default;

    /// Returns the model of the named version, or of its library if that version has none; without a version the model
    /// of the newest one. Null if the software has none.
    [[nodiscard]] const CalibratedServer* find(std::string_view software) const;
    /// Returns the model of the library with the most measurements of those that run on chips of a vendor ("": not
    /// known). Null without any.
    [[nodiscard]] const CalibratedServer* usual(std::string_view vendor) const;
    /// Returns the model of the software, or the usual one if it has none.
    [[nodiscard]] const CalibratedServer* find_or_usual(std::string_view software, std::string_view vendor) const;
};

/// Reads data/servers.toml or a file of the same format strictly. Errors carry the line and the column.
[[nodiscard]] Result<ServerModels> parse_server_models(const TomlInput& toml, std::string_view origin);

/// Returns the text of such a file, with parameters rounded to four digits.
[[nodiscard]] std::string server_models_text(const ServerModels& server_models);

/// Returns whether a file contains server models instead of a machine's calibration.
[[nodiscard]] bool holds_server_models(std::string_view toml);

/// Returns the built-in server models.
[[nodiscard]] const ServerModels& built_in_servers();

}  // namespace roofline::core
