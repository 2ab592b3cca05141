// What ranks must agree on before they go on: texts, errors, and how long something took.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/network/communicator.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

/// Everyone's text, by rank.
[[nodiscard]] Result<std::vector<std::string>> all_texts(Communicator& group, const std::string& mine);

/// The error of the first rank that has one, at all ranks; else everyone goes on. With several ranks the message says whose it is
/// unless all have it.
[[nodiscard]] Status agreed(Communicator& group, const Status& mine);

/// Everyone's number, by rank.
[[nodiscard]] Result<std::vector<double>> all_numbers(Communicator& group, double mine);
[[nodiscard]] Result<double> greatest(Communicator& group, double mine);

/// Times work(calls) at all ranks together, as take_samples() does at one: the same number of calls everywhere, all beginning at
/// a barrier; a sample is the time of the slowest rank, and is disturbed when it was at any. Errors: interrupted at any rank;
/// whatever `work` fails with, which must fail at all ranks or end them.
[[nodiscard]] Result<Sampled> agreed_samples(Communicator& group, const std::function<Status(std::int64_t calls)>& work,
                                             const SamplingOptions& options);

}  // namespace roofline::core
