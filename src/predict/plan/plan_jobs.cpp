#include "predict/plan/plan_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "predict/train/run_goodput.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

bool has_expected(const TrainAnswer& answer) { return answer.step->times.expected.has_value(); }

// What a slice takes, whatever plan runs on it.
PlanValues values_of(const Slice& slice) {
    PlanValues values;
    values.chips = slice.chips();
    if (slice.machine.power.value) {
        values.watts = slice.machine.power.value->value * static_cast<double>(values.chips);
    }
    return values;
}

// The longest run within the limits of time and cost.
double longest_run(const TrainQuestion& question, const PlanLimits& limits) {
    double seconds = limits.seconds.value_or(infinite);
    if (!limits.usd) return seconds;
    const auto usd_per_s = training_cost({.chips = question.slice.chips()}, 1, 1, question.slice.machine.price).usd;
    return std::min(seconds, *limits.usd / usd_per_s.value_or(0));
}

// The longest step whose run, with interruptions if they are asked for, is within the limits: calendar time rises with
// the time of a step.
Result<double> longest_step(const TrainQuestion& question, const PlanLimits& limits) {
    const double run_s = longest_run(question, limits);
    if (!question.tokens || run_s == infinite) return infinite;
    const double steps = static_cast<double>(*question.tokens) / static_cast<double>(question.setup.batch.tokens);
    const double ideal = run_s / steps;
    if (!question.recovery || !recovery_of(*question.recovery, question.slice.machine, ideal)) return ideal;
    ROOFLINE_TRY(const double bytes, checkpoint_bytes(question.model, question.setup.options));
    double within = 0;
    double beyond = ideal;
    constexpr int halvings = 60;
    for (int i = 0; i < halvings; ++i) {
        const double step_s = (within + beyond) / 2;
        const auto recovery = recovery_of(*question.recovery, question.slice.machine, step_s);
        const auto goodput = goodput_of(*recovery, bytes, step_s * steps, question.slice.chips());
        (goodput && goodput->seconds <= run_s ? within : beyond) = step_s;
    }
    return within;
}

// How good the best plan of a job is: the least is the best.
struct Rank {
    enum Kind : std::uint8_t { within, beyond_limits, too_large, none } kind = none;
    bool bound = false;  ///< no time is expected, only a lower bound, which is no better than an expected time
    double value = 0;    ///< of the objective; the largest factor by which a limit is exceeded; memory over capacity
    double seconds = 0;
    std::size_t job = 0;

    [[nodiscard]] auto key() const { return std::tuple(kind, bound, value, seconds, job); }
};

class JobsAnswering {
public:
    JobsAnswering(PlanJobsQuestion& question, const std::shared_ptr<Calibrations>& calibrations)
        : question_(question), calibrations_(calibrations) {
        answer_.objective = question.objective;
        answer_.limits = question.limits;
        answer_.front_of = question.front;
        answer_.basis = basis();
    }

    Result<PlanJobsAnswer> run() {
        for (const PlanQuestion& job : question_.jobs) start(job);
        ROOFLINE_CHECK(check_limits());
        ROOFLINE_CHECK(check_number());
        for (const std::size_t job : in_order()) ROOFLINE_CHECK(search(job));
        answer_.chosen = best_.job;
        if (best_.kind == Rank::none) return fail(refusal());
        ROOFLINE_TRY(answer_.plan, answer_plans(question_.jobs[best_.job], std::move(*best_plans_),
                                                calibrations_of(question_.jobs[best_.job])));
        answer_.front = front_.empty() ? std::move(bounds_front_) : std::move(front_);
        add_notes();
        return std::move(answer_);
    }

private:
    [[nodiscard]] PlanBasis basis() const {
        const TrainQuestion& first = question_.jobs.front().train;
        if (first.tokens) return PlanBasis::run;
        const bool same = std::all_of(question_.jobs.begin(), question_.jobs.end(), [&](const PlanQuestion& job) {
            return job.train.setup.batch.tokens == first.setup.batch.tokens;
        });
        return same ? PlanBasis::step : PlanBasis::tokens;
    }

    [[nodiscard]] const std::shared_ptr<Calibrations>& calibrations_of(const PlanQuestion& job) const {
        return job.calibrations ? job.calibrations : calibrations_;
    }

    void start(const PlanQuestion& job) {
        PlanJobAnswer answer;
        answer.slice = slice_id(job.train.slice);
        answer.chips = job.train.slice.chips();
        answer.batch_tokens = job.train.setup.batch.tokens;
        answer.sequence = job.train.setup.batch.sequence;
        answer.products = job.train.setup.products;
        answer.options = job.train.setup.options;
        PlanLimits of_slice = question_.limits;
        of_slice.seconds.reset();
        of_slice.usd.reset();
        answer.exceeded = exceeded(of_slice, values_of(job.train.slice));
        answer_.jobs.push_back(std::move(answer));
    }

    [[nodiscard]] bool asked(PlanObjective objective) const {
        const auto& front = question_.front;
        return question_.objective == objective || (front && (front->first == objective || front->second == objective));
    }

    [[nodiscard]] Status check_figures(const TrainQuestion& job) const {
        const Machine& machine = job.slice.machine;
        if (!machine.price && (asked(PlanObjective::cost) || question_.limits.usd)) {
            return fail("no_price", fmt::format("the price of {} is not known", machine.name),
                        "give it in USD per chip-hour: --price 2.5");
        }
        if (!machine.power.value && (asked(PlanObjective::energy) || question_.limits.watts)) {
            return fail("no_power", fmt::format("the power of {} is not known", machine.name),
                        "give that of a chip: --set power=700W");
        }
        if (!job.tokens && question_.limits.of_run()) {
            return fail("bad_request",
                        fmt::format("{} limits a whole run, whose tokens are not given",
                                    question_.limits.seconds ? "--days" : "--usd"),
                        "add them: --tokens 15T");
        }
        return {};
    }

    [[nodiscard]] Status check_limits() const {
        for (const PlanQuestion& job : question_.jobs) ROOFLINE_CHECK(check_figures(job.train));
        const PlanJobAnswer* nearest = &answer_.jobs.front();
        const auto factor = [](const PlanJobAnswer& job) { return largest_factor(job.exceeded); };
        for (const PlanJobAnswer& job : answer_.jobs) {
            if (job.exceeded.empty()) return {};
            if (factor(job) < factor(*nearest)) nearest = &job;
        }
        const bool power = nearest->exceeded.front().limit == PlanLimit::power;
        const ExceededLimit& first = nearest->exceeded.front();
        const auto text = [&](double value) {
            return power ? to_text(Power{value}) : grouped(static_cast<std::int64_t>(value));
        };
        return fail("bad_limits",
                    fmt::format("no slice is within {}: the nearest, {}, has {}{}",
                                power ? fmt::format("--power {}", text(first.allowed))
                                      : fmt::format("{} chips", text(first.allowed)),
                                nearest->slice, text(first.value), power ? "" : " chips"),
                    "raise the limit, or give a smaller slice with --on");
    }

    [[nodiscard]] Status check_number() {
        if (question_.jobs.size() == 1) return {};  // its search counts its plans
        for (std::size_t i = 0; i < question_.jobs.size(); ++i) {
            if (!answer_.jobs[i].exceeded.empty()) continue;
            const auto sized = with_sizes(question_.jobs[i]);
            if (!sized) continue;  // its search is refused
            ROOFLINE_TRY(const auto units, units_of(sized->space, {}));
            for (const PlanUnit& unit : units) to_search_ += unit.plans;
            if (to_search_ <= most_plans) continue;
            return fail("too_many_plans",
                        fmt::format("the first {} of {} jobs have {} plans together, and at most {} are searched",
                                    i + 1, question_.jobs.size(), to_search_, most_plans),
                        "give fewer slices or batches, fix degrees or micro-batches, or leave axes out");
        }
        return {};
    }

    // For the fewest chips the small slices come first.
    [[nodiscard]] std::vector<std::size_t> in_order() const {
        std::vector<std::size_t> order(question_.jobs.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (question_.objective != PlanObjective::chips) return order;
        return sorted_by(std::move(order), [&](std::size_t job) { return answer_.jobs[job].chips; });
    }

    [[nodiscard]] bool is_larger_than_needed(const PlanJobAnswer& job) const {
        return question_.objective == PlanObjective::chips && !question_.front && best_.kind == Rank::within &&
               job.chips > answer_.jobs[best_.job].chips;
    }

    // Several jobs are one search to the caller, who is told of the plans of all of them.
    void watch_all(PlanSearch& search) const {
        if (!search.watch || question_.jobs.size() == 1) return;
        search.watch = [watch = search.watch, before = answer_.counts.looked_at,
                        all = to_search_](const SearchProgress& of_job) {
            return watch({before + of_job.looked_at, all, std::nullopt});
        };
    }

    Status search(std::size_t place) {
        PlanJobAnswer& job = answer_.jobs[place];
        PlanQuestion& question = question_.jobs[place];
        if (!job.exceeded.empty()) return {};
        if (answer_.stopped) {
            job.refused = Error{"not_searched", "not searched: interrupted", "", {}};
            return {};
        }
        if (is_larger_than_needed(job)) {
            job.refused = Error{
                "not_searched", fmt::format("not searched: {} chips suffice", answer_.jobs[best_.job].chips), "", {}};
            return {};
        }
        question.keep = asked(PlanObjective::memory) ? PlanKeep::front : PlanKeep::fastest;
        ROOFLINE_TRY(question.limit_s, longest_step(question.train, question_.limits));
        watch_all(question.search);
        auto found = question_.found ? Result<FoundPlans>(std::move(*question_.found))
                                     : find_plans(question, calibrations_of(question));
        if (!found) {
            job.refused = found.error();
            return {};
        }
        job.counts = found->counts;
        answer_.counts += found->counts;
        answer_.stopped = found->stopped;
        auto searched = lay_out_plans(question, std::move(*found), calibrations_of(question));
        if (!searched) {
            job.refused = searched.error();
            return {};
        }
        const Rank rank = rank_of(place, *searched);
        if (rank.key() < best_.key()) {
            best_ = rank;
            best_plans_ = std::move(*searched);
        }
        return {};
    }

    static double largest_factor(const std::vector<ExceededLimit>& all) {
        double most = 0;
        for (const ExceededLimit& each : all) most = std::max(most, each.factor());
        return most;
    }

    // Puts the best plan of a job first.
    Rank rank_of(std::size_t place, SearchedPlans& searched) {
        PlanJobAnswer& job = answer_.jobs[place];
        if (searched.alone.empty()) {
            const auto capacity = question_.jobs[place].train.slice.machine.level("hbm")->total_capacity();
            const double needs = searched.found.nearest->memory;
            job.refused = Error{"no_fit",
                                fmt::format("nothing fits: the smallest plan takes {} of {} per chip",
                                            to_text(Bytes{needs}), to_text(*capacity)),
                                "",
                                {}};
            return {Rank::too_large, false, needs / capacity->value, 0, place};
        }
        add_to_front(place, searched.alone);
        const auto key = [&](const TrainAnswer& plan) {
            const PlanValues values = values_of(plan, answer_.basis);
            const bool within = exceeded(question_.limits, values).empty();
            const PlanObjective objective = within ? question_.objective : PlanObjective::time;
            return std::pair(!within, ordered(plan, values, objective));
        };
        searched.alone = sorted_by(std::move(searched.alone), key);
        job.best = searched.alone.front();
        job.values = values_of(*job.best, answer_.basis);
        job.exceeded = exceeded(question_.limits, *job.values);
        const bool bound = !has_expected(*job.best);
        if (job.exceeded.empty()) {
            return {Rank::within, bound, *job.values->of(question_.objective), job.values->seconds, place};
        }
        return {Rank::beyond_limits, bound, largest_factor(job.exceeded), job.values->seconds, place};
    }

    // A value by which plans are put in order: where no time is expected, what rises with the time has what overlap may
    // add in it, as order_seconds() has.
    static double ordered(const TrainAnswer& plan, const PlanValues& values, PlanObjective objective) {
        const bool timed = objective != PlanObjective::chips && objective != PlanObjective::memory;
        return *values.of(objective) * (timed ? order_seconds(plan) / step_seconds(plan) : 1);
    }

    void add_to_front(std::size_t place, const std::vector<TrainAnswer>& plans) {
        if (!question_.front) return;
        for (const TrainAnswer& plan : plans) {
            const PlanValues values = values_of(plan, answer_.basis);
            if (!exceeded(question_.limits, values).empty()) continue;
            (has_expected(plan) ? front_ : bounds_front_).push_back({place, plan, values});
        }
        keep_front(front_);
        keep_front(bounds_front_);
    }

    void keep_front(std::vector<FrontPlan>& plans) const {
        std::vector<std::pair<double, double>> points;
        for (const FrontPlan& each : plans) {
            points.emplace_back(ordered(each.answer, each.values, question_.front->first),
                                ordered(each.answer, each.values, question_.front->second));
        }
        std::vector<FrontPlan> front;
        for (const std::size_t i : front_of(points)) front.push_back(std::move(plans[i]));
        plans = std::move(front);
    }

    [[nodiscard]] Error refusal() const {
        const auto job = std::find_if(answer_.jobs.begin(), answer_.jobs.end(),
                                      [](const PlanJobAnswer& each) { return each.refused.has_value(); });
        Error error = *job->refused;
        if (answer_.jobs.size() > 1) error.message = fmt::format("{}: {}", job->slice, error.message);
        return error;
    }

    // Expected times and lower bounds cannot be compared.
    void note_bounds() {
        std::vector<std::string> bounds;
        bool any_expected = false;
        for (const PlanJobAnswer& job : answer_.jobs) {
            if (!job.best) continue;
            any_expected = any_expected || has_expected(*job.best);
            const std::string& machine = job.best->slice.machine.name;
            const bool known = std::find(bounds.begin(), bounds.end(), machine) != bounds.end();
            if (!has_expected(*job.best) && !known) bounds.push_back(machine);
        }
        if (!any_expected || bounds.empty()) return;
        answer_.notes.push_back(
            fmt::format("no calibration covers {}: its times are lower bounds, which rank behind the expected times of "
                        "the others; --calibration none compares the bounds of all",
                        fmt::join(bounds, ", ")));
    }

    void note_interrupt() {
        const auto left = std::count_if(answer_.jobs.begin(), answer_.jobs.end(), [](const PlanJobAnswer& job) {
            return job.refused && job.refused->code == "not_searched";
        });
        if (!answer_.stopped || left == 0) return;
        answer_.notes.push_back(
            fmt::format("interrupted: {} of {} jobs were not searched, and one of them may have a "
                        "better plan",
                        left, answer_.jobs.size()));
    }

    void note_convergence() {
        const PlanJobAnswer& first = answer_.jobs.front();
        const bool same = std::all_of(answer_.jobs.begin(), answer_.jobs.end(), [&](const PlanJobAnswer& job) {
            return job.products == first.products && job.options.optimizer == first.options.optimizer &&
                   job.options.moments == first.options.moments;
        });
        if (same) return;
        answer_.notes.emplace_back(
            "every dtype and optimizer is taken to need the same tokens: what fewer bits cost in convergence is not "
            "priced");
    }

    void add_notes() {
        note_interrupt();
        note_bounds();
        note_convergence();
        if (!asked(PlanObjective::energy) && !question_.limits.watts) return;
        answer_.notes.emplace_back(
            "power and energy are those of chips at their rated power, without hosts, switches and cooling");
    }

    PlanJobsQuestion& question_;
    const std::shared_ptr<Calibrations>& calibrations_;
    PlanJobsAnswer answer_;
    std::int64_t to_search_ = 0;  ///< plans of all jobs
    Rank best_;
    std::vector<FrontPlan> front_;         ///< of plans with an expected time
    std::vector<FrontPlan> bounds_front_;  ///< of the others
    std::optional<SearchedPlans> best_plans_;
};

}  // namespace

Result<PlanJobsAnswer> predict_plan_jobs(PlanJobsQuestion question, const std::shared_ptr<Calibrations>& calibrations) {
    if (question.jobs.empty()) return fail("no_machine", "no slice is given", "for example h100-sxm:8x16");
    if (question.jobs.size() > most_plan_jobs) {
        return fail("too_many_jobs",
                    fmt::format("there are {} jobs, and at most {} are searched", question.jobs.size(), most_plan_jobs),
                    "give fewer slices, batches, dtypes or optimizers");
    }
    return JobsAnswering(question, calibrations).run();
}

}  // namespace roofline::core
