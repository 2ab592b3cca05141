// The times of a pricing, compiled: sizes in, seconds by resource and the bounds out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/compiled.hpp"
#include "bound/pricing.hpp"

namespace roofline::core {

/// The two bounds, computed from the resources' times. Both are p-norms: infinity gives the maximum (everything
/// overlaps), 1 the sum (nothing does).
struct Bounds {
    double lower = 0;
    double upper = 0;
    std::optional<std::size_t> bound_by;  ///< index of the longest; empty when nothing takes time
};

/// The compiled times of a pricing. A resource's time is that of its terms together, on a torus that of its busiest
/// cut, and at least the latency of each of them. The lower bound takes the guaranteed part of each term (Term::sure),
/// the upper bound the sum of all terms and all latencies.
class CompiledTimes {
public:
    CompiledTimes() = default;
    CompiledTimes(const Pricing& pricing, const std::vector<std::string>& swept, const Sizes& fixed);

    /// Returns the number of elements that `evaluate` needs: two per resource, and scratch.
    [[nodiscard]] std::size_t places() const { return 2 * resources_.size() + sums_.size(); }
    [[nodiscard]] std::size_t resources() const { return resources_.size(); }

    /// Does not allocate. Fills seconds[0 .. resources) with the resources' times, in order, and the same number behind
    /// them with the times whose maximum is the lower bound; the rest is scratch.
    Bounds evaluate(std::span<const double> sizes, std::span<double> seconds) const;

private:
    struct Parts {
        std::size_t cuts = 1;       ///< sums of transfers, one per cut
        std::size_t latencies = 0;  ///< sums of one term each
        bool serial = false;        ///< another sum, of all transfers, because the cuts overlap
        bool unsure = false;        ///< more sums, one per cut, of the guaranteed part
    };
    CompiledSums sums_;
    std::vector<Parts> resources_;
};

}  // namespace roofline::core
