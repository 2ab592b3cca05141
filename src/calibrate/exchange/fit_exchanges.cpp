#include "calibrate/exchange/fit_exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/constants.hpp"
#include "machine/catalogue.hpp"

namespace roofline::core {

namespace {

using ExchangeRows = std::vector<const ExchangeSample*>;

double deviation(const ExchangeModel& model, const ExchangeSample& sample) {
    return std::abs(seconds_of(model, sample.point) - sample.time_s) / sample.time_s;
}

/// A sum of deviations and the number of its terms.
struct MeanDeviation {
    double sum = 0;
    double rows = 0;

    void add(const ExchangeModel& model, const ExchangeRows& samples) {
        for (const ExchangeSample* sample : samples) add(deviation(model, *sample));
    }
    void add(double error) {
        sum += error;
        rows += 1;
    }
    [[nodiscard]] double mean() const { return rows > 0 ? sum / rows : 0; }
    [[nodiscard]] std::optional<double> known() const { return rows > 0 ? std::optional(mean()) : std::nullopt; }
};

struct Fitted {
    ExchangeModel model;
    double loss = std::numeric_limits<double>::infinity();  ///< sum of absolute relative deviations
};

Fitted fit_with(ExchangeModel model, const ExchangeRows& samples) {
    constexpr double floor = 0.02;  // smaller deviations are noise and are weighted equally
    constexpr int rounds = 12;
    std::vector<ExchangeConstants> features;
    for (const ExchangeSample* sample : samples) {
        features.push_back(exchange_features(model, sample->point));
        for (double& feature : features.back()) feature /= sample->time_s;
    }
    std::vector<double> off(samples.size(), 0);
    Fitted best;
    for (int round = 0; round < rounds; ++round) {
        LeastSquaresOf<exchange_constant_count> sums;
        for (std::size_t i = 0; i < samples.size(); ++i)
            sums.add(features[i], round == 0 ? 1 : floor / std::max(std::abs(off[i]), floor));
        const ExchangeConstants constants = sums.solve();
        double loss = 0;
        for (std::size_t i = 0; i < samples.size(); ++i) {
            off[i] = dot(constants, features[i]) - 1;
            loss += std::abs(off[i]);
        }
        if (loss >= best.loss) continue;
        set_constants(model, constants);
        best = {model, loss};
    }
    return best;
}

Fitted fitted_model(const ExchangeRows& samples, bool once) {
    // default of DeepEP's Buffer.num_sms (deep_ep/buffer.py), if the measurements specify the number of cores
    constexpr double usual_cores = 20;
    ExchangeModel model;
    model.once = once;
    if (std::all_of(samples.begin(), samples.end(), [](const auto* each) { return each->point.cores > 0; }))
        model.cores = usual_cores;
    return fit_with(model, samples);
}

auto shape_of(const ExchangeSample& sample) {
    return std::tuple(sample.point.row_s, sample.choices, sample.point.experts);
}

auto order(const ExchangeSample& sample) {
    return std::tuple(sample.machine, sample.key, shape_of(sample), sample.point.tokens, sample.point.cores,
                      sample.time_s, sample.source);
}

bool same_measurement(const ExchangeSample& a, const ExchangeSample& b) {
    return a.machine == b.machine && a.key == b.key && shape_of(a) == shape_of(b) && a.point.tokens == b.point.tokens &&
           a.point.cores == b.point.cores && std::abs(a.time_s - b.time_s) < 1e-3 * a.time_s;
}

bool in_range(const ExchangeSample& sample) {
    const ExchangePoint& point = sample.point;
    return point.members >= 2 && point.tokens >= 1 && point.row_s > 0 && sample.time_s > 0 && sample.time_s < 1e9 &&
           sample.time_s >= sample.lower_s / 2;
}

/// Predicts one fifth of the distinct values at a time from the others.
template <class Value>
MeanDeviation hold_out(const ExchangeRows& samples, bool once, Value value) {
    constexpr std::size_t folds = 5;
    const auto values = distinct(samples, value);
    MeanDeviation error;
    for (std::size_t fold = 0; fold < folds; ++fold) {
        ExchangeRows kept;
        ExchangeRows taken;
        for (const ExchangeSample* sample : samples) {
            const auto at = std::lower_bound(values.begin(), values.end(), value(*sample)) - values.begin();
            (static_cast<std::size_t>(at) % folds == fold ? taken : kept).push_back(sample);
        }
        if (taken.empty() || kept.size() < min_rows / 2) continue;
        error.add(rounded(fit_exchange_model(kept, once)), taken);
    }
    return error;
}

CalibratedExchange calibrate(const ExchangeKey& key, const ExchangeRows& rows, bool once) {
    constexpr std::size_t min_shapes = 5;
    CalibratedExchange exchange;
    exchange.key = key;
    exchange.link = rows.front()->link;
    exchange.rows = static_cast<std::int64_t>(rows.size());
    exchange.sources = distinct(rows, [](const ExchangeSample& sample) { return sample.source; });
    const auto tokens = [](const ExchangeSample& sample) { return sample.point.tokens; };
    const std::vector<double> sizes = distinct(rows, tokens);
    exchange.least_tokens = sizes.front();
    exchange.most_tokens = sizes.back();
    exchange.model = rounded(fit_exchange_model(rows, once));
    MeanDeviation fitted;
    fitted.add(exchange.model, rows);
    exchange.errors.fitted = fitted.mean();
    exchange.errors.sizes = hold_out(rows, once, tokens).mean();
    if (distinct(rows, shape_of).size() >= min_shapes) exchange.errors.shapes = hold_out(rows, once, shape_of).known();
    return exchange;
}

/// Removes measurements that deviate from the model of their series by more than a factor of 30.
std::int64_t remove_outliers(ExchangeRows& rows) {
    constexpr double far = 30;
    if (rows.size() < min_rows) return 0;
    const ExchangeModel model = fit_exchange_model(rows, false);
    return static_cast<std::int64_t>(std::erase_if(rows, [&](const ExchangeSample* sample) {
        return std::abs(std::log(seconds_of(model, sample->point) / sample->time_s)) > std::log(far);
    }));
}

/// Returns the model of the same exchange with the nearest other number of members.
const CalibratedExchange* nearest_count(const Calibration& calibration, const ExchangeKey& key) {
    const CalibratedExchange* best = nullptr;
    const auto distance = [&](const CalibratedExchange& model) {
        return std::abs(std::log2(static_cast<double>(model.key.members) / static_cast<double>(key.members)));
    };
    for (const CalibratedExchange& model : calibration.exchanges) {
        ExchangeKey same = model.key;
        same.members = key.members;
        if (same != key || model.key.members == key.members) continue;
        if (best == nullptr || distance(model) < distance(*best)) best = &model;
    }
    return best;
}

using ExchangeSeries = std::map<std::pair<std::string, ExchangeKey>, ExchangeRows>;

/// Returns whether a machine's kernels send tokens once to each chip, according to the measurements of both steps.
bool sends_once(const ExchangeSeries& series, const std::string& machine, ExchangeKey key) {
    double gain = 0;
    for (const ExchangeStep step : {ExchangeStep::dispatch, ExchangeStep::combine}) {
        key.step = step;
        const auto rows = series.find({machine, key});
        if (rows == series.end() || rows->second.empty()) continue;
        gain += fitted_model(rows->second, false).loss - fitted_model(rows->second, true).loss;
    }
    return gain > 0;
}

void add_errors_of_counts(std::vector<Calibration>& calibrations, const ExchangeSeries& series) {
    for (Calibration& calibration : calibrations) {
        for (CalibratedExchange& exchange : calibration.exchanges) {
            const CalibratedExchange* other = nearest_count(calibration, exchange.key);
            if (other == nullptr) continue;
            MeanDeviation error;
            error.add(other->model, series.at({calibration.machine, exchange.key}));
            exchange.errors.members = error.known();
        }
    }
}

}  // namespace

ExchangeModel fit_exchange_model(const std::vector<const ExchangeSample*>& samples, bool once) {
    return fitted_model(samples, once).model;
}

ExchangeFit fit_exchanges(std::vector<ExchangeSample> samples) {
    ExchangeFit fit;
    fit.left_out = static_cast<std::int64_t>(std::erase_if(samples, [](const auto& each) { return !in_range(each); }));
    std::sort(samples.begin(), samples.end(),
              [](const ExchangeSample& a, const ExchangeSample& b) { return order(a) < order(b); });
    ExchangeSeries series;
    const ExchangeSample* previous = nullptr;
    for (const ExchangeSample& sample : samples) {
        if (previous != nullptr && same_measurement(*previous, sample)) {
            ++fit.duplicates;
            continue;
        }
        previous = &sample;
        series[{sample.machine, sample.key}].push_back(&sample);
    }
    std::map<std::pair<std::string, ExchangeKey>, std::int64_t> far;
    for (auto& [place, rows] : series) fit.left_out += far[place] = remove_outliers(rows);
    for (const auto& [place, rows] : series) {
        if (rows.size() < min_rows) {
            fit.too_few += static_cast<std::int64_t>(rows.size());
            continue;
        }
        fit.rows += static_cast<std::int64_t>(rows.size());
        const auto& [machine, key] = place;
        if (fit.calibrations.empty() || fit.calibrations.back().machine != machine) {
            fit.calibrations.push_back({machine, {}, {}, {}});
        }
        fit.calibrations.back().exchanges.push_back(calibrate(key, rows, sends_once(series, machine, key)));
        fit.calibrations.back().exchanges.back().left_out = far[place];
    }
    add_errors_of_counts(fit.calibrations, series);
    return fit;
}

void measure_exchange_transfer_errors(std::vector<Calibration>& calibrations,
                                      const std::vector<ExchangeSample>& samples) {
    Calibrations all(calibrations);
    std::map<std::pair<std::string, ExchangeKey>, MeanDeviation> errors;
    std::map<std::string, std::optional<Machine>> machines;  // each is read once
    for (const ExchangeSample& sample : samples) {
        if (!in_range(sample)) continue;
        const auto [machine, added] = machines.try_emplace(sample.machine);
        if (added) {
            if (auto found = find_machine(sample.machine)) machine->second = std::move(*found);
        }
        if (!machine->second) continue;
        const auto transferred = all.transferred_exchange(*machine->second, {sample.key, sample.link, sample.point});
        if (transferred)
            errors[{sample.machine, sample.key}].add(std::abs(transferred->seconds - sample.time_s) / sample.time_s);
    }
    for (Calibration& calibration : calibrations) {
        for (CalibratedExchange& exchange : calibration.exchanges) {
            const auto found = errors.find({calibration.machine, exchange.key});
            if (found != errors.end()) exchange.errors.relative = found->second.known();
        }
    }
}

}  // namespace roofline::core
