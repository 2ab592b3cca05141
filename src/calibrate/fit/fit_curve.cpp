#include "calibrate/fit/fit_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "calibrate/collective/curve_limit.hpp"
#include "calibrate/constants.hpp"
#include "calibrate/fit/least_squares.hpp"

namespace roofline::core {

namespace {

/// Factors of a segment's constants: base, step, 1/link, 1/buffer, 1/one_shot. Each is divided by the measured time, so
/// that the sum is 1 for a perfect fit.
using Features = Constants;
constexpr std::size_t first_of_bytes = 2;  ///< the features from here on are proportional to the bytes

struct CurveSample {
    Features features;
    double size = 0;  ///< ln of the buffer size
    const TimedPoint* timed = nullptr;
};

Features features_of(const TimedPoint& timed, const CurveTerms& terms) {
    const CollectivePoint& point = timed.point;
    CurveSegment unit;
    unit.step_s = 1;
    const double steps = seconds_of(unit, terms.steps, point);
    const double others = static_cast<double>(point.members - 1);
    Features features{1, terms.step ? steps : 0, terms.link ? point.wire_s : 0, terms.buffer ? point.buffer_s : 0,
                      terms.one_shot ? others * point.buffer_s : 0};
    for (double& feature : features) feature /= timed.time_s;
    return features;
}

CurveSegment segment_of(const Constants& constants) {
    const auto fraction = [](double slowdown) { return slowdown > 0 ? 1 / slowdown : 0; };
    return {constants[0], constants[1], fraction(constants[2]), fraction(constants[3]), fraction(constants[4])};
}

/// Segments, and for each the points at which it is the cheapest.
class Partition {
public:
    Partition(const std::vector<CurveSample>& samples, std::size_t segments)
        : samples_(samples), constants_(segments, unused()), owner_(samples.size()), ratio_(samples.size(), 1) {}

    std::vector<std::size_t>& owners() { return owner_; }

    /// Fits each segment by weighted least squares. The weights, from the previous ratios, turn squared into absolute
    /// deviations.
    void solve() {
        constexpr double floor = 0.02;  // smaller deviations are noise and are weighted equally
        for (std::size_t s = 0; s < constants_.size(); ++s) {
            LeastSquares sums;
            std::size_t rows = 0;
            for (std::size_t i = 0; i < samples_.size(); ++i) {
                if (owner_[i] != s) continue;
                ++rows;
                sums.add(samples_[i].features, floor / std::max(std::abs(ratio_[i] - 1), floor));
            }
            if (rows >= 2) constants_[s] = sums.solve();
        }
    }

    /// Assigns every point to its cheapest segment. Returns the sum of |ln(fitted / measured)|.
    double assign() {
        double loss = 0;
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            ratio_[i] = infinity;
            for (std::size_t s = 0; s < constants_.size(); ++s) {
                const double ratio = dot(constants_[s], samples_[i].features);
                if (ratio >= ratio_[i]) continue;
                ratio_[i] = ratio;
                owner_[i] = s;
            }
            loss += std::abs(std::log(std::max(ratio_[i], 1e-12)));
        }
        return loss;
    }

    [[nodiscard]] const std::vector<Constants>& constants() const { return constants_; }

private:
    // more expensive than any other segment until points are assigned
    static Constants unused() { return {1e9, 0, 0, 0, 0}; }

    const std::vector<CurveSample>& samples_;
    std::vector<Constants> constants_;
    std::vector<std::size_t> owner_;
    std::vector<double> ratio_;
};

struct Segments {
    std::vector<Constants> constants;
    double loss = infinity;
};

/// Improves segments from an initial partition. `cuts` divide the range of sizes, in units of a seventh of the range.
void improve_from(const std::vector<CurveSample>& samples, double first, double range, const std::vector<int>& cuts,
                  Segments& best) {
    constexpr double parts = 7;
    Partition partition(samples, cuts.size() + 1);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const double x = (samples[i].size - first) / (range + 1e-9) * parts;
        partition.owners()[i] =
            static_cast<std::size_t>(std::count_if(cuts.begin(), cuts.end(), [&](int cut) { return x >= cut; }));
    }
    partition.solve();
    double previous = infinity;
    for (int round = 0; round < 12; ++round) {
        const double loss = partition.assign();
        if (loss < best.loss) best = {partition.constants(), loss};
        if (round > 4 && loss > previous * 0.9995) break;
        previous = std::min(previous, loss);
        partition.solve();
    }
}

Segments fit_segments(const std::vector<CurveSample>& samples, int wanted) {
    const auto [least, most] = std::minmax_element(
        samples.begin(), samples.end(), [](const CurveSample& a, const CurveSample& b) { return a.size < b.size; });
    const double first = least->size;
    const double range = most->size - first;
    int segments = wanted;
    while (segments > 1 && samples.size() < 5 * static_cast<std::size_t>(segments)) --segments;
    Segments best;
    // all ascending choices of `segments - 1` cuts from 1 to 6
    std::vector<int> cuts(static_cast<std::size_t>(segments - 1));
    const auto choose = [&](auto& self, std::size_t at, int from) -> void {
        if (at == cuts.size()) {
            improve_from(samples, first, range, cuts, best);
            return;
        }
        for (int cut = from; cut < 7; ++cut) {
            cuts[at] = cut;
            self(self, at + 1, cut + 1);
        }
    };
    choose(choose, 0, 1);
    return best;
}

double limited_size(const CurveSample& sample, bool of_piece) {
    return size_for_limit({0, of_piece}, sample.timed->point);
}

double fitted(const Segments& segments, const CurveSample& sample) {
    double least = infinity;
    for (const Constants& constants : segments.constants) least = std::min(least, dot(constants, sample.features));
    return least;
}

/// Returns the two sizes at which the measured times rise most above the fit.
std::vector<double> likely_limits(const std::vector<CurveSample>& samples, const Segments& fit, bool of_piece) {
    std::vector<std::pair<double, double>> off;  // size, ln(measured / fitted)
    for (const CurveSample& sample : samples) {
        off.emplace_back(limited_size(sample, of_piece), -std::log(std::max(fitted(fit, sample), 1e-12)));
    }
    std::sort(off.begin(), off.end());
    std::vector<double> sizes;
    for (const auto& [size, deviation] : off) {
        if (sizes.empty() || size > sizes.back() * 1.0001) sizes.push_back(size);
    }
    const auto mean = [&](double from, double to) {
        double sum = 0;
        double rows = 0;
        for (const auto& [size, deviation] : off) {
            if (size < from * 0.9999 || size > to * 1.0001) continue;
            sum += deviation;
            rows += 1;
        }
        return sum / rows;
    };
    std::vector<std::pair<double, double>> jumps;
    for (std::size_t i = 2; i + 3 < sizes.size(); ++i) {
        const double jump = mean(sizes[i + 1], sizes[i + 2]) - mean(sizes[i - 1], sizes[i]);
        jumps.emplace_back(-jump, std::sqrt(sizes[i] * sizes[i + 1]));
    }
    std::sort(jumps.begin(), jumps.end());
    std::vector<double> limits;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, jumps.size()); ++i) limits.push_back(jumps[i].second);
    return limits;
}

std::vector<CurveSample> on_side(const std::vector<CurveSample>& samples, const CurveLimit& limit, bool above) {
    std::vector<CurveSample> side;
    for (const CurveSample& sample : samples) {
        if ((limited_size(sample, limit.of_piece) > limit.bytes) == above) side.push_back(sample);
    }
    return side;
}

struct Split {
    Segments below;
    Segments above;
    std::optional<CurveLimit> limit;

    [[nodiscard]] double loss() const { return below.loss + (limit ? above.loss : 0); }
};

/// Returns whether the fitted time falls at the limit for any of the samples' groups. No algorithm needs less time for
/// more bytes: such a limit would follow a disturbed measurement, or a library that switches too late.
bool falls_at_limit(const Split& split, const std::vector<CurveSample>& samples) {
    return std::any_of(samples.begin(), samples.end(), [&](const CurveSample& sample) {
        CurveSample there = sample;
        const double ratio = split.limit->bytes / limited_size(sample, split.limit->of_piece);
        for (std::size_t i = first_of_bytes; i < there.features.size(); ++i) there.features[i] *= ratio;
        return fitted(split.above, there) < fitted(split.below, there);
    });
}

/// Tries limits, with every distribution of the segments over the two sides.
void try_limits(const std::vector<CurveSample>& samples, int segments, Split& best) {
    constexpr double min_mean_deviation = 0.03;  // minimum mean deviation without a limit
    constexpr double max_loss_ratio = 0.7;
    const Segments whole = best.below;
    if (whole.loss < min_mean_deviation * static_cast<double>(samples.size())) return;
    double loss_to_beat = whole.loss * max_loss_ratio;
    for (const bool of_piece : {false, true}) {
        for (const double bytes : likely_limits(samples, whole, of_piece)) {
            const CurveLimit limit{bytes, of_piece};
            const std::vector<CurveSample> below = on_side(samples, limit, false);
            const std::vector<CurveSample> above = on_side(samples, limit, true);
            if (below.size() < 4 || above.size() < 4) continue;
            for (int lower = 1; lower < segments; ++lower) {
                Split split{fit_segments(below, lower), fit_segments(above, segments - lower), limit};
                if (split.loss() >= loss_to_beat || falls_at_limit(split, samples)) continue;
                loss_to_beat = split.loss();
                best = std::move(split);
            }
        }
    }
}

/// Returns the segments that are the cheapest for at least one sample. Others would only apply where nothing was
/// measured.
std::vector<CurveSegment> used(const Segments& segments, const std::vector<CurveSample>& samples) {
    std::vector<bool> decides(segments.constants.size());
    for (const CurveSample& sample : samples) {
        std::size_t cheapest = 0;
        for (std::size_t s = 1; s < segments.constants.size(); ++s) {
            // if two segments agree, the first is sufficient
            const double least = dot(segments.constants[cheapest], sample.features);
            if (dot(segments.constants[s], sample.features) < least * (1 - 1e-6)) cheapest = s;
        }
        decides[cheapest] = true;
    }
    std::vector<CurveSegment> result;
    for (std::size_t s = 0; s < decides.size(); ++s) {
        if (decides[s]) result.push_back(segment_of(segments.constants[s]));
    }
    return result;
}

}  // namespace

CurveFit fit_curve(const std::vector<TimedPoint>& points, int segments, const CurveTerms& terms) {
    std::vector<CurveSample> samples;
    samples.reserve(points.size());
    for (const TimedPoint& timed : points) {
        samples.push_back({features_of(timed, terms), std::log(timed.point.buffer_bytes), &timed});
    }
    Split split;
    split.below = fit_segments(samples, segments);
    try_limits(samples, segments, split);
    CurveFit fit;
    fit.loss = split.loss();
    fit.curve.steps = terms.steps;
    fit.curve.limit = split.limit;
    if (split.limit) {
        fit.curve.segments = used(split.below, on_side(samples, *split.limit, false));
        fit.curve.beyond = used(split.above, on_side(samples, *split.limit, true));
    } else {
        fit.curve.segments = used(split.below, samples);
    }
    return fit;
}

}  // namespace roofline::core
