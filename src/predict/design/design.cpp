#include "predict/design/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <tuple>
#include <utility>

#include "predict/design/design_times.hpp"
#include "predict/plan/on_threads.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// All machines between two corners, which belong to it.
struct DesignBox {
    DesignPoint low;
    DesignPoint high;
};

class DesignSearch {
public:
    explicit DesignSearch(const DesignQuestion& question) : question_(question) {
        for (const DesignWorkload& workload : question.workloads) {
            times_.emplace_back();
            for (const DesignPlan& plan : workload.plans) times_.back().emplace_back(question, plan);
        }
    }

    Result<DesignAnswer> run() {
        ROOFLINE_CHECK(check());
        ROOFLINE_CHECK(add_costs());
        ROOFLINE_CHECK(probe());
        DesignAnswer answer;
        answer.machines = machines_;
        ROOFLINE_CHECK(add_base(answer));
        DesignPoint most;
        for (const FigureAxis& axis : question_.axes) most.push_back(axis.numbers.size() - 1);
        ROOFLINE_TRY(const auto best,
                     cheapest([this](const DesignPoint& at, bool exact) { return meets_all(at, exact); }));
        if (!best) return unmet(most);
        ROOFLINE_TRY(answer.best, machine_at(*best));
        ROOFLINE_CHECK(add_elasticities(answer));
        for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
            answer.alone.emplace_back();
            if (!question_.workloads[i].target_s) continue;
            ROOFLINE_TRY(const auto alone,
                         cheapest([this, i](const DesignPoint& at, bool exact) { return meets(at, i, exact); }));
            if (!alone) continue;
            ROOFLINE_TRY(answer.alone.back(), machine_at(*alone));
        }
        ROOFLINE_CHECK(add_front(most, answer));
        for (std::size_t i = 0; i < times_.size(); ++i) {
            for (const DesignTimes& each : times_[i]) {
                answer.predicted += each.predicted();
                if (each.contradiction().empty()) continue;
                answer.notes.push_back(fmt::format(
                    "the time of {} does not fall with every figure: it contradicts its neighbours at {}; a cheaper "
                    "machine may have been missed",
                    question_.workloads[i].name, each.contradiction()));
            }
        }
        return answer;
    }

private:
    /// Whether a machine meets what is asked; without `exact` only from what is known: empty if that does not tell.
    using Meets = std::function<Result<std::optional<bool>>(const DesignPoint& at, bool exact)>;

    Status check() const {
        if (question_.axes.empty()) {
            return fail("no_figure", "no figure is varied", "for example --vary 'hbm.bandwidth=2..8TB/s'");
        }
        if (question_.workloads.empty()) {
            return fail("no_workload", "there is no workload to design for", "add a [[workload]] to the file of --for");
        }
        double machines = 1;
        for (const FigureAxis& axis : question_.axes) {
            machines *= static_cast<double>(axis.numbers.size());
            const bool falls = axis.path.ends_with(".bandwidth") || axis.path.ends_with(".capacity") ||
                               axis.path.starts_with("matmul.") || axis.path.starts_with("vector.");
            if (!falls) {
                return fail("bad_vary", fmt::format("{} cannot be varied: time need not fall with it", axis.path),
                            "vary rates, bandwidths and capacities, and --set the rest");
            }
            if (!std::ranges::is_sorted(axis.numbers)) {
                return fail("bad_vary", fmt::format("the values of {} do not rise", axis.path), "give them in order");
            }
        }
        if (machines > most_machines) {
            return fail(
                "bad_vary",
                fmt::format("the space has {:.3g} machines, and at most {:.0e} are searched", machines, most_machines),
                "use fewer --steps or larger increments");
        }
        return {};
    }

    // Costs of each axis's values, and of all that is not varied.
    Status add_costs() {
        constant_usd_ = question_.cost.base;
        for (const FigureAxis& axis : question_.axes) {
            machines_ *= static_cast<double>(axis.numbers.size());
            const CostTerm* const term = question_.cost.term(axis.path);
            if (term == nullptr) {
                return fail("no_cost",
                            fmt::format("{} is varied, and {} has no cost for it", axis.path, question_.cost.name),
                            fmt::format("add a [[term]] with figure = \"{}\"", axis.path));
            }
            std::vector<double> usd;
            for (const double number : axis.numbers) {
                ROOFLINE_TRY(usd.emplace_back(), term->cost(question_.base, number));
            }
            usd_.push_back(std::move(usd));
        }
        for (const CostTerm& term : question_.cost.terms) {
            if (std::ranges::any_of(question_.axes, [&](const FigureAxis& axis) { return axis.path == term.path; }))
                continue;
            ROOFLINE_TRY(const auto now, changed_figure(question_.base, term.path + "=*1"));
            ROOFLINE_TRY(const double usd, term.cost(question_.base, now.number));
            constant_usd_ += usd;
        }
        return {};
    }

    [[nodiscard]] double usd_of(const DesignPoint& at) const {
        double usd = constant_usd_;
        for (std::size_t i = 0; i < at.size(); ++i) usd += usd_[i][at[i]];
        return usd;
    }

    Status probe() {
        std::vector<DesignTimes*> all;
        for (auto& plans : times_) {
            for (DesignTimes& each : plans) all.push_back(&each);
        }
        std::vector<Status> done(all.size());
        on_threads(all.size(), question_.threads, std::make_shared<Calibrations>(std::vector<Calibration>{}),
                   [&](std::size_t i, const auto&) { done[i] = all[i]->probe(); });
        for (std::size_t i = 0; i < all.size(); ++i) ROOFLINE_CHECK(done[i]);
        return {};
    }

    // The time of a workload, by its fastest plan.
    Result<double> seconds(const DesignPoint& at, std::size_t workload) {
        double least = never_s;
        for (DesignTimes& each : times_[workload]) {
            if (each.at_least(at) >= least) continue;
            ROOFLINE_TRY(const double here, each.seconds(at));
            least = std::min(least, here);
        }
        return least;
    }

    [[nodiscard]] double at_least(const DesignPoint& at, std::size_t workload) const {
        double least = never_s;
        for (const DesignTimes& each : times_[workload]) least = std::min(least, each.at_least(at));
        return least;
    }

    [[nodiscard]] double at_most(const DesignPoint& at, std::size_t workload) const {
        double most = never_s;
        for (const DesignTimes& each : times_[workload]) most = std::min(most, each.at_most(at));
        return most;
    }

    // A workload without a target must fit.
    Result<std::optional<bool>> meets(const DesignPoint& at, std::size_t workload, bool exact) {
        const double target = question_.workloads[workload].target_s.value_or(std::numeric_limits<double>::max());
        if (at_least(at, workload) > target) return std::optional(false);
        if (at_most(at, workload) <= target) return std::optional(true);
        if (!exact) return std::optional<bool>();
        ROOFLINE_TRY(const double here, seconds(at, workload));
        return std::optional(here <= target);
    }

    Result<std::optional<bool>> meets_all(const DesignPoint& at, bool exact) {
        for (const bool predicts : {false, true}) {
            if (predicts && !exact) break;
            bool all = true;
            for (std::size_t i = 0; i < times_.size(); ++i) {
                ROOFLINE_TRY(const auto one, meets(at, i, predicts));
                if (one && !*one) return std::optional(false);
                all = all && one;
            }
            if (all) return std::optional(true);
        }
        return std::optional<bool>();
    }

    Result<std::optional<bool>> meets_weighted(const DesignPoint& at, double limit, bool exact) {
        double least = 0;
        double most = 0;
        for (std::size_t i = 0; i < times_.size(); ++i) {
            least += question_.workloads[i].weight * at_least(at, i);
            most += question_.workloads[i].weight * at_most(at, i);
        }
        if (least > limit) return std::optional(false);
        if (most <= limit) return std::optional(true);
        if (!exact) return std::optional<bool>();
        // One workload after another, because the first may tell.
        double sum = 0;
        for (std::size_t i = 0; i < times_.size(); ++i) {
            ROOFLINE_TRY(const double here, seconds(at, i));
            sum += question_.workloads[i].weight * here;
            double rest = 0;
            for (std::size_t j = i + 1; j < times_.size(); ++j) rest += question_.workloads[j].weight * at_least(at, j);
            if (sum + rest > limit) return std::optional(false);
        }
        return std::optional(true);
    }

    // The cheapest machine that meets what is asked; of equally cheap ones that with the least first figure.
    Result<std::optional<DesignPoint>> cheapest(const Meets& meets) {
        using Entry = std::tuple<double, DesignPoint, DesignPoint>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> boxes;
        const auto add = [&](const DesignBox& box) { boxes.emplace(usd_of(box.low), box.low, box.high); };
        DesignBox whole;
        for (const FigureAxis& axis : question_.axes) {
            whole.low.push_back(0);
            whole.high.push_back(axis.numbers.size() - 1);
        }
        add(whole);
        while (!boxes.empty()) {
            const auto [usd, low, high] = boxes.top();
            boxes.pop();
            // What is known may discard the whole box, or only tell that it must be divided.
            ROOFLINE_TRY(const auto any, meets(high, true));
            if (!any || !*any) continue;
            if (low == high) return std::optional(low);
            ROOFLINE_TRY(const auto here, meets(low, false));
            if (here && *here) return std::optional(low);
            const std::size_t axis = longest(low, high);
            const std::size_t middle = (low[axis] + high[axis]) / 2;
            DesignBox first{low, high};
            first.high[axis] = middle;
            DesignBox second{low, high};
            second.low[axis] = middle + 1;
            add(first);
            add(second);
        }
        return std::optional<DesignPoint>();
    }

    // The side along which costs differ most.
    [[nodiscard]] std::size_t longest(const DesignPoint& low, const DesignPoint& high) const {
        std::size_t longest = 0;
        double most = -1;
        for (std::size_t i = 0; i < low.size(); ++i) {
            const double differs = usd_[i][high[i]] - usd_[i][low[i]];
            if (low[i] == high[i] || differs <= most) continue;
            most = differs;
            longest = i;
        }
        return longest;
    }

    [[nodiscard]] std::vector<std::string> sets_of(const std::vector<double>& numbers) const {
        std::vector<std::string> sets;
        for (std::size_t i = 0; i < numbers.size(); ++i) sets.push_back(question_.axes[i].assignment(numbers[i]));
        return sets;
    }

    [[nodiscard]] std::vector<double> numbers_of(const DesignPoint& at) const {
        std::vector<double> numbers;
        for (std::size_t i = 0; i < at.size(); ++i) numbers.push_back(question_.axes[i].numbers[at[i]]);
        return numbers;
    }

    // The ordinary prediction of a workload by its fastest plan that fits; its note says where none does.
    Result<DesignTime> predicted(const DesignWorkload& workload, const std::vector<std::string>& sets) {
        std::optional<DesignTime> best;
        for (const DesignPlan& plan : workload.plans) {
            auto answer = plan.answer(sets);
            if (!answer && answer.error().code != "no_fit") return fail(answer.error());
            DesignTime here{answer ? *answer : SweptAnswer{}, plan.name, {}};
            if (!answer) here.answer.note = "does not fit";
            const bool better = !best || (here.answer.note.empty() && (!best->answer.note.empty() ||
                                                                       here.answer.seconds() < best->answer.seconds()));
            if (better) best = std::move(here);
        }
        return std::move(*best);
    }

    Result<DesignMachine> machine_with(const std::vector<std::string>& sets) {
        DesignMachine machine;
        for (const DesignWorkload& workload : question_.workloads) {
            ROOFLINE_TRY(auto time, predicted(workload, sets));
            machine.weighted_s += workload.weight * (time.answer.note.empty() ? time.answer.seconds() : never_s);
            machine.times.push_back(std::move(time));
        }
        return machine;
    }

    Result<DesignMachine> machine_at(const DesignPoint& at) {
        ROOFLINE_TRY(auto machine, machine_with(sets_of(numbers_of(at))));
        machine.at = at;
        for (std::size_t i = 0; i < at.size(); ++i) {
            machine.texts.push_back(question_.axes[i].text(question_.base, question_.axes[i].numbers[at[i]]));
        }
        machine.usd = usd_of(at);
        return machine;
    }

    Status add_base(DesignAnswer& answer) {
        ROOFLINE_TRY(answer.base, machine_with({}));
        double usd = constant_usd_;
        bool covered = true;
        for (const FigureAxis& axis : question_.axes) {
            const auto now = changed_figure(question_.base, axis.path + "=*1");
            answer.base.texts.push_back(now ? now->after : "none");
            const auto cost =
                now ? question_.cost.term(axis.path)->cost(question_.base, now->number) : Result<double>(0);
            covered = covered && now && cost;
            usd += cost.value_or(0);
        }
        if (covered) answer.base_usd = usd;
        return {};
    }

    Status add_elasticities(DesignAnswer& answer) {
        constexpr double step = 1.05;
        const std::vector<double> numbers = numbers_of(answer.best.at);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const CostTerm& term = *question_.cost.term(question_.axes[i].path);
            // At the end of its range the slope below it.
            const auto more = term.cost(question_.base, 1.01 * numbers[i]);
            const auto less = term.cost(question_.base, more ? numbers[i] : numbers[i] / 1.01);
            ROOFLINE_TRY(const double now, term.cost(question_.base, numbers[i]));
            answer.usd_of_percent.push_back(more ? *more - now : now - less.value_or(now));
            std::vector<double> better = numbers;
            better[i] *= step;
            for (std::size_t j = 0; j < question_.workloads.size(); ++j) {
                DesignTime& time = answer.best.times[j];
                ROOFLINE_TRY(const auto with, predicted(question_.workloads[j], sets_of(better)));
                const double elasticity = std::log(with.answer.seconds() / time.answer.seconds()) / std::log(step);
                time.elasticities.push_back(std::abs(elasticity) < 5e-4 ? 0 : elasticity);
            }
        }
        return {};
    }

    Status add_front(const DesignPoint& most, DesignAnswer& answer) {
        const auto fits = [this](const DesignPoint& at, bool exact) -> Result<std::optional<bool>> {
            return meets_weighted(at, std::numeric_limits<double>::max(), exact);
        };
        ROOFLINE_TRY(const auto cheapest_that_fits, cheapest(fits));
        if (!cheapest_that_fits || question_.front == 0) return {};
        ROOFLINE_TRY(auto first, machine_at(*cheapest_that_fits));
        ROOFLINE_TRY(const auto last, machine_at(most));
        const double slowest = first.weighted_s;
        const double fastest = last.weighted_s;
        answer.front.push_back(std::move(first));
        const auto levels = static_cast<double>(question_.front);
        for (std::size_t i = 1; i < question_.front; ++i) {
            const double level = i + 1 == question_.front
                                     ? fastest
                                     : slowest * std::pow(fastest / slowest, static_cast<double>(i) / (levels - 1));
            constexpr double rounding = 1 + 1e-12;
            if (level * rounding >= answer.front.back().weighted_s) continue;  // the one before is as fast
            ROOFLINE_TRY(const auto found, cheapest([&](const DesignPoint& at, bool exact) {
                             return meets_weighted(at, level * rounding, exact);
                         }));
            if (!found) continue;
            ROOFLINE_TRY(auto machine, machine_at(*found));
            answer.front.push_back(std::move(machine));
        }
        return {};
    }

    // Says what the best machine of the space reaches, and how much more of which figure would do.
    tl::unexpected<Error> unmet(const DesignPoint& most) {
        const auto best = machine_at(most);
        if (!best) return fail(best.error());
        std::string reaches;
        for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
            const DesignWorkload& workload = question_.workloads[i];
            const SweptAnswer& answer = best->times[i].answer;
            const bool met = answer.note.empty() && answer.seconds() <= workload.target_s.value_or(never_s);
            if (met) continue;
            reaches +=
                fmt::format("{}{} {}", reaches.empty() ? "" : ", ", workload.name,
                            answer.note.empty() ? fmt::format("takes {} of {}", to_text(Seconds{answer.seconds()}),
                                                              to_text(Seconds{*workload.target_s}))
                                                : answer.note);
        }
        return fail("no_fit",
                    fmt::format("no machine of the space meets all targets: with the best of every figure {}", reaches),
                    remedy(numbers_of(most)));
    }

    // One figure alone, up to 16 times as much.
    std::string remedy(const std::vector<double>& numbers) {
        constexpr double most = 16;
        const auto does = [&](std::vector<double> at, std::size_t axis, double factor) {
            at[axis] *= factor;
            const auto machine = machine_with(sets_of(at));
            if (!machine) return false;
            for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
                const SweptAnswer& answer = machine->times[i].answer;
                if (!answer.note.empty() || answer.seconds() > question_.workloads[i].target_s.value_or(never_s))
                    return false;
            }
            return true;
        };
        std::string text;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (!does(numbers, i, most)) continue;
            double fails = 1;
            double meets = most;
            while (meets > 1.01 * fails) {
                const double middle = std::sqrt(fails * meets);
                (does(numbers, i, middle) ? meets : fails) = middle;
            }
            text += fmt::format("{}{} of {}", text.empty() ? "it would take " : ", or ", question_.axes[i].path,
                                question_.axes[i].text(question_.base, numbers[i] * meets));
        }
        if (!text.empty()) return text;
        return fmt::format("no figure alone would do with {:.0f} times as much; relax the targets, or use more chips",
                           most);
    }

    const DesignQuestion& question_;
    std::deque<std::deque<DesignTimes>> times_;  ///< by workload and plan
    std::vector<std::vector<double>> usd_;
    double constant_usd_ = 0;
    double machines_ = 1;
};

}  // namespace

Result<DesignAnswer> predict_design(const DesignQuestion& question) { return DesignSearch(question).run(); }

}  // namespace roofline::core
