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

/// Half the bound may be a link that is faster than published; less is another unit or another quantity.
bool is_impossible(const CollectiveSample& row) { return row.timed.time_s < row.lower_s / 2; }

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

class MeanError {
public:
    void add(const CollectiveModel& model, const std::vector<TimedPoint>& points) {
        for (const TimedPoint& timed : points) add(seconds_of(model, timed.point), timed.time_s);
    }
    void add(double predicted, double measured) {
        sum_ += std::abs(predicted - measured) / measured;
        ++rows_;
    }
    [[nodiscard]] bool empty() const { return rows_ == 0; }
    [[nodiscard]] double mean() const { return rows_ == 0 ? 0 : sum_ / static_cast<double>(rows_); }

private:
    double sum_ = 0;
    std::int64_t rows_ = 0;
};

/// Kernels of frameworks that bypass the communication library.
bool is_custom(const CollectiveKey& key) {
    return key.variant.find("custom") != std::string::npos || key.variant.find("shot") != std::string::npos;
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
        if (series.rows.size() < min_rows) {
            fit.too_few += static_cast<std::int64_t>(series.rows.size());
            continue;
        }
        fit.rows += static_cast<std::int64_t>(series.rows.size());
        if (fit.calibrations.empty() || fit.calibrations.back().machine != machine) {
            fit.calibrations.push_back({machine, {}, {}, {}});
        }
        fit.calibrations.back().models.push_back(calibrate(model, series));
    }
    // with more models the cost of predicting each from all others is too high
    constexpr std::size_t max_models = 1000;
    std::size_t models = 0;
    for (const Calibration& calibration : fit.calibrations) models += calibration.models.size();
    if (models <= max_models) add_transfer_errors(fit.calibrations, samples);
    return fit;
}

namespace {

CollectiveRequest request_of(const CollectiveSample& sample) {
    CollectiveRequest request;
    request.machine = sample.machine;
    request.tiers = sample.key.tiers;
    request.link = sample.link;
    request.kind = sample.key.kind;
    request.point = sample.timed.point;
    request.software = sample.key.software;
    request.variant = sample.key.variant;
    if (sample.key.dtypes == "integer") request.dtype = Dtype::int8;
    return request;
}

bool speak_for(const std::vector<TransferCandidate>& transfer_candidates, const CollectiveKey& key) {
    return !transfer_candidates.empty() &&
           std::all_of(transfer_candidates.begin(), transfer_candidates.end(),
                       [&](const TransferCandidate& relative) { return relative.model->key.variant == key.variant; });
}

}  // namespace

void add_transfer_errors(std::vector<Calibration>& calibrations, const std::vector<CollectiveSample>& samples) {
    Calibrations all(calibrations);
    struct TransferErrors {
        std::map<std::int64_t, std::vector<TransferCandidate>> by_members;
        MeanError error;
    };
    std::map<std::pair<SeriesKey, bool>, TransferErrors> errors;  // `true`: transferred from links with the same rate
    for (const CollectiveSample& sample : samples) {
        if (is_impossible(sample)) continue;
        const CollectiveRequest request = request_of(sample);
        for (const bool same_rate : {true, false}) {
            TransferErrors& transferred = errors[{{sample.machine, sample.key}, same_rate}];
            auto found = transferred.by_members.find(request.point.members);
            if (found == transferred.by_members.end()) {
                found =
                    transferred.by_members.emplace(request.point.members, all.transfer_candidates(request, same_rate))
                        .first;
            }
            if (!speak_for(found->second, sample.key)) continue;
            const ExpectedTime expected = mean_of(found->second, request);
            if (expected.software_found) transferred.error.add(expected.seconds, sample.timed.time_s);
        }
    }
    for (Calibration& calibration : calibrations) {
        for (CalibratedCollective& model : calibration.models) {
            for (const bool same_rate : {true, false}) {
                const auto found = errors.find({{calibration.machine, model.key}, same_rate});
                if (found == errors.end() || found->second.error.empty()) continue;
                (same_rate ? model.errors.relative : model.errors.far) = found->second.error.mean();
            }
        }
    }
}

}  // namespace roofline::core
