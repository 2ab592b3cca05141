// Lower bounds of kernels that may find their data in a cache, because they were timed after others that left it there.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "machine/machine.hpp"

namespace roofline::core {

/// A cache that can hold the data of a program.
struct CacheRoof {
    double capacity = 0;                ///< bytes
    std::optional<double> bytes_per_s;  ///< empty if it is not published
};

/// Returns the caches of a machine, innermost first: levels that hardware manages, without the main memory.
[[nodiscard]] std::vector<CacheRoof> caches_of(const Machine& machine);

/// The times of a program's resources, in seconds, among them that of the main memory.
struct ResidentTimes {
    std::span<const double> seconds;  ///< by resource
    std::size_t memory = 0;           ///< the main memory's place in `seconds`
    double memory_rate = 0;           ///< bytes/s
    double bytes = 0;                 ///< of all tensors of the program, each counted once
    std::size_t kernels = 1;          ///< of the program
};

/// Returns the lower bound in seconds if all tensors stay in the innermost cache that can hold them. If no cache can,
/// main memory only has to transfer the bytes beyond what the largest cache can keep between two kernels. Empty without
/// caches.
[[nodiscard]] std::optional<double> resident_bound(const std::vector<CacheRoof>& caches, const ResidentTimes& times);

}  // namespace roofline::core
