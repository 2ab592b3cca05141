// Measures how long collectives take between the ranks of this job.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/network/communicator.hpp"
#include "measure/progress.hpp"
#include "measure/sampling.hpp"
#include "network/measured_collective.hpp"

namespace roofline::core {

struct ExchangeTimingOptions {
    std::size_t least_bytes = 8;
    std::size_t max_bytes = std::size_t{64} << 20;
    std::size_t step = 2;  ///< ratio of successive sizes
    SamplingOptions sampling;
};

/// A measurement; the size is that of nccl-tests. A `send` is half the time of a ping-pong between the first two
/// members of a group; in a `permute` every member sends to the next at the same time.
struct TimedExchange {
    CollectiveKind kind = CollectiveKind::all_gather;
    int members = 2;
    int groups = 1;  ///< number of groups that ran it at the same time
    std::size_t bytes = 0;
    Spread spread;
};

/// Dtype of sums in these measurements.
inline constexpr Dtype timed_dtype = Dtype::f32;

/// Times send, permute, all-gather, reduce-scatter, all-reduce and all-to-all in groups of 2 and more ranks that divide
/// the world, all groups at once, from the smallest size on; each is checked once before it is timed. All ranks call it
/// and get the same result. Errors: a wrong result (code check_failed), interrupted, not enough memory.
[[nodiscard]] Result<std::vector<TimedExchange>> time_exchanges(Communicator& world,
                                                                const ExchangeTimingOptions& options,
                                                                Progress& progress);

/// Runs an exchange of small integers and checks the result on every rank. Errors: code check_failed.
[[nodiscard]] Status check_exchange(Communicator& group, CollectiveKind kind, Dtype dtype, std::size_t elements);

/// The measurement as a row of a measurement table; `system` names the machine and `software` the library.
[[nodiscard]] MeasuredCollective row_of(const TimedExchange& timed, const std::string& system,
                                        const std::string& software);

/// The measurements as CSV, with the columns that `roofline validate` and `roofline fit` read.
[[nodiscard]] std::string exchange_table(const std::vector<TimedExchange>& timed, const std::string& system,
                                         const std::string& software);

}  // namespace roofline::core
