// Brings all ranks to the same texts, errors and times before they continue.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/network/communicator.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

/// The texts of all ranks, by rank. Every rank calls it with its own text.
[[nodiscard]] Result<std::vector<std::string>> all_texts(Communicator& group, const std::string& mine);

/// Returns, on all ranks, the error of the first rank that has one; success if no rank has one. The message names the
/// rank unless all ranks have the same error.
[[nodiscard]] Status common_status(Communicator& group, const Status& mine);

/// The numbers of all ranks, by rank. Every rank calls it with its own number.
[[nodiscard]] Result<std::vector<double>> all_numbers(Communicator& group, double mine);
[[nodiscard]] Result<double> greatest(Communicator& group, double mine);

/// Times work(calls) on all ranks together as take_samples() does on one. All ranks use the same number of calls and
/// begin at a barrier; a sample is the time of the slowest rank, and is disturbed if it was disturbed on any rank.
/// Errors: interrupted on any rank; those of `work`, which must fail on all ranks or end them.
[[nodiscard]] Result<Sampled> sample_on_all_ranks(Communicator& group,
                                                  const std::function<Status(std::int64_t calls)>& work,
                                                  const SamplingOptions& options);

}  // namespace roofline::core
