// Sums of polynomials compiled for speed: sizes in, numbers out, without allocation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algebra/polynomial.hpp"
#include "algebra/roots.hpp"

namespace roofline::core {

class CompiledSums {
public:
    CompiledSums() = default;

    /// `dims` is the order in which sizes will be passed; dimensions in `fixed` are constants. Every dimension of the
    /// sums must be in one of the two. If `dims` has the shard_name() of a shard, its size is passed as well, and need
    /// not be that of an equal part.
    CompiledSums(const std::vector<WeightedSum>& sums, const std::vector<std::string>& dims, const Sizes& fixed);

    /// Computes one number per sum, in double precision. sizes.size() == dims, values.size() == sums.
    void evaluate(std::span<const double> sizes, std::span<double> values) const;

    [[nodiscard]] std::size_t size() const { return ends_.size(); }

private:
    struct Power {
        std::uint32_t dim = 0;
        std::int32_t power = 1;
        double divisor = 1;  ///< above 1: ceil(size / divisor)
    };
    struct Product {
        double coefficient = 0;
        std::uint32_t end = 0;  ///< end of its instructions
    };
    std::vector<Product> products_;
    std::vector<Power> powers_;
    std::vector<std::uint32_t> ends_;  ///< end of each sum's products
};

}  // namespace roofline::core
