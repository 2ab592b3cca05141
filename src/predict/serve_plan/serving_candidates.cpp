#include "predict/serve_plan/serving_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "network/slice_shapes.hpp"
#include "predict/plan/on_threads.hpp"
#include "predict/plan/plan_objective.hpp"
#include "predict/serve/instance_plans.hpp"
#include "predict/serve/served_question.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t largest_server = 512;  // chips
constexpr std::int64_t most_workers = 64;     // of a pool of one deployment
constexpr std::size_t prefills_beside = 4;    // servers that prefill which are tried for each that decodes

// The divisors of a number of chips and the powers of two within it.
std::vector<std::int64_t> server_sizes(std::int64_t chips) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = 1; size <= std::min(chips, largest_server); ++size) {
        if (chips % size == 0 || (size & (size - 1)) == 0) sizes.push_back(size);
    }
    return sizes;
}

bool has_degrees(const Plan& plan, const FixedAxes& fixed, const std::vector<std::string>& without) {
    const auto axes = plan_axes(plan);
    return std::all_of(axes.begin(), axes.end(), [&](const auto& axis) {
        const auto& [name, degree] = axis;
        const auto found = fixed.degrees.find(name);
        // frameworks count the chips that experts lie over, of which `tensor` may be a part
        const bool over_tensor = name == "expert" && plan.experts_over_tensor && found != fixed.degrees.end() &&
                                 degree * plan.tensor == found->second;
        if (found != fixed.degrees.end() && found->second != degree && !over_tensor) return false;
        return degree == 1 || std::find(without.begin(), without.end(), name) == without.end();
    });
}

/// Servers on some chips.
struct ChipsOfServers {
    const Slice& slice;  ///< all chips
    const std::string& machine;
    const FixedAxes& fixed;
};

/// A server that was compiled, with its estimates.
struct Compiled {
    std::int64_t room = 0;
    std::vector<std::pair<std::int64_t, ServingEstimate>> together{};  ///< by batch
    std::vector<std::pair<std::int64_t, ServingEstimate>> decoding{};
    double prompts_per_s = 0;
    double prompt_s = 0;
    std::optional<Error> error{};
    bool skipped = false;  ///< not compiled, because it cannot be among the best
};

// 1, 2, 3, 4, 6, 8.. times as many requests as every member and stage takes at a time, and as many as there is room
// for. Beyond a step that gains less than a per cent there is no use in more.
std::vector<std::int64_t> batches_of(const Plan& plan, std::int64_t room) {
    const std::int64_t unit = prompts_at_once(plan) * plan.pipeline;
    std::vector<std::int64_t> batches;
    if (unit > 1 && room >= 1) batches.push_back(1);
    for (std::int64_t power = 1; power * unit <= room; power *= 2) {
        batches.push_back(power * unit);
        if (power > 1 && power / 2 * 3 * unit <= room) batches.push_back(power / 2 * 3 * unit);
    }
    batches.push_back(room);
    std::sort(batches.begin(), batches.end());
    batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
    std::erase_if(batches, [](std::int64_t batch) { return batch < 1; });
    return batches;
}

Compiled compiled(const ServingSearch& search, const ServingSetUp& set_up,
                  const std::shared_ptr<Calibrations>& calibrations) {
    Compiled result;
    ServingSetUp typical = set_up;
    constexpr std::int64_t usual = 16;  // sequences of a member
    typical.batch = usual * prompts_at_once(set_up.plan) * set_up.plan.pipeline;
    auto server = ServingInstance::make(search.job, typical, calibrations);
    if (!server) {
        result.error = server.error();
        return result;
    }
    result.room = server->room();
    constexpr double least_gain = 1.01;
    for (const std::int64_t batch : batches_of(set_up.plan, result.room)) {
        const auto add = [&](auto& list, const ServingEstimate& estimate) {
            const bool gains =
                list.size() < 4 || estimate.requests_per_s > least_gain * list[list.size() - 2].second.requests_per_s;
            if (gains) list.emplace_back(batch, estimate);
        };
        if (search.together) add(result.together, server->together(batch));
        if (search.apart) add(result.decoding, server->decoding(batch));
    }
    result.prompts_per_s = server->prompts_per_s();
    result.prompt_s = server->prompt_s();
    return result;
}

double usd_per_s(const Slice& slice) {
    const auto& price = slice.machine.price;
    return price ? price->value * static_cast<double>(slice.chips()) : std::numeric_limits<double>::quiet_NaN();
}

class Candidates {
public:
    Candidates(const ServingSearch& search, const std::shared_ptr<Calibrations>& calibrations, SearchWatch& watch)
        : search_(search), calibrations_(calibrations), watch_(watch) {}

    Result<ServingCandidates> run() {
        const ChipsOfServers own{search_.job.slice, search_.job.machine, search_.fixed};
        ROOFLINE_CHECK(list(own));
        prefills_from_ = search_.prefill || !search_.prefill_fixed.degrees.empty() ? found_.servers.size() : 0;
        if (search_.apart && prefills_from_ > 0) {
            const bool other = search_.prefill.has_value();
            ROOFLINE_CHECK(list({other ? search_.prefill->slice : search_.job.slice,
                                 other ? search_.prefill->machine : search_.job.machine, search_.prefill_fixed}));
        }
        compile();
        if (!found_.expected) {
            list_unestimated();
            return std::move(found_);
        }
        const std::size_t decoders = prefills_from_ > 0 ? prefills_from_ : found_.servers.size();
        for (std::size_t i = 0; i < decoders; ++i) {
            if (search_.together) add_together(i);
        }
        if (search_.apart) {
            for (const ServedForm& form : search_.forms) add_apart(form, decoders);
        }
        return std::move(found_);
    }

private:
    // Lists the servers of all sizes.
    Status list(const ChipsOfServers& on) {
        for (const ServedForm& form : search_.forms) {
            ServeQuestion question = search_.job;
            question.slice = on.slice;
            question.weights = form.weights;
            question.kv_dtype = form.kv_dtype;
            question.chunk = form.chunk;
            ServeAnswer answer;
            ROOFLINE_TRY(const auto read,
                         read_question(question, calibrations_->servers(), calibrations_->passes(), answer));
            const bool replicas = on.fixed.degrees.contains("data");
            for (const std::int64_t size : server_sizes(on.slice.chips())) {
                auto slice = slice_of_chips(on.slice.machine, size);
                if (!slice) continue;
                if (size == on.slice.chips()) slice = on.slice;
                const InstancePlans plans = instance_plans(read.decode, *slice, replicas);
                found_.counts.divides += plans.refused;
                found_.counts.searched += plans.refused;
                const double bytes = answer.weights.total.to_double();
                for (const Plan& plan : plans.plans) {
                    if (!has_degrees(plan, on.fixed, search_.without)) continue;
                    if (answer.capacity && bytes > *answer.capacity * static_cast<double>(size)) {
                        ++found_.counts.searched;
                        ++found_.counts.memory;
                        continue;
                    }
                    found_.servers.push_back({form, *slice, plan, 1, 1, std::nullopt});
                }
            }
        }
        return {};
    }

    void compile() {
        compiled_.resize(found_.servers.size());
        std::vector<std::size_t> alone;
        std::vector<std::size_t> pipelines;
        for (std::size_t i = 0; i < found_.servers.size(); ++i) {
            (found_.servers[i].plan.pipeline == 1 ? alone : pipelines).push_back(i);
        }
        compile_each(alone);
        std::vector<std::size_t> worthwhile;
        for (const std::size_t i : pipelines) {
            if (worth_compiling(i)) {
                worthwhile.push_back(i);
            } else {
                compiled_[i].skipped = true;
                ++found_.counts.searched;
                ++found_.counts.slower;
            }
        }
        compile_each(worthwhile);
        bool any = false;
        bool uncalibrated = false;
        for (const Compiled& each : compiled_) {
            any = any || !each.error;
            uncalibrated = uncalibrated || (each.error && each.error->code == "not_calibrated");
        }
        found_.expected = any || !uncalibrated;
        if (!found_.expected) return;
        for (const Compiled& each : compiled_) {
            if (each.skipped || (!each.error && each.room > 0)) continue;
            ++found_.counts.searched;
            const bool memory = !each.error || each.error->code == "does_not_fit";
            ++(memory ? found_.counts.memory : found_.counts.failed);
            if (each.error && !memory && !found_.error) found_.error = each.error;
        }
    }

    void compile_each(const std::vector<std::size_t>& servers) {
        on_threads(servers.size(), search_.threads, calibrations_,
                   [&](std::size_t i, const std::shared_ptr<Calibrations>& own) {
                       if (watch_.stopped() || (search_.job.stop && search_.job.stop())) return;
                       compiled_[servers[i]] = compiled(search_, found_.servers[servers[i]], own);
                       watch_.looked_at(1);
                   });
    }

    // Requests per second and chip of the best server without a pipeline whose tokens take no longer.
    [[nodiscard]] double best_within(double tpot_s, bool apart, const ServedForm& form) const {
        double best = 0;
        for (std::size_t i = 0; i < found_.servers.size(); ++i) {
            if (found_.servers[i].plan.pipeline > 1 || found_.servers[i].form != form) continue;
            for (const auto& [batch, estimate] : apart ? compiled_[i].decoding : compiled_[i].together) {
                if (estimate.tpot_s > tpot_s) continue;
                best = std::max(best, estimate.requests_per_s / static_cast<double>(found_.servers[i].chips()));
            }
        }
        return best;
    }

    // A pipeline takes as long for a token as one of its stages would for all layers, with as many sequences, and
    // transfers beside. It is worth a look where that stage alone has no room for the model, or comes close to the best
    // for any number of sequences.
    [[nodiscard]] bool worth_compiling(std::size_t pipeline) const {
        const ServingSetUp& server = found_.servers[pipeline];
        if (!search_.fixed.degrees.empty() || !search_.prefill_fixed.degrees.empty()) return true;
        Plan stage = server.plan;
        stage.pipeline = 1;
        for (std::size_t i = 0; i < found_.servers.size(); ++i) {
            if (found_.servers[i].plan != stage || found_.servers[i].form != server.form) continue;
            const Compiled& alone = compiled_[i];
            if (alone.error || alone.room < 1) return true;
            for (const bool apart : {false, true}) {
                for (const auto& [batch, estimate] : apart ? alone.decoding : alone.together) {
                    const double rate = estimate.requests_per_s / static_cast<double>(found_.servers[i].chips());
                    constexpr double close = 0.9;
                    if (rate >= close * best_within(estimate.tpot_s, apart, server.form)) return true;
                }
            }
            return false;
        }
        return true;
    }

    // Without estimates every set-up has to be priced, so that there are fewer numbers of requests.
    void list_unestimated() {
        const std::size_t decoders = prefills_from_ > 0 ? prefills_from_ : found_.servers.size();
        for (std::size_t i = 0; i < decoders; ++i) {
            const Plan& plan = found_.servers[i].plan;
            const std::int64_t unit = prompts_at_once(plan) * plan.pipeline;
            constexpr std::int64_t most = 1024;
            for (std::int64_t batch = unit; batch <= most * unit; batch *= 4) {
                ServingCandidate candidate;
                candidate.server = i;
                candidate.batch = batch;
                candidate.chips = found_.servers[i].chips();
                candidate.usd_per_s = usd_per_s(found_.servers[i].slice);
                found_.candidates.push_back(candidate);
                ++found_.counts.searched;
            }
        }
    }

    void add_together(std::size_t i) {
        const ServingSetUp& server = found_.servers[i];
        for (const auto& [batch, estimate] : compiled_[i].together) {
            ServingCandidate candidate;
            candidate.server = i;
            candidate.batch = batch;
            candidate.chips = server.chips();
            candidate.requests_per_s = estimate.requests_per_s;
            candidate.ttft_s = estimate.ttft_s;
            candidate.tpot_s = estimate.tpot_s;
            candidate.usd_per_s = usd_per_s(server.slice);
            found_.candidates.push_back(candidate);
            ++found_.counts.searched;
        }
    }

    /// Pools with the workers that suit each other, by requests of a server that decodes.
    struct Pools {
        std::size_t prefill = 0;
        std::vector<ServingCandidate> candidates{};
        double value =
            0;  ///< the most of a candidate that is estimated to meet the targets: requests/s per chip or USD
    };

    void add_apart(const ServedForm& form, std::size_t decoders) {
        for (std::size_t i = 0; i < decoders; ++i) {
            if (found_.servers[i].form != form) continue;
            for (const Pools& pools : pools_of(i)) {
                for (const ServingCandidate& each : pools.candidates) {
                    found_.candidates.push_back(each);
                    ++found_.counts.searched;
                }
            }
        }
    }

    // The pools in which a server decodes: with the servers that prefill which come to the best values, and with the
    // one that has the fastest prompt.
    [[nodiscard]] std::vector<Pools> pools_of(std::size_t i) const {
        std::vector<Pools> all;
        for (std::size_t prefill = prefills_from_; prefill < found_.servers.size(); ++prefill) {
            const bool late = search_.targets.ttft_s && compiled_[prefill].prompt_s > *search_.targets.ttft_s;
            if (found_.servers[prefill].form != found_.servers[i].form || late) continue;
            if (!(compiled_[prefill].prompts_per_s > 0)) continue;
            Pools pools;
            pools.prefill = prefill;
            for (const auto& [batch, estimate] : compiled_[i].decoding) {
                const auto [candidate, value] = pools_with(i, prefill, batch, estimate);
                if (!(value > 0)) continue;
                pools.candidates.push_back(candidate);
                const bool slow = search_.targets.tpot_s && candidate.tpot_s > *search_.targets.tpot_s;
                if (!slow) pools.value = std::max(pools.value, value);
            }
            if (!pools.candidates.empty()) all.push_back(std::move(pools));
        }
        all = sorted_by(std::move(all), [](const Pools& each) { return -each.value; });
        if (all.size() <= prefills_beside) return all;
        const auto fastest = std::min_element(all.begin(), all.end(), [&](const Pools& a, const Pools& b) {
            return compiled_[a.prefill].prompt_s < compiled_[b.prefill].prompt_s;
        });
        const auto last = all.begin() + static_cast<std::ptrdiff_t>(prefills_beside);
        if (fastest >= last) {
            std::iter_swap(fastest, last);
            all.resize(prefills_beside + 1);
        } else {
            all.resize(prefills_beside);
        }
        return all;
    }

    // What a prompt waits for at least, on servers that are busy for this part of the time: for half of the prompt that
    // is being processed. How many others wait before it depends on how regularly they arrive.
    [[nodiscard]] double prompt_wait_s(std::size_t prefill, double busy) const {
        return std::min(1.0, busy) / 2 * compiled_[prefill].prompt_s;
    }

    // The numbers of workers with the most requests per second and chip, or per USD, of those that are estimated to
    // meet the target of TTFT; of equal ones those with the fewest chips. And this value; 0 where the chips do not
    // suffice.
    [[nodiscard]] std::pair<ServingCandidate, double> pools_with(std::size_t i, std::size_t prefill, std::int64_t batch,
                                                                 const ServingEstimate& estimate) const {
        const std::int64_t chips = found_.servers[i].chips();
        const std::int64_t prefill_chips = found_.servers[prefill].chips();
        const std::int64_t all = search_.job.slice.chips();
        const std::int64_t all_prefill = search_.prefill ? search_.prefill->slice.chips() : all;
        const double cost = usd_per_s(found_.servers[i].slice);
        const double prefill_cost = usd_per_s(found_.servers[prefill].slice);
        const bool by_cost = search_.objective == ServingObjective::cost;
        const double weight = by_cost ? cost : static_cast<double>(chips);
        const double prefill_weight = by_cost ? prefill_cost : static_cast<double>(prefill_chips);
        ServingCandidate best;
        best.server = i;
        best.prefill = prefill;
        best.batch = batch;
        best.tpot_s = estimate.tpot_s;
        double best_value = 0;
        bool best_late = true;
        const double prompts = compiled_[prefill].prompts_per_s;
        for (std::int64_t workers = 1; workers <= std::min(most_workers, all / chips); ++workers) {
            const double decoded = static_cast<double>(workers) * estimate.requests_per_s;
            const double wanted = decoded / prompts;
            const double whole = std::ceil(wanted);
            for (const double count : {std::floor(wanted), whole, whole + 1, std::ceil(1.5 * wanted), 2 * whole}) {
                if (!(count >= 1 && count <= static_cast<double>(most_workers))) continue;
                const auto others = static_cast<std::int64_t>(count);
                const std::int64_t used = workers * chips + others * prefill_chips;
                if (search_.prefill ? others * prefill_chips > all_prefill : used > all) continue;
                const double ttft_s =
                    compiled_[prefill].prompt_s + estimate.ttft_s + prompt_wait_s(prefill, wanted / count);
                const bool late = search_.targets.ttft_s && ttft_s > *search_.targets.ttft_s;
                const double rate = std::min(decoded, count * prompts);
                const double value = rate / (static_cast<double>(workers) * weight + count * prefill_weight);
                constexpr double better = 1.005;
                if (best_value > 0 &&
                    (late ? !best_late || value <= better * best_value : !best_late && value <= better * best_value)) {
                    continue;
                }
                best_value = value;
                best_late = late;
                best.workers = workers;
                best.prefill_workers = others;
                best.chips = used;
                best.requests_per_s = rate;
                best.ttft_s = ttft_s;
            }
        }
        best.usd_per_s =
            cost * static_cast<double>(best.workers) + prefill_cost * static_cast<double>(best.prefill_workers);
        return {best, best_value};
    }

    const ServingSearch& search_;
    const std::shared_ptr<Calibrations>& calibrations_;
    SearchWatch& watch_;
    ServingCandidates found_;
    std::vector<Compiled> compiled_;
    std::size_t prefills_from_ = 0;
};

}  // namespace

ServingSetUp ServingCandidates::set_up_of(const ServingCandidate& candidate) const {
    ServingSetUp set_up = servers[candidate.server];
    set_up.batch = candidate.batch;
    set_up.workers = candidate.workers;
    if (candidate.prefill) {
        const ServingSetUp& prefill = servers[*candidate.prefill];
        set_up.prefill = PrefillServers{prefill.slice, "", prefill.plan, candidate.prefill_workers};
    }
    return set_up;
}

Result<ServingCandidates> serving_candidates(const ServingSearch& search,
                                             const std::shared_ptr<Calibrations>& calibrations, SearchWatch& watch) {
    return Candidates(search, calibrations, watch).run();
}

}  // namespace roofline::core
