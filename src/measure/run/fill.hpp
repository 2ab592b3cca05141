// Random numbers that programs are run with.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/run/steps.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Writes the bytes of random numbers with a fixed seed for copy `copy` of an array. Floats have magnitudes from 1/4 to
/// 1 times the array's scale and random signs (zeros would let a processor save power, and some processors are slow
/// with tiny numbers); they are all positive if the program takes roots or logarithms. int8 numbers use 7 bits because
/// processors without VNNI add pairs of 8-bit products in 16 bits, which larger numbers would overflow. Indices are in
/// range and distinct as long as there are enough.
void fill_array(const RunArray& array, std::int64_t copy, bool positive, void* bytes);

/// Returns whether the program has a function that is defined only for positive numbers.
[[nodiscard]] bool needs_positive_inputs(const Program& program);

/// A fast generator of random bits (splitmix64).
class RandomBits {
public:
    explicit RandomBits(std::uint64_t seed) : state_(seed) {}
    std::uint64_t operator()() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// A random integer in [0, below).
    std::int64_t below(std::int64_t below) {
        return static_cast<std::int64_t>((*this)() % static_cast<std::uint64_t>(below));
    }

private:
    std::uint64_t state_;
};

}  // namespace roofline::core
