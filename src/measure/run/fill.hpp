// Numbers to compute with.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/run/steps.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Random numbers of a fixed seed for copy `copy` of an array, as its bytes. Floats have magnitudes from 1/4 to 1 times the array's
/// scale and either sign (zeros would let a processor save power, and some are slow at tiny numbers), or are positive throughout
/// where the program takes roots or logarithms. int8 stays within 7 bits: 8-bit products of processors without VNNI add up pairs in
/// 16 bits, which larger numbers overflow. Indices are in range, and differ from one another as long as there are enough.
void fill_array(const RunArray& array, std::int64_t copy, bool positive, void* bytes);

/// Whether the program has a function that is defined only for positive numbers.
[[nodiscard]] bool wants_positive(const Program& program);

/// A quick generator of random bits (splitmix64).
class RandomBits {
public:
    explicit RandomBits(std::uint64_t seed) : state_(seed) {}
    std::uint64_t operator()() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// In [0, below).
    std::int64_t below(std::int64_t below) {
        return static_cast<std::int64_t>((*this)() % static_cast<std::uint64_t>(below));
    }

private:
    std::uint64_t state_;
};

}  // namespace roofline::core
