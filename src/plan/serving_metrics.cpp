#include "plan/serving_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace roofline::core {

namespace {

constexpr double classes_per_doubling = 256;
constexpr double shortest_s = 1e-12;

int class_of(double value) {
    return static_cast<int>(std::floor(std::log2(std::max(value, shortest_s)) * classes_per_doubling));
}

/// Returns the values of the requests that arrived later than the first ones.
template <class Of>
std::vector<double> later_values(const ServingRun& run, Of of) {
    std::vector<double> values;
    values.reserve(run.requests.size());
    for (auto i = static_cast<std::size_t>(run.first); i < run.requests.size(); ++i) {
        values.push_back(of(run.requests[i]));
    }
    return values;
}

/// Returns a percentile of values of which none before place `sorted` exceeds any after it, and puts the values before
/// the percentile's place, which is returned in `sorted`, into this order, too.
double percentile(std::vector<double>& values, double fraction, std::size_t& sorted) {
    const double place = fraction * static_cast<double>(values.size() - 1);
    const auto lower = static_cast<std::size_t>(place);
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(lower);
    std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(sorted), at, values.end());
    sorted = lower;
    if (lower + 1 >= values.size()) return *at;
    const double next = *std::min_element(at + 1, values.end());
    return *at + (place - static_cast<double>(lower)) * (next - *at);
}

}  // namespace

TimeSpread time_spread(std::vector<double> values) {
    TimeSpread spread;
    if (values.empty()) return spread;
    spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    std::size_t sorted = 0;
    spread.p50 = percentile(values, 0.5, sorted);
    spread.p90 = percentile(values, 0.9, sorted);
    spread.p99 = percentile(values, 0.99, sorted);
    return spread;
}

TimeHistogram::Class& TimeHistogram::class_at(int index) {
    if (classes_.empty()) first_ = index;
    if (index < first_) {
        classes_.insert(classes_.begin(), static_cast<std::size_t>(first_ - index), Class{});
        first_ = index;
    }
    const auto place = static_cast<std::size_t>(index - first_);
    if (place >= classes_.size()) classes_.resize(place + 1);
    return classes_[place];
}

void TimeHistogram::add(double value, double times) {
    Class& found = class_at(class_of(value));
    found.count += times;
    found.sum += value * times;
    count_ += times;
    sum_ += value * times;
}

void TimeHistogram::add_evenly(double first, double last, double count, double times) {
    const double step = count > 1 ? (last - first) / (count - 1) : 0;
    double done = 0;
    while (done < count) {
        const double from = first + done * step;
        const int index = class_of(from);
        double until = count;
        if (class_of(last) != index) {
            const double edge = std::exp2((index + 1) / classes_per_doubling);
            until = std::clamp(std::ceil((edge - first) / step), done + 1, count);
        }
        const double values = until - done;
        add(from + step * (values - 1) / 2, values * times);
        done = until;
    }
}

double TimeHistogram::percentile(double fraction) const {
    double before = 0;
    for (const Class& each : classes_) {
        before += each.count;
        if (each.count > 0 && before >= fraction * count_) return each.sum / each.count;
    }
    return 0;
}

TimeSpread TimeHistogram::spread() const {
    if (!(count_ > 0)) return {};
    return {sum_ / count_, percentile(0.5), percentile(0.9), percentile(0.99)};
}

ServingTimes serving_times(const ServingRun& run) {
    ServingTimes times;
    std::vector<double> tpots;
    double tokens = 0;
    for (const RequestTimes& request : run.requests) {
        times.all_ttft_s += request.ttft_s() / static_cast<double>(run.requests.size());
        tokens += static_cast<double>(request.output);
        if (request.output > 1) tpots.push_back(request.tpot_s());
    }
    times.ttft = time_spread(later_values(run, [](const RequestTimes& request) { return request.ttft_s(); }));
    times.latency = time_spread(later_values(run, [](const RequestTimes& request) { return request.latency_s(); }));
    times.tpot = time_spread(std::move(tpots));
    times.itl = run.gaps.spread();
    if (run.seconds > 0) {
        times.running = run.decoded_s / run.seconds;
        times.requests_per_s = static_cast<double>(run.requests.size()) / run.seconds;
        times.tokens_per_s = tokens / run.seconds;
    }
    return times;
}

double met_fraction(const ServingRun& run, const ServingTargets& targets) {
    double met = 0;
    for (auto i = static_cast<std::size_t>(run.first); i < run.requests.size(); ++i) {
        if (targets.met_by(run.requests[i].ttft_s(), run.requests[i].tpot_s())) ++met;
    }
    const double all = static_cast<double>(run.requests.size()) - static_cast<double>(run.first);
    return all > 0 ? met / all : 0;
}

}  // namespace roofline::core
