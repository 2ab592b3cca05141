#include "predict/serve_plan/serving_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "model/machine_dtype.hpp"
#include "predict/plan/on_threads.hpp"
#include "predict/plan/plan_objective.hpp"
#include "predict/serve_plan/serving_candidates.hpp"
#include "predict/serve_plan/serving_deployments.hpp"
#include "predict/serve_plan/serving_value.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// Estimates leave out that requests wait for each other. Servers are simulated until the next ones, if they came as
// close to their estimate as the closest so far, would be worse than the best by this factor.
constexpr double slack = 1.03;
// Nor are estimates bounds of times: set-ups are simulated whose times are estimated to exceed the targets by less.
constexpr double uncertain = 1.05;
// Beyond this factor of the best set-up no other is looked at more closely.
constexpr double worse = 1.25;
constexpr std::size_t round_of_groups = 8;  // simulated before the next look at what is left
constexpr std::size_t most_groups = 32;
constexpr int most_more_prefill = 2;  // servers beyond those that are estimated to keep TTFT

/// Candidates of the same servers, with more and more requests in flight.
struct ServerGroup {
    std::vector<const ServingCandidate*> candidates;
    std::vector<const ServingCandidate*> more_prefill{};  ///< some of them with more servers that prefill
    double best = infinite;  ///< least value of those that are estimated to meet the targets
};

class SetUpSearch {
public:
    SetUpSearch(const ServingSearch& search, const std::shared_ptr<Calibrations>& calibrations)
        : search_(search), job_(search.job), calibrations_(calibrations), watch_(search.watch) {}

    Result<ServingSearchAnswer> run() {
        if (search_.objective == ServingObjective::cost && !search_.job.slice.machine.price) {
            return fail("no_price", fmt::format("the file of {} has no price", search_.job.slice.machine.name),
                        "give --price, USD per chip-hour");
        }
        ROOFLINE_TRY(found_, serving_candidates(search_, calibrations_, watch_));
        answer_.expected = found_.expected;
        if (!found_.expected && !search_.together) {
            return fail("not_calibrated",
                        fmt::format("pools for prefill are compared by expected times, and no calibration of {} covers "
                                    "this",
                                    search_.job.slice.machine.name),
                        "ask for --aggregated servers, or name a calibrated machine");
        }
        if (!found_.expected) {
            job_.load.reset();
            price_all();
        } else {
            price_ranges();
            price_groups();
        }
        if (watch_.stopped()) return interrupted_search();
        if (priced_.empty()) return nothing();
        choose();
        if (found_.expected && answer_.meets) refine();
        front();
        ROOFLINE_CHECK(finish());
        if (watch_.stopped()) return interrupted_search();
        return std::move(answer_);
    }

private:
    [[nodiscard]] tl::unexpected<Error> nothing() const {
        const ServingCounts& counts = found_.counts;
        const std::optional<Error>& error = first_error_ ? first_error_ : found_.error;
        if (counts.searched == 0 && !error) {
            return fail("no_plan",
                        fmt::format("no server on up to {} chips has the degrees of --mesh without the axes of "
                                    "--without",
                                    search_.job.slice.chips()),
                        "fix fewer of them; their product divides the chips of a server");
        }
        if (counts.memory == 0 && error) return fail(*error);
        return fail("no_fit",
                    fmt::format("no set-up has room for a request on up to {} chips: of {} plans {} do not fit, and "
                                "{} do not divide the model",
                                search_.job.slice.chips(), counts.searched, counts.memory, counts.divides),
                    "give more chips, a smaller dtype of --weights or --kv-dtype, or shorter sequences");
    }

    using Key = std::tuple<std::size_t, std::size_t, std::int64_t, std::int64_t, std::int64_t>;
    static Key key_of(const ServingCandidate& each) {
        return {each.server, each.prefill.value_or(static_cast<std::size_t>(-1)), each.batch, each.workers,
                each.prefill_workers};
    }

    [[nodiscard]] ServingSetUp set_up_of(const ServingCandidate& candidate) const {
        ServingSetUp set_up = found_.set_up_of(candidate);
        if (set_up.prefill) set_up.prefill->machine = search_.prefill ? search_.prefill->machine : search_.job.machine;
        return set_up;
    }

    // Simulates a set-up for those who watch the search.
    Result<ServingPlan> watched(const ServingSetUp& set_up, const std::shared_ptr<Calibrations>& calibrations) {
        if (watch_.stopped()) return interrupted_search();
        auto priced = priced_set_up(job_, set_up, calibrations);
        if (priced && priced->fits && meets(search_, priced->rates)) {
            watch_.found(1 / priced->tokens_per_s_per_chip());
        }
        watch_.looked_at(1);
        return priced;
    }

    // Simulates candidates that were not yet.
    void price(const std::vector<const ServingCandidate*>& wanted) {
        std::vector<const ServingCandidate*> fresh;
        for (const ServingCandidate* each : wanted) {
            if (places_.contains(key_of(*each))) continue;
            places_.emplace(key_of(*each), std::nullopt);
            fresh.push_back(each);
        }
        std::vector<std::optional<Result<ServingPlan>>> results(fresh.size());
        on_threads(fresh.size(), search_.threads, calibrations_,
                   [&](std::size_t i, const std::shared_ptr<Calibrations>& own) {
                       results[i] = watched(set_up_of(*fresh[i]), own);
                   });
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            ++found_.counts.priced;
            Result<ServingPlan>& result = *results[i];
            if (result && result->fits && result->rates.tokens_per_s > 0) {
                places_[key_of(*fresh[i])] = priced_.size();
                priced_.push_back(std::move(*result));
                continue;
            }
            const bool memory = result || result.error().code == "does_not_fit" || result.error().code == "no_fit";
            ++(memory ? found_.counts.memory : found_.counts.failed);
            if (!memory && !first_error_) first_error_ = result.error();
        }
    }

    [[nodiscard]] const ServingPlan* priced(const ServingCandidate& candidate) const {
        const auto found = places_.find(key_of(candidate));
        return found == places_.end() || !found->second ? nullptr : &priced_[*found->second];
    }

    void price_all() {
        std::vector<const ServingCandidate*> all;
        for (const ServingCandidate& each : found_.candidates) all.push_back(&each);
        price(all);
    }

    void price_ranges() { price(best_of_ranges(found_.candidates)); }

    [[nodiscard]] bool late(const ServingCandidate& each) const {
        return excess_of(search_.targets, each.ttft_s, each.tpot_s) > uncertain;
    }

    [[nodiscard]] std::vector<ServerGroup> groups() const {
        std::map<std::pair<std::size_t, std::size_t>, ServerGroup> by_servers;
        for (const ServingCandidate& each : found_.candidates) {
            ServerGroup& group = by_servers[{each.server, each.prefill.value_or(static_cast<std::size_t>(-1))}];
            group.candidates.push_back(&each);
            if (late(each)) continue;
            group.best = std::min(group.best, value_of(search_, each));
        }
        std::vector<ServerGroup> all;
        for (auto& [servers, group] : by_servers) all.push_back(std::move(group));
        return sorted_by(std::move(all), [](const ServerGroup& each) { return each.best; });
    }

    // Simulates each group's largest numbers of requests that meet the targets, the group with the best estimate first.
    void price_groups() {
        std::vector<ServerGroup> all = groups();
        double best = best_value();
        std::size_t done = 0;
        double least_ratio = infinite;  // of what was simulated to what was estimated
        while (done < std::min(all.size(), most_groups)) {
            const std::size_t end = std::min({all.size(), most_groups, done + round_of_groups});
            if (all[done].best * least_ratio > slack * best && done >= search_.shown) break;
            if (!std::isfinite(all[done].best)) break;
            bisect(std::span(all).subspan(done, end - done), worse);
            best = best_value();
            for (; done < end; ++done) least_ratio = std::min(least_ratio, ratio_of(all[done]));
        }
        if (std::isfinite(best)) price_shown(all);
        if (!std::isfinite(best)) price_nearest();
        for (const ServingCandidate& each : found_.candidates) {
            if (places_.contains(key_of(each))) continue;
            ++(late(each) ? found_.counts.target : found_.counts.slower);
        }
    }

    // How far a group is behind is known only where its largest number of requests is found: those that are shown are
    // looked at to the end.
    void price_shown(std::vector<ServerGroup>& all) {
        std::size_t count = 0;
        while (count < std::min(all.size(), search_.shown) && std::isfinite(all[count].best)) ++count;
        bisect(std::span(all).first(count), infinite);
    }

    // The best that a group was simulated to do over its estimate; infinite if nothing of it meets the targets.
    [[nodiscard]] double ratio_of(const ServerGroup& group) const {
        double best = infinite;
        for (const auto* list : {&group.candidates, &group.more_prefill}) {
            for (const ServingCandidate* each : *list) {
                const ServingPlan* plan = priced(*each);
                if (plan != nullptr && meets(search_, plan->rates)) best = std::min(best, value_of(search_, *plan));
            }
        }
        return best / group.best;
    }

    // Bisection is valid because more requests in flight make all of them wait longer. It ends where even the largest
    // number that is left is worse than the best set-up by more than this factor.
    void bisect(std::span<ServerGroup> groups, double factor) {
        struct Bounds {
            std::ptrdiff_t met = -1;
            std::ptrdiff_t missed = 0;
        };
        std::vector<Bounds> bounds;
        for (const ServerGroup& group : groups) {
            std::ptrdiff_t missed = 0;
            for (const ServingCandidate* each : group.candidates) {
                if (late(*each)) break;
                ++missed;
            }
            bounds.push_back({-1, missed});
        }
        bool first = true;
        while (true) {
            const double best = best_value();
            std::vector<const ServingCandidate*> wanted;
            std::vector<std::pair<std::size_t, std::ptrdiff_t>> at;
            for (std::size_t i = 0; i < groups.size(); ++i) {
                const Bounds& range = bounds[i];
                if (range.missed - range.met < 2) continue;
                const ServingCandidate& last = *groups[i].candidates[static_cast<std::size_t>(range.missed - 1)];
                if (value_of(search_, last) > factor * best) continue;
                // the largest may well be met
                const std::ptrdiff_t middle = first ? range.missed - 1 : range.met + (range.missed - range.met) / 2;
                wanted.push_back(groups[i].candidates[static_cast<std::size_t>(middle)]);
                at.emplace_back(i, middle);
            }
            if (wanted.empty()) break;
            price(wanted);
            std::vector<const ServingCandidate*> last = wanted;  // with the most servers that prefill
            for (int i = 0; i < most_more_prefill; ++i) add_prefill(groups, at, last);
            for (std::size_t k = 0; k < at.size(); ++k) {
                const auto& [i, middle] = at[k];
                (simulated_to_meet(*last[k]) ? bounds[i].met : bounds[i].missed) = middle;
            }
            first = false;
        }
        for (std::size_t i = 0; i < groups.size(); ++i) {
            if (bounds[i].missed - bounds[i].met < 2)
                at_their_best_.push_back(set_up_of(*groups[i].candidates.front()));
        }
    }

    [[nodiscard]] bool simulated_to_meet(const ServingCandidate& candidate) const {
        const ServingPlan* plan = priced(candidate);
        return plan != nullptr && meets(search_, plan->rates);
    }

    // Simulates with one more server that prefills those that miss the target of TTFT alone, as far as there are chips.
    void add_prefill(std::span<ServerGroup> groups, const std::vector<std::pair<std::size_t, std::ptrdiff_t>>& at,
                     std::vector<const ServingCandidate*>& last) {
        std::vector<const ServingCandidate*> wanted;
        for (std::size_t k = 0; k < at.size(); ++k) {
            const ServingPlan* plan = priced(*last[k]);
            if (plan == nullptr || !last[k]->prefill || meets(search_, plan->rates)) continue;
            const double tpot_s = figure_of(plan->rates.tpot, search_.statistic);
            if (search_.targets.tpot_s && tpot_s > *search_.targets.tpot_s) continue;
            const std::optional<ServingCandidate> more = with_more_prefill(*last[k]);
            if (!more || value_of(search_, *more) > worse * best_value()) continue;
            last[k] = &more_prefill_.emplace_back(*more);
            groups[at[k].first].more_prefill.push_back(last[k]);
            wanted.push_back(last[k]);
        }
        price(wanted);
    }

    [[nodiscard]] std::optional<ServingCandidate> with_more_prefill(ServingCandidate candidate) const {
        const ServingSetUp& server = found_.servers[*candidate.prefill];
        ++candidate.prefill_workers;
        candidate.chips += server.chips();
        const std::int64_t all = search_.prefill ? search_.prefill->slice.chips() : search_.job.slice.chips();
        const std::int64_t used = search_.prefill ? candidate.prefill_workers * server.chips() : candidate.chips;
        if (used > all || candidate.prefill_workers > max_servers) return std::nullopt;
        if (const auto& price = server.slice.machine.price) {
            candidate.usd_per_s += price->value * static_cast<double>(server.chips());
        }
        return candidate;
    }

    // Nothing meets the targets: those that are estimated to come nearest.
    void price_nearest() {
        std::vector<const ServingCandidate*> all;
        for (const ServingCandidate& each : found_.candidates) all.push_back(&each);
        const auto beyond = [&](const ServingCandidate* each) {
            return excess_of(search_.targets, each->ttft_s, each->tpot_s);
        };
        const std::size_t count = std::min<std::size_t>(all.size(), 2 * round_of_groups);
        std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                          [&](const auto* a, const auto* b) { return beyond(a) < beyond(b); });
        all.resize(count);
        price(all);
    }

    [[nodiscard]] double best_value() const {
        double best = infinite;
        for (const ServingPlan& each : priced_) {
            if (meets(search_, each.rates)) best = std::min(best, value_of(search_, each));
        }
        return best;
    }

    // Orders what was simulated, and keeps the best of each kind of servers.
    void choose() {
        std::vector<const ServingPlan*> all;
        for (const ServingPlan& each : priced_) {
            if (meets(search_, each.rates)) all.push_back(&each);
        }
        answer_.meets = !all.empty();
        if (all.empty()) {
            answer_.best = *std::min_element(priced_.begin(), priced_.end(), [&](const auto& a, const auto& b) {
                return excess_of(search_, a.rates) < excess_of(search_, b.rates);
            });
            return;
        }
        all = sorted_by(std::move(all), [&](const ServingPlan* each) { return value_of(search_, *each); });
        answer_.plans.clear();
        for (const ServingPlan* each : all) {
            const bool known = std::any_of(answer_.plans.begin(), answer_.plans.end(), [&](const ServingPlan& plan) {
                return same_kind(plan.set_up, each->set_up);
            });
            if (!known && (answer_.plans.empty() || at_its_best(each->set_up))) answer_.plans.push_back(*each);
            if (answer_.plans.size() >= search_.shown) break;
        }
        answer_.best = answer_.plans.front();
    }

    [[nodiscard]] bool at_its_best(const ServingSetUp& set_up) const {
        return !found_.expected || std::any_of(at_their_best_.begin(), at_their_best_.end(),
                                               [&](const ServingSetUp& each) { return same_kind(each, set_up); });
    }

    // Whatever their number.
    static bool same_kind(const ServingSetUp& a, const ServingSetUp& b) {
        ServingSetUp one = a;
        one.workers = b.workers;
        if (one.prefill && b.prefill) one.prefill->workers = b.prefill->workers;
        return one.same_servers(b);
    }

    // Between the steps of their numbers of requests set-ups may take more of them: otherwise kinds of servers would be
    // as much as a third worse than they are, as the steps happen to lie.
    void refine() {
        if (!search_.targets.any()) return;
        const std::vector<ServingPlan> shown = answer_.plans;
        std::vector<std::vector<ServingPlan>> better(shown.size());
        std::vector<std::int64_t> simulated(shown.size());
        on_threads(shown.size(), search_.threads, calibrations_,
                   [&](std::size_t i, const std::shared_ptr<Calibrations>& own) {
                       better[i] = with_more_requests(shown[i], own, simulated[i]);
                   });
        for (std::size_t i = 0; i < shown.size(); ++i) {
            found_.counts.searched += simulated[i];
            found_.counts.priced += simulated[i];
            for (ServingPlan& each : better[i]) priced_.push_back(std::move(each));
        }
        choose();
    }

    // Returns the better ones of the set-ups with up to half as many requests more, found by bisection.
    std::vector<ServingPlan> with_more_requests(const ServingPlan& plan,
                                                const std::shared_ptr<Calibrations>& calibrations,
                                                std::int64_t& simulated) {
        std::vector<ServingPlan> better;
        double best = value_of(search_, plan);
        std::int64_t met = plan.set_up.batch;
        std::int64_t missed = met * 3 / 2;
        constexpr int most_steps = 6;
        for (int i = 0; i < most_steps; ++i) {
            ServingSetUp more = plan.set_up;
            more.batch = met + (missed - met) / 2;
            if (more.batch <= met || more.batch >= missed) break;
            auto found = watched(more, calibrations);
            ++simulated;
            const bool good = found && found->fits && meets(search_, found->rates) && value_of(search_, *found) < best;
            (good ? met : missed) = more.batch;
            if (!good) continue;
            best = value_of(search_, *found);
            better.push_back(std::move(*found));
        }
        return better;
    }

    void front() {
        std::vector<const ServingPlan*> all;
        for (const ServingPlan& each : priced_) all.push_back(&each);
        all = sorted_by(std::move(all), [](const ServingPlan* each) {
            return std::pair(-each->rates.user_tokens_per_s(), -each->tokens_per_s_per_chip());
        });
        double most = 0;
        for (const ServingPlan* each : all) {
            if (each->tokens_per_s_per_chip() <= most) continue;
            most = each->tokens_per_s_per_chip();
            answer_.frontier.push_back(*each);
        }
    }

    void changes() {
        if (!search_.elasticities) return;
        const std::vector<ServingPlan>& plans = answer_.plans;
        const std::size_t first = std::min<std::size_t>(1, plans.size());
        answer_.changes = serving_changes(search_, job_, answer_.best, std::span(plans).subspan(first), calibrations_);
        if (answer_.meets) answer_.next = better_beyond_targets(search_, answer_.best, priced_);
    }

    void note_dtype(const Machine& machine) {
        if (std::string note = sixteen_bits_note(machine); !note.empty()) answer_.notes.push_back(std::move(note));
    }

    Status finish() {
        const bool carries = search_.objective == ServingObjective::chips && found_.expected && answer_.meets;
        if (carries) {
            changes();
            ROOFLINE_CHECK(carry_rate(search_, job_, calibrations_, answer_));
        }
        ServeQuestion question = question_of(job_, answer_.best.set_up);
        if (question.load) question.load->rate = answer_.rate_of_each;
        if (question.load && search_.statistic == TimeStatistic::p99) question.load->targets = search_.targets;
        ROOFLINE_TRY(answer_.served, predict_serving(std::move(question), calibrations_));
        if (!carries) {
            answer_.replicas = deployments_of(search_, answer_.best.set_up);
            changes();
        }
        answer_.counts = found_.counts;
        if (!found_.expected) {
            answer_.notes.emplace_back(
                "no calibration covers this machine and model: set-ups are compared by times without overlap, on "
                "servers that prefill and decode");
        }
        note_dtype(search_.job.slice.machine);
        if (search_.prefill && search_.prefill->slice.machine.id != search_.job.slice.machine.id) {
            note_dtype(search_.prefill->slice.machine);
        }
        return {};
    }

    const ServingSearch& search_;
    ServeQuestion job_;  ///< without a load where no times are expected under one
    const std::shared_ptr<Calibrations>& calibrations_;
    SearchWatch watch_;
    ServingCandidates found_;
    std::vector<ServingPlan> priced_;
    std::map<Key, std::optional<std::size_t>> places_;
    std::deque<ServingCandidate> more_prefill_;
    std::vector<ServingSetUp> at_their_best_;  ///< their largest number of requests within the targets is found
    std::optional<Error> first_error_;
    ServingSearchAnswer answer_;
};

}  // namespace

Result<ServingSearchAnswer> search_serving(const ServingSearch& search,
                                           const std::shared_ptr<Calibrations>& calibrations) {
    auto answer = SetUpSearch(search, calibrations).run();
    if (search.job.stop && search.job.stop()) return interrupted_search();
    return answer;
}

}  // namespace roofline::core
