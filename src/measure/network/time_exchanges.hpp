// How long exchanges take between the ranks that are there.
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
    std::size_t most_bytes = std::size_t{64} << 20;
    std::size_t step = 2;  ///< from one size to the next
    SamplingOptions sampling;
};

/// A row of a table: sizes as nccl-tests count them. A `send` is one way of a ping-pong between the first two of a group; in a
/// `permute` each sends to the next, all at once.
struct TimedExchange {
    CollectiveKind kind = CollectiveKind::all_gather;
    int members = 2;
    int groups = 1;  ///< that did it at the same time
    std::size_t bytes = 0;
    Spread spread;
};

/// What sums are taken in here.
inline constexpr Dtype timed_dtype = Dtype::f32;

/// Times send, permute, all-gather, reduce-scatter, all-reduce and all-to-all in groups of 2 and more ranks as they divide the
/// world, all groups at once, at sizes from the least on; each is checked once before it is timed. All ranks call it and get
/// the same. Errors: a wrong result (code check_failed), interrupted, no memory.
[[nodiscard]] Result<std::vector<TimedExchange>> time_exchanges(Communicator& world,
                                                                const ExchangeTimingOptions& options,
                                                                Progress& progress);

/// Runs an exchange of small whole numbers and checks what arrives, at every rank. Errors: code check_failed.
[[nodiscard]] Status check_exchange(Communicator& group, CollectiveKind kind, Dtype dtype, std::size_t elements);

/// The row as tables of measurements have it; `system` names the machine, `software` the library.
[[nodiscard]] MeasuredCollective row_of(const TimedExchange& timed, const std::string& system,
                                        const std::string& software);

/// The rows as CSV, in columns that `roofline validate` and `roofline fit` read.
[[nodiscard]] std::string exchange_table(const std::vector<TimedExchange>& timed, const std::string& system,
                                         const std::string& software);

}  // namespace roofline::core
