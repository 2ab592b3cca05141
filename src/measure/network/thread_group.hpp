// A group of threads of this process: what one machine without an MPI, and a test, exchange by.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "measure/network/communicator.hpp"

namespace roofline::core {

/// Groups of `members` threads, one communicator for each, to be used from different threads. One member alone needs none.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> thread_group(int members,
                                                                      std::size_t most_bytes = std::size_t{1} << 30);

/// Runs `work` in as many threads, each with its communicator, and waits for all.
void run_in_threads(int members, const std::function<void(Communicator&)>& work,
                    std::size_t most_bytes = std::size_t{1} << 30);

}  // namespace roofline::core
