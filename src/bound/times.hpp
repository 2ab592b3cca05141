// The times of a pricing, compiled: sizes in, seconds by resource and the bounds out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/compiled.hpp"
#include "bound/pricing.hpp"

namespace roofline::core {

/// The two bounds from the resources' times. Both are one law, the p-norm: infinity gives the maximum (everything overlaps),
/// 1 the sum (nothing does).
struct Bounds {
    double lower = 0;
    double upper = 0;
    std::optional<std::size_t> bound_by;  ///< index of the longest; none when nothing takes time
};

/// A resource's time is that of its terms together, on a torus that of its busiest cut, and no less than the latency of
/// any one of them. The lower bound takes of each term what there is at the least (Term::sure), the upper one all terms and all
/// latencies one after the other.
class CompiledTimes {
public:
    CompiledTimes() = default;
    CompiledTimes(const Pricing& pricing, const std::vector<std::string>& swept, const Sizes& fixed);

    /// Places that `evaluate` needs: two numbers for each resource and room to work in.
    [[nodiscard]] std::size_t places() const { return 2 * resources_.size() + sums_.size(); }
    [[nodiscard]] std::size_t resources() const { return resources_.size(); }

    /// No allocation. Fills seconds[0 .. resources) with the resources' times, in order, and as many behind them with those that the
    /// lower bound is the longest of; the rest is scratch.
    Bounds evaluate(std::span<const double> sizes, std::span<double> seconds) const;

private:
    struct Parts {
        std::size_t cuts = 1;       ///< sums of transfers, one for each cut
        std::size_t latencies = 0;  ///< sums of one term each
        bool serial = false;        ///< another sum, of all transfers, since the cuts overlap
        bool unsure = false;        ///< more sums, one for each cut, of what there is at the least
    };
    CompiledSums sums_;
    std::vector<Parts> resources_;
};

}  // namespace roofline::core
