#include "predict/compare/serving_frontier.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace roofline::core {

namespace {

/// The comparisons of one line of the table.
struct ServedLine {
    const Comparison* decode = nullptr;
    const Comparison* prefill = nullptr;
    const Comparison* throughput = nullptr;
};

std::optional<double> measured(const Comparison* row) {
    return row != nullptr ? std::optional(row->measured_s) : std::nullopt;
}

std::optional<double> expected(const Comparison* row) {
    return row != nullptr ? row->prediction.expected_s : std::nullopt;
}

std::optional<ServedRates> rates_of(const ServedLine& line, std::optional<double> (*seconds)(const Comparison*)) {
    const MeasuredLoad& load = *line.decode->load;
    const auto tpot_s = seconds(line.decode);
    if (!tpot_s || load.chips < 1) return std::nullopt;
    const auto chips = static_cast<double>(load.chips);
    if (line.throughput != nullptr) {
        const auto token_s = seconds(line.throughput);
        return token_s ? std::optional(ServedRates{1 / *tpot_s, 1 / *token_s / chips}) : std::nullopt;
    }
    const auto ttft_s = seconds(line.prefill);
    if (!ttft_s || !load.concurrency) return std::nullopt;
    const double latency_s = *ttft_s + (load.output - 1) * *tpot_s;
    return ServedRates{1 / *tpot_s, *load.concurrency * load.output / latency_s / chips};
}

/// Returns the points that no other one exceeds in both rates, by tokens/s per user, the fewest first.
std::vector<ServedRates> frontier_of(std::vector<ServedRates> points) {
    std::sort(points.begin(), points.end(), [](const ServedRates& a, const ServedRates& b) {
        return std::tie(a.user, a.chip) > std::tie(b.user, b.chip);
    });
    std::vector<ServedRates> frontier;
    for (const ServedRates& point : points) {
        if (frontier.empty() || point.chip > frontier.back().chip) frontier.push_back(point);
    }
    std::reverse(frontier.begin(), frontier.end());
    return frontier;
}

/// Returns the tokens/s per chip of a frontier at some tokens/s per user; none outside its range.
std::optional<double> chip_rate_at(const std::vector<ServedRates>& frontier, double user) {
    const auto above = std::lower_bound(frontier.begin(), frontier.end(), user,
                                        [](const ServedRates& point, double rate) { return point.user < rate; });
    if (above == frontier.end()) return std::nullopt;
    if (above->user == user) return above->chip;
    if (above == frontier.begin()) return std::nullopt;
    const ServedRates& below = *std::prev(above);
    // in logarithms, because rates span orders of magnitude
    const double share = std::log(user / below.user) / std::log(above->user / below.user);
    return below.chip * std::pow(above->chip / below.chip, share);
}

/// Adds the distances of one task's frontiers. `curves` are all of its curves.
void add_distances(const std::vector<const ServedCurve*>& curves, ServingFrontiers& frontiers,
                   std::vector<double>& distances) {
    std::vector<ServedRates> was;
    std::vector<ServedRates> would_be;
    for (const ServedCurve* curve : curves) {
        for (const ServedPoint& point : curve->points) {
            if (!point.expected) continue;
            was.push_back(point.measured);
            would_be.push_back(*point.expected);
        }
    }
    const std::vector<ServedRates> predicted = frontier_of(std::move(would_be));
    const std::size_t before = distances.size();
    for (const ServedRates& point : frontier_of(std::move(was))) {
        if (const auto chip = chip_rate_at(predicted, point.user)) {
            distances.push_back(std::abs(*chip - point.chip) / point.chip);
        } else {
            ++frontiers.outside;
        }
    }
    if (distances.size() > before) ++frontiers.tasks;
}

}  // namespace

ServingFrontiers serving_frontiers(const std::vector<Comparison>& rows) {
    std::map<std::tuple<ServedTask, std::string, std::string, std::string>, std::vector<ServedPoint>> found;
    for (std::size_t i = 0; i < rows.size();) {
        const Comparison& first = rows[i];
        ServedLine line;
        for (; i < rows.size() && rows[i].line == first.line; ++i) {
            if (rows[i].kind != MeasuredKind::serving || !rows[i].load) continue;
            if (rows[i].operation == "decode") line.decode = &rows[i];
            if (rows[i].operation == "prefill") line.prefill = &rows[i];
            if (rows[i].operation == "throughput") line.throughput = &rows[i];
        }
        if (line.decode == nullptr) continue;
        const auto was = rates_of(line, measured);
        if (!was) continue;
        const MeasuredLoad& load = *first.load;
        const ServedTask task{first.source, first.model, first.system, first.dtype, load.prompt, load.output};
        found[{task, first.slice, first.strategy, first.software}].push_back(
            {first.line, load.concurrency, *was, rates_of(line, expected)});
    }
    ServingFrontiers frontiers;
    std::vector<double> errors;
    for (auto& [key, points] : found) {
        std::sort(points.begin(), points.end(), [](const ServedPoint& one, const ServedPoint& other) {
            return std::pair(one.measured.user, one.line) < std::pair(other.measured.user, other.line);
        });
        for (const ServedPoint& point : points) {
            if (!point.expected) continue;
            errors.push_back(std::abs(point.expected->chip - point.measured.chip) / point.measured.chip);
        }
        const auto& [task, slice, strategy, software] = key;
        frontiers.curves.push_back({task, slice, strategy, software, std::move(points)});
    }
    frontiers.per_chip = error_stats(std::move(errors));
    std::map<ServedTask, std::vector<const ServedCurve*>> by_task;
    for (const ServedCurve& curve : frontiers.curves) by_task[curve.task].push_back(&curve);
    std::vector<double> distances;
    for (const auto& [task, curves] : by_task) add_distances(curves, frontiers, distances);
    frontiers.distance = error_stats(std::move(distances));
    return frontiers;
}

}  // namespace roofline::core
