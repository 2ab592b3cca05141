// What a server adds to the kernels of its passes: constants by software, fitted to servers that were timed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// A decode step takes `kernels` of what its kernels take one by one, and the host's part: a constant, and so much for
/// each sequence. Prompts take what their kernels take, and no less than launching these takes, for they do not run
/// from a graph.
struct ServerLaw {
    double kernels =
        1;  ///< share of the kernels' and collectives' own times: below 1 where a server fuses what tables time apart
    double step_s = 0;      ///< of the host for each step: scheduling, sampling, sending tokens out
    double sequence_s = 0;  ///< likewise for each sequence of a step
    double launch_s = 0;    ///< of the host for each kernel outside graphs

    bool operator==(const ServerLaw&) const = default;
};

/// Seconds of a decode step of so many sequences whose kernels take `kernels_s` one by one.
[[nodiscard]] double step_seconds(const ServerLaw& law, double kernels_s, double sequences);

/// Seconds of prompts whose `launches` kernels take `kernels_s`.
[[nodiscard]] double prompt_seconds(const ServerLaw& law, double kernels_s, double launches);

struct CalibratedServer {
    std::string software;  ///< "vllm", or with a version that has constants of its own
    ServerLaw law;
    std::int64_t rows = 0;               ///< that it was fitted to
    std::vector<std::string> models;     ///< that these served
    std::vector<std::string> machines;   ///< that they ran on
    std::vector<std::string> sources{};  ///< who published them
    double error_fitted = 0;    ///< mean |predicted - measured| / measured of the time of a token, of those rows
    double error_held_out = 0;  ///< of the same rows, each model's predicted from the other models alone

    bool operator==(const CalibratedServer&) const = default;
};

struct ServerLaws {
    std::string fitted;  ///< the day of the fit
    std::vector<CalibratedServer> servers;

    bool operator==(const ServerLaws&) const = default;

    /// Of the software that is named; the one with the most rows where nothing is. Null for software that has none.
    [[nodiscard]] const CalibratedServer* find(std::string_view software) const;
};

/// Reads data/servers.toml or a file like it, strictly. Errors carry line and column.
[[nodiscard]] Result<ServerLaws> parse_server_laws(const TomlInput& toml, std::string_view origin);

/// The file, constants to four digits.
[[nodiscard]] std::string server_laws_text(const ServerLaws& laws);

/// Whether a file is one of these and not of a machine's constants.
[[nodiscard]] bool holds_server_laws(std::string_view toml);

/// Those that come with the program.
[[nodiscard]] const ServerLaws& built_in_servers();

}  // namespace roofline::core
