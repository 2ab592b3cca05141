#include "predict/fleet/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "predict/plan/plan_objective.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// Requests/s of a replica that is hardly ever busy. What counts is the largest rate that it takes.
constexpr double idle_rate = 0.001;

// The options of one job on one pool, and why there is none.
struct Offers {
    std::vector<FleetOffer> offers;
    std::string refused;
    std::optional<double> fewest_chips{};  ///< that served replicas would take, if there are fewer

    // The last option has the most chips, so that what excludes it says the most.
    void refuse(std::string why) { refused = std::move(why); }
};

class FleetAnswering {
public:
    FleetAnswering(FleetQuestion question, const std::shared_ptr<Calibrations>& calibrations, MilpSolver& solver)
        : question_(std::move(question)), calibrations_(calibrations), solver_(solver) {}

    Result<FleetAnswer> run() {
        answer_.pools = question_.pools;
        answer_.period_s = question_.period_s;
        answer_.solver = solver_.name();
        for (FleetJobQuestion& job : question_.jobs) {
            FleetJobAnswer priced{job.name, job.rate, {}, {}, {}};
            for (std::size_t pool = 0; pool < question_.pools.size(); ++pool) {
                Offers found = offers_on(pool, job);
                if (!found.offers.empty()) found.refused.clear();
                priced.refused.push_back(std::move(found.refused));
                for (FleetOffer& offer : found.offers) priced.offers.push_back(std::move(offer));
            }
            answer_.jobs.push_back(std::move(priced));
        }
        answer_.used.assign(question_.pools.size(), 0);
        const bool all = std::all_of(answer_.jobs.begin(), answer_.jobs.end(),
                                     [](const FleetJobAnswer& job) { return !job.offers.empty(); });
        if (all) ROOFLINE_CHECK(choose());
        return std::move(answer_);
    }

private:
    Offers offers_on(std::size_t pool, FleetJobQuestion& job) {
        Offers found;
        FleetQuestionOnPool& asked = job.on_pools[pool];
        if (!asked) {
            found.refuse(asked.error().message);
        } else if (auto* training = std::get_if<FleetTraining>(&*asked)) {
            add_training(pool, std::move(training->question), found);
        } else {
            add_serving(pool, job.rate, std::get<FleetServing>(*asked).search, found);
            found.offers = sorted_by(std::move(found.offers), [](const FleetOffer& offer) { return offer.chips; });
        }
        return found;
    }

    void add_training(std::size_t pool, PlanJobsQuestion question, Offers& found) {
        auto answer = predict_plan_jobs(std::move(question), calibrations_);
        if (!answer) return found.refuse(answer.error().message);
        for (PlanJobAnswer& job : answer->jobs) {
            if (job.refused) {
                found.refuse(fmt::format("{}: {}", job.slice, job.refused->message));
            } else if (!job.exceeded.empty()) {
                found.refuse(fmt::format("{} exceeds your limits by a factor of {:.3g}", job.slice,
                                         job.exceeded.front().factor()));
            } else if (!job.values->usd) {
                found.refuse(fmt::format("{} has no price", job.slice));
            } else {
                FleetOffer offer;
                offer.pool = pool;
                offer.slice = job.slice;
                offer.chips = job.chips;
                offer.usd = *job.values->usd;
                offer.plan = job.best->plan;
                offer.seconds = job.values->seconds;
                offer.bounds = !job.best->step->times.expected;
                offer.training = std::make_shared<const TrainAnswer>(std::move(*job.best));
                found.offers.push_back(std::move(offer));
            }
        }
    }

    // Of the set-ups with as many chips, the one whose replicas take the fewest.
    void add_serving(std::size_t pool, double rate, const ServingSearch& search, Offers& found) {
        const std::string machine = search.job.slice.machine.id;
        const auto answer = search_serving(search, calibrations_);
        if (!answer) return found.refuse(answer.error().message);
        if (!answer->expected) {
            return found.refuse(fmt::format("a load needs expected times, and no calibration of {} covers all of this",
                                            search.job.slice.machine.name));
        }
        if (answer->plans.empty()) return found.refuse(fmt::format("no set-up on {} meets the targets", machine));
        if (!search.job.slice.machine.price) return found.refuse(fmt::format("{} has no price", machine));
        for (const ServingPlan& plan : answer->plans) {
            ServeQuestion question = question_of(search.job, plan.set_up);
            question.load_only = true;
            question.load->rate = idle_rate;
            question.load->targets = search.targets;
            const auto served = predict_serving(std::move(question), calibrations_);
            if (served) add_replicas(pool, rate, plan.set_up, served->load->largest, found);
        }
        if (found.offers.empty() && found.refused.empty()) {
            found.refuse(fmt::format("no set-up on {} meets the targets at any rate", machine));
        }
    }

    // As many replicas as the rate takes, of which each takes at most the largest rate.
    void add_replicas(std::size_t pool, double rate, const ServingSetUp& set_up, double largest, Offers& found) {
        if (!(largest > 0)) return;
        FleetOffer offer;
        offer.pool = pool;
        offer.slice = fmt::format("{}:{}", set_up.slice.machine.id, set_up.slice.shape_text());
        const double replicas = std::ceil(rate / largest);
        const double chips = replicas * static_cast<double>(set_up.chips());
        if (chips > static_cast<double>(question_.pools[pool].chips)) {
            if (found.fewest_chips.value_or(chips + 1) < chips) return;
            found.fewest_chips = chips;
            return found.refuse(fmt::format("{} replicas of {} chips take {} chips", grouped(std::llround(replicas)),
                                            grouped(set_up.chips()), grouped(std::llround(chips))));
        }
        offer.replicas = std::llround(replicas);
        offer.chips = std::llround(chips);
        offer.usd = chips * set_up.slice.machine.price->value * question_.period_s;
        offer.plan = set_up.plan;
        offer.rate = largest;
        offer.set_up = set_up;
        const auto same = std::find_if(found.offers.begin(), found.offers.end(), [&](const FleetOffer& other) {
            return other.set_up->chips() == set_up.chips();
        });
        if (same == found.offers.end()) {
            found.offers.push_back(std::move(offer));
        } else if (offer.chips < same->chips) {
            *same = std::move(offer);
        }
    }

    Status choose() {
        std::vector<std::vector<AssignmentOption>> options;
        for (const FleetJobAnswer& job : answer_.jobs) {
            auto& of_job = options.emplace_back();
            for (const FleetOffer& offer : job.offers) of_job.push_back({offer.pool, offer.chips, offer.usd});
        }
        std::vector<std::int64_t> chips;
        for (const FleetPool& pool : answer_.pools) chips.push_back(pool.chips);
        const auto assigned = assign(chips, options, solver_);
        if (!assigned) {
            if (assigned.error().code != "infeasible") return fail(assigned.error());
            ROOFLINE_TRY(answer_.lacking, lacking_chips(chips, options, solver_));
            return {};
        }
        answer_.usd = assigned->usd;
        answer_.bound_usd = assigned->bound_usd;
        for (std::size_t i = 0; i < answer_.jobs.size(); ++i) {
            answer_.jobs[i].chosen = assigned->chosen[i];
            answer_.used[answer_.jobs[i].taken().pool] += answer_.jobs[i].taken().chips;
        }
        for (std::size_t pool = 0; pool < chips.size(); ++pool) {
            std::vector<std::int64_t> more = chips;
            const std::int64_t eighth = std::max<std::int64_t>(1, chips[pool] / 8);
            more[pool] += eighth;
            ROOFLINE_TRY(const auto with, assign(more, options, solver_));
            if (with.usd < assigned->bound_usd) answer_.gains.push_back({pool, eighth, assigned->usd - with.usd});
        }
        return {};
    }

    FleetQuestion question_;
    const std::shared_ptr<Calibrations>& calibrations_;
    MilpSolver& solver_;
    FleetAnswer answer_;
};

}  // namespace

Result<FleetAnswer> predict_fleet(FleetQuestion question, const std::shared_ptr<Calibrations>& calibrations,
                                  MilpSolver& solver) {
    if (question.pools.empty() || question.pools.size() > most_fleet_pools) {
        return fail("bad_fleet",
                    fmt::format("a fleet has 1 to {} pools, not {}", most_fleet_pools, question.pools.size()),
                    "describe each with a table [pools.NAME]");
    }
    if (question.jobs.empty() || question.jobs.size() > most_fleet_jobs) {
        return fail("bad_fleet", fmt::format("a fleet has 1 to {} jobs, not {}", most_fleet_jobs, question.jobs.size()),
                    "describe each with a table [[train]] or [[serve]]");
    }
    return FleetAnswering(std::move(question), calibrations, solver).run();
}

}  // namespace roofline::core
