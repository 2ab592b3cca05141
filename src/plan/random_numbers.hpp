// Random numbers that are the same on every platform, which those of the distributions of the standard library are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "base/portable_math.hpp"

namespace roofline::core {

/// A stream of random numbers that only depends on the seed.
class RandomNumbers {
public:
    explicit RandomNumbers(std::uint64_t seed) : generator_(seed) {}

    /// Returns a number that is at least 0 and below 1, in steps of 2^-53.
    double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

    /// Returns an exponentially distributed number of mean 1, by inversion.
    double exponential() { return -std::log(1 - uniform()); }  // the difference is exact

    /// Returns a normally distributed number of mean 0 and standard deviation 1 (Box and Muller, 1958).
    double normal() {
        const double radius = std::sqrt(2 * exponential());
        return radius * cosine_of_turns(uniform());
    }

private:
    std::mt19937_64 generator_;
};

}  // namespace roofline::core
