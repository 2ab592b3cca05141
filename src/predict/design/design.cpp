#include "predict/design/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "predict/design/design_space.hpp"
#include "predict/plan/on_threads.hpp"

namespace roofline::core {

namespace {

constexpr double most_factor = 16;  // of a figure that would meet a target

class DesignSearch {
public:
    explicit DesignSearch(const DesignQuestion& question) : question_(question), space_(question) {}

    Result<DesignAnswer> run() {
        ROOFLINE_CHECK(check());
        ROOFLINE_CHECK(space_.open());
        while (true) {
            ROOFLINE_TRY(auto answer, search());
            ROOFLINE_TRY(const bool again, settle(answer));
            if (!again) return answer;
        }
    }

private:
    Result<DesignAnswer> search() {
        DesignAnswer answer;
        answer.machines = space_.machines();
        ROOFLINE_CHECK(add_base(answer));
        DesignLimits all;
        for (const DesignWorkload& workload : question_.workloads) {
            all.each.emplace_back(workload.target_s.value_or(any_time_s));
        }
        ROOFLINE_TRY(const auto best, space_.cheapest(all));
        answer.met = best.has_value();
        if (best) {
            ROOFLINE_TRY(answer.best, machine_at(*best));
        } else {
            ROOFLINE_CHECK(add_nearest(answer));
        }
        ROOFLINE_CHECK(add_elasticities(answer));
        for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
            answer.alone.emplace_back();
            if (!question_.workloads[i].target_s) continue;
            DesignLimits one;
            one.each.resize(question_.workloads.size());
            one.each[i] = all.each[i];
            ROOFLINE_TRY(const auto alone, space_.cheapest(one));
            if (!alone) continue;
            ROOFLINE_TRY(answer.alone.back(), machine_at(*alone));
        }
        ROOFLINE_CHECK(add_front(answer));
        ROOFLINE_CHECK(space_.look_around(answer.best.at));
        return answer;
    }

    // Returns whether the space is to be searched again, because more is known of times that do not fall.
    Result<bool> settle(DesignAnswer& answer) {
        bool again = false;
        for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
            for (DesignTimes& each : space_.times()[i]) {
                if (each.contradiction().empty()) continue;
                const std::string& name = question_.workloads[i].name;
                if (each.tabulated()) {
                    answer.notes.push_back(
                        fmt::format("the time of {} does not fall with every figure (it rises to that at {}): it was "
                                    "predicted for each of the {:.0f} machines",
                                    name, each.contradiction(), answer.machines));
                } else if (answer.machines <= most_tabulated) {
                    ROOFLINE_CHECK(each.tabulate());
                    again = true;
                } else if (answer.proven) {
                    answer.proven = false;
                    answer.unproven = fmt::format(
                        "the time of {} does not fall with every figure (it contradicts its neighbours at {}), and "
                        "more than {:.0f} machines are not all predicted: a cheaper machine may have been missed",
                        name, each.contradiction(), most_tabulated);
                }
            }
        }
        for (const auto& plans : space_.times()) {
            for (const DesignTimes& each : plans) answer.predicted += each.predicted();
        }
        return again;
    }

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
    Result<DesignTime> predicted(const DesignWorkload& workload, const std::vector<std::string>& sets) const {
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

    Result<DesignMachine> machine_with(const std::vector<std::string>& sets) const {
        DesignMachine machine;
        std::vector<std::optional<Result<DesignTime>>> times(question_.workloads.size());
        on_threads(times.size(), question_.threads, std::make_shared<Calibrations>(std::vector<Calibration>{}),
                   [&](std::size_t i, const auto&) { times[i] = predicted(question_.workloads[i], sets); });
        for (std::size_t i = 0; i < times.size(); ++i) {
            const DesignWorkload& workload = question_.workloads[i];
            ROOFLINE_TRY(auto time, std::move(*times[i]));
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
        machine.usd = space_.usd_of(at);
        return machine;
    }

    Status add_base(DesignAnswer& answer) {
        ROOFLINE_TRY(answer.base, machine_with({}));
        double usd = space_.constant_usd();
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
                const bool fits = with.answer.note.empty() && time.answer.note.empty();
                const double elasticity =
                    fits ? std::log(with.answer.seconds() / time.answer.seconds()) / std::log(step) : 0;
                time.elasticities.push_back(std::abs(elasticity) < 5e-4 ? 0 : elasticity);
            }
        }
        return {};
    }

    Status add_front(DesignAnswer& answer) {
        if (question_.front == 0 || !answer.met) return {};
        DesignLimits limits;
        limits.each.assign(question_.workloads.size(), any_time_s);
        ROOFLINE_TRY(const auto cheapest_that_fits, space_.cheapest(limits));
        if (!cheapest_that_fits) return {};
        ROOFLINE_TRY(auto first, machine_at(*cheapest_that_fits));
        ROOFLINE_TRY(const auto last, machine_at(space_.most()));
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
            limits.weighted = level * rounding;
            ROOFLINE_TRY(const auto found, space_.cheapest(limits));
            if (!found) continue;
            ROOFLINE_TRY(auto machine, machine_at(*found));
            answer.front.push_back(std::move(machine));
        }
        return {};
    }

    // The least of all machines' largest time over target; of workloads that fit nowhere none is asked.
    Result<double> least_excess(const std::vector<bool>& fits) {
        const auto excess_at = [&](const DesignPoint& at, double enough) -> Result<double> {
            double most = 1;
            for (std::size_t i = 0; i < fits.size() && most < enough; ++i) {
                const auto target = question_.workloads[i].target_s;
                if (!fits[i] || !target) continue;
                ROOFLINE_TRY(const double seconds, space_.seconds(at, i));
                most = std::max(most, seconds / *target);
            }
            return most;
        };
        const DesignPoint most = space_.most();
        ROOFLINE_TRY(double least, excess_at(most, never_s));
        bool falls = true;
        for (const auto& plans : space_.times()) {
            for (const DesignTimes& each : plans) falls = falls && !each.tabulated();
        }
        DesignPoint at(most.size(), 0);
        while (!falls && at != most) {
            ROOFLINE_TRY(const double here, excess_at(at, least));
            least = std::min(least, here);
            std::size_t axis = 0;
            while (at[axis] == most[axis]) at[axis++] = 0;
            ++at[axis];
        }
        return least;
    }

    Status add_nearest(DesignAnswer& answer) {
        std::vector<bool> fits;
        DesignLimits limits;
        for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
            DesignLimits one;
            one.each.resize(question_.workloads.size());
            one.each[i] = any_time_s;
            ROOFLINE_TRY(const auto any, space_.cheapest(one));
            fits.push_back(any.has_value());
        }
        ROOFLINE_TRY(const double excess, least_excess(fits));
        constexpr double rounding = 1 + 1e-12;
        // Targets that the best of every figure meets are kept, where that leaves a machine.
        DesignLimits kept;
        for (std::size_t i = 0; i < fits.size(); ++i) {
            const double target = question_.workloads[i].target_s.value_or(any_time_s);
            limits.each.emplace_back(std::min(any_time_s, target * excess * rounding));
            ROOFLINE_TRY(const double fastest, space_.seconds(space_.most(), i));
            kept.each.push_back(fastest <= target ? target : limits.each.back());
            if (!fits[i]) kept.each.back() = limits.each.back() = std::nullopt;
        }
        ROOFLINE_TRY(auto nearest, space_.cheapest(kept));
        if (!nearest) {
            ROOFLINE_TRY(nearest, space_.cheapest(limits));
        }
        ROOFLINE_TRY(answer.best, machine_at(nearest.value_or(space_.most())));
        const std::vector<double> most = numbers_of(space_.most());
        for (std::size_t i = 0; i < fits.size(); ++i) {
            if (meets(answer.best, i)) continue;
            const SweptAnswer& here = answer.best.times[i].answer;
            answer.shortfalls.push_back({i, here.note.empty() ? here.seconds() : never_s, remedies(most, i)});
        }
        if (answer.shortfalls.size() > 1) {
            answer.shortfalls.push_back({std::nullopt, answer.best.weighted_s, remedies(most, std::nullopt)});
        }
        return {};
    }

    [[nodiscard]] bool meets(const DesignMachine& machine, std::size_t workload) const {
        const SweptAnswer& answer = machine.times[workload].answer;
        return answer.note.empty() && answer.seconds() <= question_.workloads[workload].target_s.value_or(never_s);
    }

    // One figure alone, up to `most_factor` times as much; 1 where the best of the space does.
    std::vector<DesignRemedy> remedies(const std::vector<double>& numbers, std::optional<std::size_t> workload) const {
        const auto does = [&](std::size_t axis, double factor) {
            std::vector<double> at = numbers;
            at[axis] *= factor;
            const auto machine = machine_with(sets_of(at));
            if (!machine) return false;
            for (std::size_t i = 0; i < question_.workloads.size(); ++i) {
                if (workload.value_or(i) == i && !meets(*machine, i)) return false;
            }
            return true;
        };
        std::vector<DesignRemedy> found;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (!does(i, most_factor)) continue;
            double fails = 1;
            double holds = most_factor;
            while (holds > 1.001 * fails) {
                const double middle = std::sqrt(fails * holds);
                (does(i, middle) ? holds : fails) = middle;
            }
            found.push_back({i, numbers[i] * holds, question_.axes[i].text(question_.base, numbers[i] * holds)});
        }
        return found;
    }

    const DesignQuestion& question_;
    DesignSpace space_;
};

}  // namespace

Result<DesignAnswer> predict_design(const DesignQuestion& question) { return DesignSearch(question).run(); }

}  // namespace roofline::core
