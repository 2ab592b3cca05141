#include "calibrate/collective/fit_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/ascii.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/collective/mean_error.hpp"
#include "calibrate/constants.hpp"

namespace roofline::core {

namespace {

constexpr int segments_of_shared = 4;
constexpr int segments_of_counted = 3;
constexpr std::size_t min_rows_per_count = 6;  // minimum number of measurements for a curve of one number of members

struct Series {
    std::vector<const CollectiveSample*> rows;
    std::int64_t left_out = 0;
};

using SeriesKey = std::pair<std::string, CollectiveKey>;

auto order(const CollectiveSample& sample) {
    return std::tie(sample.machine, sample.key, sample.timed.point.members, sample.timed.point.buffer_bytes,
                    sample.timed.time_s, sample.source);
}

bool same_measurement(const CollectiveSample& a, const CollectiveSample& b) {
    return a.machine == b.machine && a.key == b.key && a.timed.point.members == b.timed.point.members &&
           a.timed.point.buffer_bytes == b.timed.point.buffer_bytes &&
           std::abs(a.timed.time_s - b.timed.time_s) < 1e-3 * a.timed.time_s;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Detects wrong units and misplaced decimal points: measurements far from those with similar size and the same number
/// of members. Rows are sorted by both; a hundred on either side are sufficient.
bool is_outlier(const std::vector<const CollectiveSample*>& rows, std::size_t at) {
    constexpr std::size_t enough = 100;
    const CollectivePoint& point = rows[at]->timed.point;
    std::vector<double> neighbours;
    const auto take = [&](const CollectiveSample& other) {
        const double ratio = other.timed.point.buffer_bytes / point.buffer_bytes;
        const bool near = other.timed.point.members == point.members && ratio >= 0.24 && ratio <= 4.1;
        if (near) neighbours.push_back(std::log(other.timed.time_s));
        return near;
    };
    for (std::size_t i = at; i > 0 && i + enough > at && take(*rows[i - 1]); --i) continue;
    for (std::size_t i = at + 1; i < rows.size() && i <= at + enough && take(*rows[i]); ++i) continue;
    if (neighbours.size() < 3) return false;
    return std::abs(std::log(rows[at]->timed.time_s) - median(std::move(neighbours))) > std::log(30.0);
}

void remove_neighbour_outliers(Series& series) {
    std::vector<const CollectiveSample*> right;
    for (std::size_t i = 0; i < series.rows.size(); ++i) {
        if (!is_impossible(*series.rows[i]) && !is_outlier(series.rows, i)) right.push_back(series.rows[i]);
    }
    series.left_out = static_cast<std::int64_t>(series.rows.size() - right.size());
    series.rows = std::move(right);
}

/// Keeps evenly spaced rows of a series that is longer than a fit needs.
void thin(Series& series) {
    constexpr std::size_t plenty = 4096;
    if (series.rows.size() <= plenty) return;
    std::vector<const CollectiveSample*> kept;
    for (std::size_t i = 0; i < plenty; ++i) kept.push_back(series.rows[i * series.rows.size() / plenty]);
    series.rows = std::move(kept);
}

std::vector<TimedPoint> points_of(const std::vector<const CollectiveSample*>& rows) {
    std::vector<TimedPoint> points;
    points.reserve(rows.size());
    for (const CollectiveSample* row : rows) points.push_back(row->timed);
    return points;
}

/// For every fold, fits to the points that `held_out` rejects and measures the error on those it accepts.
template <class HeldOut>
MeanError hold_out(const std::vector<TimedPoint>& points, const CollectiveKey& key, std::size_t folds,
                   HeldOut held_out) {
    MeanError error;
    for (std::size_t fold = 0; fold < folds; ++fold) {
        std::vector<TimedPoint> kept;
        std::vector<TimedPoint> taken;
        for (const TimedPoint& timed : points) (held_out(timed, fold) ? taken : kept).push_back(timed);
        if (taken.empty() || kept.size() < min_rows / 2) continue;
        error.add(rounded(fit_model(kept, key.kind, is_custom(key))), taken);
    }
    return error;
}

template <class T>
std::vector<T> sorted_once(std::vector<T> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

FitErrors errors_of(const CollectiveModel& model, const std::vector<TimedPoint>& points, const CollectiveKey& key,
                    const std::vector<std::int64_t>& members, const std::vector<double>& sizes) {
    FitErrors errors;
    MeanError fitted;
    fitted.add(model, points);
    errors.fitted = fitted.mean();
    errors.sizes = hold_out(points, key, 5, [&](const TimedPoint& timed, std::size_t fold) {
                       const auto at = std::lower_bound(sizes.begin(), sizes.end(), timed.point.buffer_bytes);
                       return static_cast<std::size_t>(at - sizes.begin()) % 5 == fold;
                   }).mean();
    if (members.size() < 3) return errors;
    // of a table with more numbers of members, only the first ones are held out
    constexpr std::size_t max_member_counts = 16;
    const MeanError left_out =
        hold_out(points, key, std::min(members.size(), max_member_counts),
                 [&](const TimedPoint& timed, std::size_t fold) { return timed.point.members == members[fold]; });
    if (!left_out.empty()) errors.members = left_out.mean();
    return errors;
}

/// Removes outliers of series that are too sparse for the comparison with neighbours: measurements that deviate from
/// the model of all by more than a factor of 30.
void remove_far_outliers(Series& series, const CollectiveKey& key) {
    const CollectiveModel model = fit_model(points_of(series.rows), key.kind, is_custom(key));
    series.left_out += static_cast<std::int64_t>(std::erase_if(series.rows, [&](const CollectiveSample* row) {
        return std::abs(std::log(seconds_of(model, row->timed.point) / row->timed.time_s)) > std::log(30.0);
    }));
}

CalibratedCollective calibrate(const CollectiveKey& key, const Series& series) {
    CalibratedCollective model;
    model.key = key;
    model.link = series.rows.front()->link;
    const std::vector<TimedPoint> points = points_of(series.rows);
    std::vector<double> sizes;
    for (const CollectiveSample* row : series.rows) {
        model.members.push_back(row->timed.point.members);
        sizes.push_back(row->timed.point.buffer_bytes);
        model.sources.push_back(row->source);
    }
    model.members = sorted_once(std::move(model.members));
    model.sources = sorted_once(std::move(model.sources));
    sizes = sorted_once(std::move(sizes));
    model.least_bytes = sizes.front();
    model.most_bytes = sizes.back();
    model.rows = static_cast<std::int64_t>(series.rows.size());
    model.left_out = series.left_out;
    model.model = rounded(fit_model(points, key.kind, is_custom(key)));
    model.errors = errors_of(model.model, points, key, model.members, sizes);
    return model;
}

bool on_torus(const Series& series) {
    return !series.rows.empty() && series.rows.front()->link.topology.starts_with("torus");
}

/// The minimum number of measurements of a series: the model of a torus has two parameters.
std::size_t min_rows_of(const Series& series) {
    constexpr std::size_t min_on_torus = 5;
    return on_torus(series) ? min_on_torus : min_rows;
}

/// Series of one collective on tori, by machine.
using Pool = std::map<std::string, std::pair<CollectiveKey, std::vector<const CollectiveSample*>>>;

/// Fits one model to the series of all machines of a pool, leaving out each in turn for the errors, and adds it to
/// those that have none.
void fit_pool(const Pool& pool, CollectiveFit& fit) {
    constexpr std::size_t min_pooled = 4;
    Series all;
    for (const auto& [machine, series] : pool) {
        all.rows.insert(all.rows.end(), series.second.begin(), series.second.end());
    }
    if (pool.size() < 2 || all.rows.size() < min_pooled) return;
    CalibratedCollective model = calibrate(pool.begin()->second.first, all);
    MeanError left_out;
    for (const auto& [machine, series] : pool) {
        std::vector<TimedPoint> kept;
        for (const CollectiveSample* row : all.rows) {
            if (row->machine != machine) kept.push_back(row->timed);
        }
        left_out.add(rounded(fit_model(kept, model.key.kind, false)), points_of(series.second));
    }
    model.errors.sizes = left_out.mean();
    model.errors.members = left_out.mean();
    model.errors.elsewhere = left_out.mean();
    const auto same_kind = [&](const CalibratedCollective& each) { return each.key.kind == model.key.kind; };
    for (const auto& [machine, series] : pool) {
        auto place = std::find_if(fit.calibrations.begin(), fit.calibrations.end(),
                                  [&](const Calibration& calibration) { return calibration.machine >= machine; });
        if (place == fit.calibrations.end() || place->machine != machine) {
            place = fit.calibrations.insert(place, {machine, {}, {}, {}});
        }
        if (std::any_of(place->models.begin(), place->models.end(), same_kind)) continue;
        model.key = series.first;
        model.link = series.second.front()->link;
        place->models.push_back(model);
        const auto rows = static_cast<std::int64_t>(series.second.size());
        fit.rows += rows;
        fit.too_few -= rows;
    }
}

/// Fits the short series of collectives on tori together with those of other machines.
void fit_short_series(const std::map<SeriesKey, Series>& all, CollectiveFit& fit) {
    std::map<CollectiveKind, Pool> pools;
    for (const auto& [key, series] : all) {
        const auto& [machine, model] = key;
        if (!on_torus(series) || !model.variant.empty()) continue;
        auto& pooled = pools[model.kind][machine];
        pooled.first = model;
        pooled.second.insert(pooled.second.end(), series.rows.begin(), series.rows.end());
    }
    for (const auto& [kind, pool] : pools) fit_pool(pool, fit);
}

std::map<SeriesKey, Series> series_of(const std::vector<CollectiveSample>& samples, CollectiveFit& fit) {
    std::map<SeriesKey, Series> all;
    const CollectiveSample* previous = nullptr;
    for (const CollectiveSample& sample : samples) {
        if (previous != nullptr && same_measurement(*previous, sample)) {
            ++fit.duplicates;
            continue;
        }
        previous = &sample;
        all[{sample.machine, sample.key}].rows.push_back(&sample);
    }
    for (auto& [key, series] : all) {
        remove_neighbour_outliers(series);
        thin(series);
    }
    return all;
}

bool in_range(const CollectiveSample& sample) {
    const CollectivePoint& point = sample.timed.point;
    return point.members >= 2 && point.buffer_bytes >= 1 && point.buffer_bytes < 1e15 && point.wire_s > 0 &&
           point.buffer_s > 0 && sample.timed.time_s > 0 && sample.timed.time_s < 1e9;
}

/// Fits a constant and the fraction of the links' rate. The latency of the hops is the published one.
CollectiveModel torus_model(std::vector<TimedPoint> points) {
    std::erase_if(points, [](const TimedPoint& timed) { return timed.time_s <= timed.point.latency_s; });
    CollectiveModel model;
    model.shared.steps = StepCount::hops;
    if (points.empty()) {
        model.shared.segments = {{0, 0, 1, 0, 0}};
        return model;
    }
    CurveTerms terms;
    terms.step = false;
    terms.buffer = false;
    for (TimedPoint& timed : points) timed.time_s -= timed.point.latency_s;
    model.shared.segments = fit_curve(points, 1, terms).curve.segments;
    return model;
}

}  // namespace

CollectiveModel fit_model(const std::vector<TimedPoint>& points, CollectiveKind kind, bool custom) {
    constexpr double min_mean_deviation = 0.03;  // minimum mean deviation of one curve for all numbers of members
    constexpr double max_loss_ratio = 0.7;       // separate curves must reduce the deviation to this fraction
    std::map<std::int64_t, std::vector<TimedPoint>> by_count;
    for (const TimedPoint& timed : points) by_count[timed.point.members].push_back(timed);
    CurveTerms of_one;  // for a single number of members, steps are constant and all bytes are proportional
    of_one.step = false;
    of_one.buffer = false;
    CurveTerms terms;
    terms.one_shot = custom;
    terms.buffer = info(kind).ends != Ends::pairs;
    if (by_count.size() == 1) terms = of_one;
    if (std::any_of(points.begin(), points.end(), [](const TimedPoint& timed) { return timed.point.latency_s > 0; })) {
        return torus_model(points);
    }
    CurveFit best = fit_curve(points, segments_of_shared, terms);
    if (!custom && by_count.size() > 2) {  // with two numbers of members the two cannot be distinguished
        terms.steps = StepCount::logarithmic;
        CurveFit other = fit_curve(points, segments_of_shared, terms);
        if (other.loss < 0.95 * best.loss) best = std::move(other);
    }
    CollectiveModel model;
    model.shared = std::move(best.curve);
    const bool short_series = std::any_of(by_count.begin(), by_count.end(),
                                          [](const auto& count) { return count.second.size() < min_rows_per_count; });
    const auto rows = static_cast<double>(points.size());
    if (by_count.size() < 2 || short_series || best.loss < min_mean_deviation * rows) return model;
    double loss = 0;
    std::vector<CountedCurve> counted;
    for (const auto& [members, of_count] : by_count) {
        CurveFit fit = fit_curve(of_count, segments_of_counted, of_one);
        loss += fit.loss;
        counted.push_back({members, std::move(fit.curve)});
    }
    if (loss < max_loss_ratio * best.loss) model.counted = std::move(counted);
    return model;
}

namespace {

// Sorts the samples; the order of equal ones does not change.
std::vector<CollectiveSample> in_order(std::vector<CollectiveSample> samples) {
    std::vector<std::size_t> places(samples.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
        const auto first = order(samples[a]);
        const auto second = order(samples[b]);
        return first < second || (!(second < first) && a < b);
    });
    std::vector<CollectiveSample> sorted;
    sorted.reserve(samples.size());
    for (const std::size_t place : places) sorted.push_back(std::move(samples[place]));
    return sorted;
}

}  // namespace

CollectiveFit fit_collectives(std::vector<CollectiveSample> samples) {
    CollectiveFit fit;
    fit.left_out = static_cast<std::int64_t>(std::erase_if(samples, [](const auto& each) { return !in_range(each); }));
    samples = in_order(std::move(samples));
    std::map<SeriesKey, Series> all = series_of(samples, fit);
    for (auto& [key, series] : all) {
        const auto& [machine, model] = key;
        if (series.rows.size() >= min_rows) remove_far_outliers(series, model);
        fit.left_out += series.left_out;
        if (series.rows.size() < min_rows_of(series)) {
            fit.too_few += static_cast<std::int64_t>(series.rows.size());
            continue;
        }
        fit.rows += static_cast<std::int64_t>(series.rows.size());
        if (fit.calibrations.empty() || fit.calibrations.back().machine != machine) {
            fit.calibrations.push_back({machine, {}, {}, {}});
        }
        fit.calibrations.back().models.push_back(calibrate(model, series));
    }
    fit_short_series(all, fit);
    // with more models the cost of predicting each from all others is too high
    constexpr std::size_t max_models = 1000;
    std::size_t models = 0;
    for (const Calibration& calibration : fit.calibrations) models += calibration.models.size();
    if (models <= max_models) add_transfer_errors(fit.calibrations, samples);
    return fit;
}

}  // namespace roofline::core
