#include "calibrate/kernel/size_factors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace roofline::core {

namespace {

constexpr std::size_t corner_count = std::size_t{1} << size_count;

/// A grid point of the cell that contains the sizes, with its interpolation weight. The weights add up to 1.
struct Corner {
    std::size_t index = 0;
    double weight = 0;
};
using Corners = std::array<Corner, corner_count>;

bool has_sizes(const ProductSizes& sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [](double size) { return size > 0; });
}

double power_of(double size, int doublings) {
    return std::clamp(std::log2(size), 0.0, static_cast<double>(max_doublings)) / doublings;
}

/// Returns the grid points of the cell, for any factors.
Corners corners_of(const SizeFactors& lattice, const ProductSizes& sizes) {
    Corners corners{};
    corners[0].weight = 1;
    std::size_t used = 1;
    for (std::size_t axis = 0; axis < size_count; ++axis) {
        const Powers& each = lattice.powers[axis];
        const double place = std::clamp(power_of(sizes[axis], lattice.doublings), static_cast<double>(each.first),
                                        static_cast<double>(each.last)) -
                             each.first;
        const auto below = std::min(static_cast<std::size_t>(place), each.count() - 1);
        const double above = place - static_cast<double>(below);
        for (std::size_t i = 0; i < used; ++i) {
            Corner& low = corners[i];
            low.index = low.index * each.count() + below;
            if (above > 0) corners[used + i] = {low.index + 1, low.weight * above};
            low.weight *= 1 - above;
        }
        if (above > 0) used *= 2;
    }
    return corners;
}

double log_at(const SizeFactors& factors, const ProductSizes& sizes) {
    double log = 0;
    if (factors.logs.empty()) return log;
    for (const Corner& corner : corners_of(factors, sizes)) {
        if (corner.weight > 0) log += corner.weight * factors.logs[corner.index];
    }
    return log;
}

/// Least squares for the logarithms of the factors, matrix-free by conjugate gradients.
class FactorGrid {
public:
    FactorGrid(const SizeFactors& lattice, const std::vector<SizedDeviation>& deviations, const FactorGrain& grain)
        : grain_(grain), deviations_(deviations), weights_(deviations.size(), 1.0) {
        for (const SizedDeviation& deviation : deviations) {
            for (const auto& product : deviation.products) {
                if (!has_sizes(product.sizes)) continue;
                for (const Corner& corner : corners_of(lattice, product.sizes)) {
                    if (corner.weight > 0) terms_.push_back({corner.index, corner.weight * product.share});
                }
            }
            ends_.push_back(terms_.size());
        }
        std::size_t stride = 1;
        for (std::size_t axis = size_count; axis-- > 0;) {
            strides_[axis] = stride;
            counts_[axis] = lattice.powers[axis].count();
            stride *= counts_[axis];
        }
        logs_.assign(stride, 0);
    }

    std::vector<double> solve() {
        constexpr int rounds = 4;  // number of reweightings, which turn squared into absolute deviations
        constexpr double floor = 0.03;
        for (int round = 0; round < rounds; ++round) {
            step();
            for (std::size_t row = 0; row < ends_.size(); ++row) {
                weights_[row] = floor / std::max(floor, std::abs(at(row, logs_) - deviations_[row].deviation));
            }
        }
        return logs_;
    }

private:
    using Vector = std::vector<double>;

    [[nodiscard]] std::span<const Corner> terms_of(std::size_t row) const {
        const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
        return std::span(terms_).subspan(begin, ends_[row] - begin);
    }

    [[nodiscard]] double at(std::size_t row, const Vector& logs) const {
        double sum = 0;
        for (const Corner& term : terms_of(row)) sum += term.weight * logs[term.index];
        return sum;
    }

    void add(std::size_t row, double value, Vector& to) const {
        const double weighted = weights_[row] * value;
        for (const Corner& term : terms_of(row)) to[term.index] += term.weight * weighted;
    }

    /// Applies the matrix of the normal equations: measurements, smoothness between neighbours, and regularization
    /// towards factors of 1.
    [[nodiscard]] Vector times(const Vector& logs) const {
        Vector result(logs.size());
        for (std::size_t i = 0; i < logs.size(); ++i) result[i] = grain_.none * logs[i];
        for (std::size_t axis = 0; axis < size_count; ++axis) {
            const std::size_t stride = strides_[axis];
            const std::size_t block = stride * counts_[axis];
            for (std::size_t begin = 0; begin < logs.size(); begin += block) {
                // the last one has no further neighbour
                for (std::size_t i = begin; i < begin + block - stride; ++i) {
                    const double apart = grain_.smoothness * (logs[i] - logs[i + stride]);
                    result[i] += apart;
                    result[i + stride] -= apart;
                }
            }
        }
        for (std::size_t row = 0; row < ends_.size(); ++row) add(row, at(row, logs), result);
        return result;
    }

    /// Conjugate gradients, starting at the current logarithms.
    void step() {
        // each round starts where the previous one ended; 60 iterations give the same errors
        constexpr int max_iterations = 15;
        Vector left = times(logs_);
        for (double& each : left) each = -each;
        for (std::size_t row = 0; row < ends_.size(); ++row) add(row, deviations_[row].deviation, left);
        Vector way = left;
        double square = dot(left, left);
        const double enough = 1e-8 * square;
        for (int turn = 0; turn < max_iterations && square > enough; ++turn) {
            const Vector turned = times(way);
            const double length = square / dot(way, turned);
            for (std::size_t i = 0; i < way.size(); ++i) {
                logs_[i] += length * way[i];
                left[i] -= length * turned[i];
            }
            const double next = dot(left, left);
            for (std::size_t i = 0; i < way.size(); ++i) way[i] = left[i] + next / square * way[i];
            square = next;
        }
    }

    static double dot(const Vector& a, const Vector& b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
        return sum;
    }

    const FactorGrain& grain_;
    const std::vector<SizedDeviation>& deviations_;
    std::vector<Corner> terms_;      ///< of all rows
    std::vector<std::size_t> ends_;  ///< end of each row's terms
    Vector weights_;
    Vector logs_;
    std::array<std::size_t, size_count> strides_{};
    std::array<std::size_t, size_count> counts_{};
};

}  // namespace

double size_at(int power, int doublings) { return std::ldexp(1.0, doublings * power); }

Powers powers_between(double least, double greatest, int doublings) {
    return {static_cast<int>(std::floor(power_of(least, doublings))),
            static_cast<int>(std::ceil(power_of(greatest, doublings)))};
}

ProductSizes sizes_of(const KernelPoint& point) {
    if (point.rows > 0) return {point.rows, point.columns, 1, 1};
    return {point.m, point.n, point.depth, point.batch};
}

std::int64_t thousandths(double log) {
    const double most = static_cast<double>(max_thousandths);
    return static_cast<std::int64_t>(std::clamp(std::round(std::exp(log) * 1000), 1.0, most));
}

double log_of(std::int64_t thousandths) { return std::log(static_cast<double>(thousandths) / 1000); }

double factor_of(const SizeFactors& factors, const KernelPoint& point) {
    const ProductSizes sizes = sizes_of(point);
    return has_sizes(sizes) ? std::exp(log_at(factors, sizes)) : 1;
}

SizeFactors product_of(const SizeFactors& a, const SizeFactors& b, double min_m, double max_m) {
    SizeFactors product;
    if (a.logs.empty() && b.logs.empty()) return product;
    product.doublings = std::min(a.logs.empty() ? coarse : a.doublings, b.logs.empty() ? coarse : b.doublings);
    std::size_t count = 1;
    for (std::size_t axis = 0; axis < size_count; ++axis) {
        double least = std::numeric_limits<double>::infinity();
        double most = 1;
        for (const SizeFactors* each : {&a, &b}) {
            if (each->logs.empty()) continue;
            least = std::min(least, size_at(each->powers[axis].first, each->doublings));
            most = std::max(most, size_at(each->powers[axis].last, each->doublings));
        }
        if (axis == 0) {
            least = std::clamp(least, min_m, max_m);
            most = std::clamp(most, min_m, max_m);
        }
        product.powers[axis] = powers_between(least, most, product.doublings);
        count *= product.powers[axis].count();
    }
    for (std::size_t index = 0; index < count; ++index) {
        ProductSizes corner{};
        std::size_t rest = index;
        for (std::size_t axis = size_count; axis-- > 0;) {
            const Powers& powers = product.powers[axis];
            corner[axis] = size_at(powers.first + static_cast<int>(rest % powers.count()), product.doublings);
            rest /= powers.count();
        }
        product.logs.push_back(log_of(thousandths(log_at(a, corner) + log_at(b, corner))));
    }
    return product;
}

SizeFactors fit_factors(const std::vector<SizedDeviation>& deviations, const FactorGrain& grain) {
    SizeFactors fit;
    fit.doublings = grain.doublings;
    ProductSizes least{};
    ProductSizes greatest{};
    for (const SizedDeviation& deviation : deviations) {
        for (const auto& product : deviation.products) {
            if (!has_sizes(product.sizes)) continue;
            for (std::size_t axis = 0; axis < size_count; ++axis) {
                const double size = product.sizes[axis];
                least[axis] = least[axis] > 0 ? std::min(least[axis], size) : size;
                greatest[axis] = std::max(greatest[axis], size);
            }
        }
    }
    if (!has_sizes(least)) return fit;
    for (std::size_t axis = 0; axis < size_count; ++axis) {
        fit.powers[axis] = powers_between(least[axis], greatest[axis], grain.doublings);
    }
    double corners = 1;
    for (const Powers& powers : fit.powers) corners *= static_cast<double>(powers.count());
    if (corners > grain.corners_per_row * static_cast<double>(deviations.size())) return fit;
    for (const double log : FactorGrid(fit, deviations, grain).solve()) fit.logs.push_back(log_of(thousandths(log)));
    return fit;
}

}  // namespace roofline::core
