#include "predict/serve_plan/serving_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "machine/machine.hpp"
#include "predict/plan/on_threads.hpp"
#include "predict/plan/plan_objective.hpp"
#include "predict/serve_plan/serving_search.hpp"

namespace roofline::core {

namespace {

constexpr double step_of_figures = 1.05;
constexpr double farthest_flip = 4;  // a factor
constexpr std::size_t most_others = 2;
// Of two set-ups that differ by less the order is chance, and so is where it changes.
constexpr double near_tie = 1.02;

/// What one figure changes.
struct OfServedFigure {
    std::optional<double> elasticity{};  ///< empty: the machine has no such figure
    std::vector<ServingFlip> flips{};
};

class FigureOfServers {
public:
    FigureOfServers(const ServingSearch& search, const ServeQuestion& job, const ServingPlan& best,
                    std::span<const ServingPlan> others, const std::shared_ptr<Calibrations>& calibrations)
        : search_(search), job_(job), best_(best), others_(others), calibrations_(calibrations) {}

    OfServedFigure run(const std::string& path) const {
        OfServedFigure result;
        const auto more = changed(best_, path, step_of_figures);
        if (!more) return result;
        result.elasticity = elasticity_of(*more, step_of_figures);
        const double slope = slope_of(best_, *more);
        std::size_t looked_at = 0;
        for (const ServingPlan& other : others_) {
            if (per_token(search_, other) < near_tie * per_token(search_, best_)) continue;
            if (++looked_at > most_others) break;
            if (auto flip = flip_of(other, path, slope)) result.flips.push_back(std::move(*flip));
        }
        return result;
    }

    // Of tokens per prompt or per output. Lengths that are listed or drawn at random are not changed.
    std::optional<double> of_length(std::int64_t ServeQuestion::* tokens,
                                    LengthDistribution RequestLengths::* lengths) const {
        ServeQuestion question = job_;
        const auto before = static_cast<double>(question.*tokens);
        question.*tokens = std::max<std::int64_t>(question.*tokens + 1, std::llround(before * step_of_figures));
        const double factor = static_cast<double>(question.*tokens) / before;
        if (question.load) {
            RequestLengths& drawn = question.load->lengths;
            if (!drawn.listed.empty() || (drawn.*lengths).kind != LengthDistribution::Kind::even) return std::nullopt;
            (drawn.*lengths).mean *= factor;
        }
        const auto plan = priced_set_up(question, best_.set_up, calibrations_);
        return plan && plan->fits ? std::optional(elasticity_of(*plan, factor)) : std::nullopt;
    }

    // Of requests in flight.
    std::optional<double> of_concurrency() const {
        ServingSetUp more = best_.set_up;
        const auto before = static_cast<double>(more.batch);
        const std::int64_t unit = prompts_at_once(more.plan) * more.plan.pipeline;
        const auto units = static_cast<double>(unit);
        more.batch += unit * std::max<std::int64_t>(1, std::llround(before * (step_of_figures - 1) / units));
        const auto plan = priced_set_up(job_, more, calibrations_);
        if (!plan || !plan->fits) return std::nullopt;
        return elasticity_of(*plan, static_cast<double>(more.batch) / before);
    }

private:
    [[nodiscard]] double elasticity_of(const ServingPlan& changed, double factor) const {
        return std::log(changed.rates.tokens_per_s / best_.rates.tokens_per_s) / std::log(factor);
    }

    [[nodiscard]] double slope_of(const ServingPlan& before, const ServingPlan& after) const {
        return std::log(per_token(search_, after) / per_token(search_, before)) / std::log(step_of_figures);
    }

    // The set-up where a figure is larger by this factor. Chips for prefill of another machine stay as they are.
    [[nodiscard]] std::optional<ServingPlan> changed(const ServingPlan& plan, const std::string& path,
                                                     double factor) const {
        ServingSetUp set_up = plan.set_up;
        const std::string change = fmt::format("{}=*{}", path, factor);
        if (!set_figure(set_up.slice.machine, change)) return std::nullopt;
        if (set_up.prefill && !search_.prefill && !set_figure(set_up.prefill->slice.machine, change)) {
            return std::nullopt;
        }
        auto priced = priced_set_up(job_, set_up, calibrations_);
        if (!priced || !(priced->rates.tokens_per_s > 0)) return std::nullopt;
        return std::move(*priced);
    }

    // How much more of its objective the other one needs, as a logarithm.
    [[nodiscard]] std::optional<double> behind(const ServingPlan& other, const std::string& path, double factor) const {
        const auto best = changed(best_, path, factor);
        const auto here = changed(other, path, factor);
        if (!best || !here) return std::nullopt;
        return std::log(per_token(search_, *here) / per_token(search_, *best));
    }

    [[nodiscard]] std::optional<ServingFlip> flip_of(const ServingPlan& other, const std::string& path,
                                                     double slope_of_best) const {
        const auto more = changed(other, path, step_of_figures);
        if (!more) return std::nullopt;
        const double slope = slope_of(other, *more) - slope_of_best;
        const double now = std::log(per_token(search_, other) / per_token(search_, best_));
        constexpr double least_slope = 1e-3;
        if (!(now > 0) || std::abs(slope) < least_slope) return std::nullopt;
        // The secant from here to where both would be as good, then from there. Simulated rates have small steps.
        double at = -now / slope;
        double before = 0;
        double behind_before = now;
        constexpr int most_steps = 5;
        constexpr double near = 1e-3;
        for (int i = 0; i < most_steps; ++i) {
            if (!(std::abs(at) < std::log(farthest_flip))) return std::nullopt;
            const auto here = behind(other, path, std::exp(at));
            if (!here) return std::nullopt;
            if (std::abs(*here) < near) {
                Machine machine = best_.set_up.slice.machine;
                if (!set_figure(machine, fmt::format("{}=*{}", path, std::exp(at)))) return std::nullopt;
                return ServingFlip{path, std::exp(at), machine.changes.back().after, other};
            }
            const double slope_here = (*here - behind_before) / (at - before);
            before = std::exchange(at, at - *here / slope_here);
            behind_before = *here;
        }
        return std::nullopt;
    }

    const ServingSearch& search_;
    const ServeQuestion& job_;
    const ServingPlan& best_;
    std::span<const ServingPlan> others_;
    const std::shared_ptr<Calibrations>& calibrations_;
};

}  // namespace

double per_token(const ServingSearch& search, const ServingPlan& plan) {
    if (search.objective == ServingObjective::cost) {
        return plan.usd_per_million.value_or(std::numeric_limits<double>::infinity());
    }
    return 1 / plan.tokens_per_s_per_chip();
}

double share_of_set_ups_in_order(double factor) {
    // by the mean logarithm of the ratio of expected tokens/s per chip in classes of it; below a tenth it is a coin
    static constexpr std::array<std::pair<double, double>, 6> measured{
        {{0, 0.5}, {0.05, 0.5}, {0.144, 0.632}, {0.301, 0.808}, {0.522, 0.944}, {2.06, 0.997}}};
    return share_in_order(factor, measured);
}

ServingChanges serving_changes(const ServingSearch& search, const ServeQuestion& job, const ServingPlan& best,
                               std::span<const ServingPlan> others, const std::shared_ptr<Calibrations>& calibrations) {
    std::vector<std::string> paths = changed_figures(search.job.slice, Dtype::bf16);
    for (const Dtype narrow : {Dtype::fp8, Dtype::nvfp4, Dtype::int8}) {
        paths.push_back(fmt::format("matmul.{}", name(narrow)));
    }
    const std::size_t figures = paths.size();
    for (const char* of_job : {"prompt", "output", "concurrency"}) paths.emplace_back(of_job);
    std::vector<OfServedFigure> results(paths.size());
    on_threads(paths.size(), search.threads, calibrations,
               [&](std::size_t i, const std::shared_ptr<Calibrations>& own) {
                   const FigureOfServers figure(search, job, best, others, own);
                   if (i < figures) results[i] = figure.run(paths[i]);
                   if (i == figures) {
                       results[i].elasticity = figure.of_length(&ServeQuestion::prompt, &RequestLengths::prompt);
                   }
                   if (i == figures + 1) {
                       results[i].elasticity = figure.of_length(&ServeQuestion::output, &RequestLengths::output);
                   }
                   if (i == figures + 2) results[i].elasticity = figure.of_concurrency();
               });
    ServingChanges all;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        OfServedFigure& of_figure = results[i];
        constexpr double least = 5e-3;
        if (of_figure.elasticity && std::abs(*of_figure.elasticity) >= least) {
            all.elasticities.push_back({paths[i], *of_figure.elasticity});
        }
        std::move(of_figure.flips.begin(), of_figure.flips.end(), std::back_inserter(all.flips));
    }
    all.elasticities =
        sorted_by(std::move(all.elasticities), [](const Elasticity& each) { return -std::abs(each.value); });
    all.flips = sorted_by(std::move(all.flips), [](const ServingFlip& each) {
        return std::pair(std::abs(std::log(each.factor)), each.path);
    });
    return all;
}

std::vector<BetterServing> better_beyond_targets(const ServingSearch& search, const ServingPlan& best,
                                                 std::span<const ServingPlan> all) {
    constexpr double least_gain = 0.01;
    constexpr std::size_t most = 3;
    struct Missing {
        const ServingPlan* plan;
        double beyond;
    };
    std::vector<Missing> missing;
    const auto needs = [&](const std::optional<double>& target, const TimeSpread& times) {
        const double value = figure_of(times, search.statistic);
        return target && value > *target ? std::optional(value) : std::nullopt;
    };
    for (const ServingPlan& each : all) {
        const auto ttft = needs(search.targets.ttft_s, each.rates.ttft);
        const auto tpot = needs(search.targets.tpot_s, each.rates.tpot);
        if (!ttft && !tpot) continue;
        missing.push_back(
            {&each, std::max(ttft ? *ttft / *search.targets.ttft_s : 1, tpot ? *tpot / *search.targets.tpot_s : 1)});
    }
    missing = sorted_by(std::move(missing), [](const Missing& each) { return each.beyond; });
    std::vector<BetterServing> better;
    double least = per_token(search, best);
    for (const Missing& each : missing) {
        const double value = per_token(search, *each.plan);
        if (value > (1 - least_gain) * least) continue;
        least = value;
        better.push_back({*each.plan, needs(search.targets.ttft_s, each.plan->rates.ttft),
                          needs(search.targets.tpot_s, each.plan->rates.tpot), 1 - value / per_token(search, best)});
        if (better.size() == most) break;
    }
    return better;
}

}  // namespace roofline::core
