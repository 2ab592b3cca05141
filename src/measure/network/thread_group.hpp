// A group of threads of this process, for tests and for one machine without an MPI.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "measure/network/communicator.hpp"

namespace roofline::core {

/// Makes a group of `members` threads: one communicator per thread. A single member needs no thread.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> thread_group(int members,
                                                                      std::size_t max_bytes = std::size_t{1} << 30);

/// Runs `work` in as many threads, each with its communicator, and waits for all of them.
void run_in_threads(int members, const std::function<void(Communicator&)>& work,
                    std::size_t max_bytes = std::size_t{1} << 30);

}  // namespace roofline::core
