#include "predict/plan/plan_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "machine/machine.hpp"
#include "plan/pipeline.hpp"
#include "predict/plan/on_threads.hpp"

namespace roofline::core {

namespace {

constexpr double step_of_figures = 1.05;
constexpr double farthest_flip = 4;  // a factor
constexpr std::size_t most_others = 4;
// Of two plans whose times differ by less the order is chance, see share_in_order(), and so is where it changes.
constexpr double near_tie = 1.02;

// What one figure changes.
struct OfFigure {
    std::optional<double> elasticity;  ///< empty: the machine has no such figure
    std::vector<Flip> flips;
};

class FigureChanges {
public:
    FigureChanges(const TrainQuestion& question, const TrainAnswer& best, std::span<const TrainAnswer* const> others,
                  const std::shared_ptr<Calibrations>& calibrations)
        : question_(question), best_(best), others_(others), calibrations_(calibrations) {}

    Result<OfFigure> run(const std::string& path) {
        OfFigure result;
        ROOFLINE_TRY(const auto elasticity, elasticity_of(best_, path));
        if (!elasticity) return result;
        result.elasticity = elasticity;
        std::size_t looked_at = 0;
        for (const TrainAnswer* other : others_) {
            if (step_seconds(*other) < near_tie * step_seconds(best_)) continue;
            if (++looked_at > most_others) break;
            ROOFLINE_TRY(auto flip, flip_of(*other, path, *elasticity));
            if (flip) result.flips.push_back(std::move(*flip));
        }
        return result;
    }

    Result<double> elasticity_of_batch() {
        ROOFLINE_TRY(const double seconds, seconds_of(question_.model.sequence, 2, 2));
        return std::log2(seconds / step_seconds(best_));
    }

    // Of the same tokens in sequences twice as long, or if the context does not allow that, half as long. The time of a
    // token is taken to be a constant and a part that is proportional to the length, as attention is. Empty where the
    // plan does not divide them.
    std::optional<double> elasticity_of_sequence() {
        const Model& model = question_.model;
        const bool longer = model.context == 0 || 2 * model.sequence <= model.context;
        if (!longer && model.sequence % 2 != 0) return std::nullopt;
        // Micro-batches have as many tokens in both; where a sequence twice as long is too long for one, twice as many.
        const auto pair_of = [&](std::int64_t microbatches) {
            return std::pair(seconds_of(2 * model.sequence, 2, microbatches),
                             seconds_of(model.sequence, 2, microbatches));
        };
        auto [other, same] =
            longer ? pair_of(2) : std::pair(seconds_of(model.sequence / 2, 1, 1), Result<double>(step_seconds(best_)));
        if (!other && longer) std::tie(other, same) = pair_of(1);
        if (!other || !same) return std::nullopt;
        return rounded(longer ? *other / *same - 1 : 2 * (1 - *other / *same));
    }

    // A faster plan is the answer once it fits.
    [[nodiscard]] std::optional<double> elasticity_of_capacity(std::span<const FasterPlan> faster) const {
        const auto& capacity = best_.step->memory.capacity;
        if (!capacity) return std::nullopt;
        double seconds = step_seconds(best_);
        for (const FasterPlan& each : faster) {
            if (each.bytes <= (step_of_figures - 1) * *capacity) seconds = std::min(seconds, each.seconds);
        }
        return std::log(seconds / step_seconds(best_)) / std::log(step_of_figures);
    }

private:
    [[nodiscard]] Result<TrainQuestion> with_plan(const TrainAnswer& answer) const {
        TrainQuestion one = question_;
        one.plan_given = true;
        one.setup.plan = answer.plan;
        one.setup.options = answer.options;
        one.setup.batch = *answer.batch;
        if (!answer.schedule.empty()) {
            ROOFLINE_TRY(one.setup.schedule, parse_schedule(answer.schedule));
        }
        return one;
    }

    // The time of the best plan with sequences of another length, and so many times the tokens and micro-batches.
    [[nodiscard]] Result<double> seconds_of(std::int64_t sequence, std::int64_t tokens,
                                            std::int64_t microbatches) const {
        ROOFLINE_TRY(auto changed, with_plan(best_));
        if (sequence != changed.model.sequence) changed.model = with_sequence(std::move(changed.model), sequence);
        changed.setup.batch.sequence = sequence;
        changed.setup.batch.tokens *= tokens;
        changed.setup.batch.microbatches *= microbatches;
        ROOFLINE_TRY(const auto answer, predict_training(std::move(changed), calibrations_));
        return step_seconds(answer);
    }

    static double rounded(double elasticity) { return std::abs(elasticity) < 5e-4 ? 0 : elasticity; }

    // The time of a plan where a figure of the machine is larger; empty if it has no such figure.
    Result<std::optional<double>> seconds_at(const TrainAnswer& plan, const std::string& path, double factor) {
        ROOFLINE_TRY(auto changed, with_plan(plan));
        Machine machine = question_.slice.machine;
        if (!set_figure(machine, fmt::format("{}=*{}", path, factor))) return std::optional<double>();
        changed.slice.machine = std::move(machine);
        ROOFLINE_TRY(const auto answer, predict_training(std::move(changed), calibrations_));
        return std::optional(step_seconds(answer));
    }

    Result<std::optional<double>> elasticity_of(const TrainAnswer& plan, const std::string& path) {
        ROOFLINE_TRY(const auto seconds, seconds_at(plan, path, step_of_figures));
        if (!seconds) return std::optional<double>();
        return std::optional(rounded(std::log(*seconds / step_seconds(plan)) / std::log(step_of_figures)));
    }

    // How much longer the other plan takes, as a logarithm.
    Result<double> behind(const TrainAnswer& other, const std::string& path, double factor) {
        ROOFLINE_TRY(const auto best_s, seconds_at(best_, path, factor));
        ROOFLINE_TRY(const auto other_s, seconds_at(other, path, factor));
        return std::log(*other_s / *best_s);
    }

    Result<std::optional<Flip>> flip_of(const TrainAnswer& other, const std::string& path, double elasticity) {
        const std::optional<Flip> none;
        ROOFLINE_TRY(const auto of_other, elasticity_of(other, path));
        const double slope = of_other.value_or(0) - elasticity;
        const double now = std::log(step_seconds(other) / step_seconds(best_));
        constexpr double least_slope = 1e-3;
        if (!(now > 0) || std::abs(slope) < least_slope) return none;
        // The secant from here to where both would be as fast, then from there.
        double at = -now / slope;
        double before = 0;
        double behind_before = now;
        constexpr int most_steps = 5;
        constexpr double near = 2e-4;
        for (int i = 0; i < most_steps; ++i) {
            if (!(std::abs(at) < std::log(farthest_flip))) return none;
            ROOFLINE_TRY(const double behind_here, behind(other, path, std::exp(at)));
            if (std::abs(behind_here) < near) {
                Machine machine = question_.slice.machine;
                if (!set_figure(machine, fmt::format("{}=*{}", path, std::exp(at)))) return none;
                return std::optional(Flip{path, std::exp(at), machine.changes.back().after, other});
            }
            const double slope_here = (behind_here - behind_before) / (at - before);
            before = std::exchange(at, at - behind_here / slope_here);
            behind_before = behind_here;
        }
        return none;
    }

    const TrainQuestion& question_;
    const TrainAnswer& best_;
    std::span<const TrainAnswer* const> others_;
    const std::shared_ptr<Calibrations>& calibrations_;
};

}  // namespace

std::vector<std::string> changed_figures(const Slice& slice, Dtype dtype) {
    std::vector<std::string> paths{fmt::format("matmul.{}", name(dtype)), "hbm.bandwidth"};
    for (const SliceTier& tier : slice.tiers) {
        const NetworkTier& network = slice.network(tier);
        paths.push_back(network.id + ".bandwidth");
        paths.push_back(network.id + ".latency");
    }
    return paths;
}

Result<PlanChanges> plan_changes(const TrainQuestion& question, const TrainAnswer& best,
                                 std::span<const TrainAnswer* const> others, std::span<const FasterPlan> faster,
                                 const std::shared_ptr<Calibrations>& calibrations, std::size_t threads) {
    const std::vector<std::string> paths = changed_figures(question.slice, best.products.value_or(best.model.dtype));
    std::vector<Result<OfFigure>> results(paths.size(), OfFigure());
    on_threads(paths.size(), threads, calibrations, [&](std::size_t i, const std::shared_ptr<Calibrations>& own) {
        results[i] = FigureChanges(question, best, others, own).run(paths[i]);
    });
    PlanChanges all;
    FigureChanges of_job(question, best, others, calibrations);
    ROOFLINE_TRY(const double of_batch, of_job.elasticity_of_batch());
    all.elasticities.push_back({"batch-tokens", of_batch});
    if (const auto of_sequence = of_job.elasticity_of_sequence()) all.elasticities.push_back({"seq", *of_sequence});
    if (const auto of_capacity = of_job.elasticity_of_capacity(faster)) {
        all.elasticities.push_back({"hbm.capacity", *of_capacity});
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
        ROOFLINE_TRY(auto of_figure, std::move(results[i]));
        if (of_figure.elasticity) all.elasticities.push_back({paths[i], *of_figure.elasticity});
        std::move(of_figure.flips.begin(), of_figure.flips.end(), std::back_inserter(all.flips));
    }
    std::sort(all.elasticities.begin(), all.elasticities.end(), [](const auto& a, const auto& b) {
        return std::pair(-std::abs(a.value), a.path) < std::pair(-std::abs(b.value), b.path);
    });
    std::sort(all.flips.begin(), all.flips.end(), [](const Flip& a, const Flip& b) {
        return std::tuple(std::abs(std::log(a.factor)), a.path, plan_text(a.other.plan)) <
               std::tuple(std::abs(std::log(b.factor)), b.path, plan_text(b.other.plan));
    });
    return all;
}

}  // namespace roofline::core
