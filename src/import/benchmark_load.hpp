// How publishers of serving measurements drove their servers, which their tables do not say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/request_lengths.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// The load of one measurement, as far as its row does not say it.
struct BenchmarkDrive {
    std::optional<RequestLengths> lengths{};  ///< empty: unknown
    std::int64_t requests = 0;                ///< in all; 0: unknown
    bool at_once = false;                     ///< all of them arrive in the beginning
    double rate = 0;                          ///< requests per second of an open loop; 0: a closed one
    std::optional<double> memory_fraction{};  ///< that the server was given; empty: its default
    std::int64_t chunk = 0;                   ///< prompt tokens of an iteration that it was given; 0: its default
    bool prompts_first = false;               ///< iterations with prompts did not decode
    bool first_tokens_alone = false;          ///< TTFT is that of a load whose requests have a single output token

    bool operator==(const BenchmarkDrive&) const = default;
};

/// The habits of a publisher.
struct BenchmarkLoad {
    /// The requests of one pair of lengths.
    struct Run {
        std::int64_t prompt = 0;
        std::int64_t output = 0;
        std::int64_t requests = 0;
    };
    /// The memory that it gives a server.
    struct Server {
        std::string software;
        double memory_fraction = 1;
    };
    std::string publisher;             ///< with which the source of a row begins
    bool dated = false;                ///< only rows whose notes have a date
    std::string noted{};               ///< only rows whose notes contain this text
    std::int64_t in_flight = 0;        ///< only rows with so many requests in flight; 0: any number
    double shortest = 0;               ///< lengths are uniform from this fraction of the stated ones; 0: unknown
    std::int64_t per_concurrency = 0;  ///< requests for each that is in flight; 0: unknown
    bool at_once = false;
    double rate = 0;
    std::int64_t requests = 0;
    std::optional<double> memory_fraction{};
    std::int64_t chunk = 0;
    bool prompts_first = false;
    bool first_tokens_alone = false;
    std::vector<Server> servers{};  ///< those with another fraction of memory
    std::vector<Run> runs{};
    std::string source;  ///< citation

    /// Returns the load of a row with these stated lengths and requests in flight (without a limit on these 0).
    [[nodiscard]] BenchmarkDrive of(double prompt, double output, double concurrency, std::string_view software) const;
};

/// The habits of all publishers.
struct BenchmarkLoads {
    std::vector<BenchmarkLoad> publishers;

    /// Returns the first entry for a row with so many requests in flight (0: no limit); null if there is none.
    [[nodiscard]] const BenchmarkLoad* find(std::string_view source, std::string_view notes, double in_flight) const;
};

/// Reads data/benchmark_loads.toml strictly. Errors carry the line and the column.
[[nodiscard]] Result<BenchmarkLoads> parse_benchmark_loads(const TomlInput& toml, std::string_view origin);

/// Returns the built-in ones.
[[nodiscard]] const BenchmarkLoads& built_in_benchmark_loads();

}  // namespace roofline::core
