// The times of a pricing, compiled: sizes in, seconds by resource and the bounds out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/compiled.hpp"
#include "bound/pricing.hpp"

namespace roofline {

/// The two bounds from the resources' times. Both are one law, the p-norm: infinity gives the maximum (everything overlaps),
/// 1 the sum (nothing does).
struct Bounds {
    double lower = 0;
    double upper = 0;
    std::optional<std::size_t> bound_by;  ///< index of the longest; none when nothing takes time
};
[[nodiscard]] Bounds bounds_of(std::span<const double> seconds);

/// Terms with a latency count in the lower bound for the longer of transfer and latency, in the upper one for both.
class CompiledTimes {
public:
    CompiledTimes() = default;
    CompiledTimes(const Pricing& pricing, const std::vector<std::string>& swept, const Sizes& fixed);

    /// Places that `evaluate` needs: a number for each resource, in order, and room to work in.
    [[nodiscard]] std::size_t places() const { return sums_.size(); }
    [[nodiscard]] std::size_t resources() const { return resources_; }

    /// No allocation. Fills seconds[0 .. resources); the rest is scratch.
    Bounds evaluate(std::span<const double> sizes, std::span<double> seconds) const;

private:
    CompiledSums sums_;  ///< resources without their late terms, then transfer and latency of each late term
    std::size_t resources_ = 0;
    std::vector<std::size_t> late_;  ///< the resource of each late term
};

}  // namespace roofline
