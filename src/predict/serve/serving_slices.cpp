#include "predict/serve/serving_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bound/network_pricing.hpp"
#include "bound/pricing.hpp"
#include "bound/times.hpp"
#include "model/machine_dtype.hpp"
#include "model/routed_experts.hpp"
#include "network/slice_shapes.hpp"
#include "plan/exchange_layout.hpp"
#include "plan/expert_placement.hpp"
#include "plan/pipeline_stage.hpp"
#include "predict/serve/instance_plans.hpp"
#include "predict/serve/whole_pass.hpp"
#include "work/work.hpp"

namespace roofline::core {

namespace {

/// The program of a pass and the tensors that stay where they are.
struct SplitProgram {
    Program program;
    StayingAxes stay;
};

Result<SplitProgram> split_pass(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                const ServingPass& pass) {
    const ServedModel& served = setup.of(pass);
    SplitProgram split{served.model.program, {}};
    if (plan.chips() > 1) {
        ROOFLINE_TRY(auto made, split_for_serving(split.program, served.model.roles, plan, caches));
        split = {std::move(made.program), std::move(made.stay)};
    }
    ROOFLINE_TRY(split.program,
                 serving_program(std::move(split.program), served.model, pass, served.stored, served.routing));
    // also that of a drafter, and of slices that prefill for another machine
    use_sixteen_bits_of(setup.slice.machine, split.program);
    return split;
}

ServingMemory sum_of(const ServingMemory& one, const ServingMemory& other) {
    return {one.weights + other.weights, one.kv + other.kv, one.activations + other.activations};
}

// Whether the chips of a plan can hold the redundant experts.
Status check_experts(const ServedModel& served, const Plan& plan) {
    for (const SharedExperts& each : shared_experts(served.model.program, plan)) {
        ROOFLINE_CHECK(check_placement(served.routing, each));
    }
    return {};
}

bool has_experts(const Value& value, const RoutedExperts& routed) {
    return std::any_of(value.type.axes.begin(), value.type.axes.end(),
                       [&](const Axis& axis) { return axis.dim == routed.experts; });
}

// Returns by value of a pass's program how many times as much of it a chip holds with redundant experts, times `held`.
std::vector<double> with_replicas(const Program& pass, const ServedModel& served, const Plan& plan,
                                  std::vector<double> held) {
    if (!(served.routing.replicas() > 0)) return held;
    held.resize(pass.values.size(), 1);
    const std::vector<SharedExperts> shared = shared_experts(served.model.program, plan);
    const std::vector<RoutedExperts> routed = routed_experts(pass);
    for (std::size_t i = 0; i < std::min(shared.size(), routed.size()); ++i) {
        const SharedExperts& each = shared[i];
        const double without = std::ceil(each.experts / each.chips);
        const double more = (each.experts + served.routing.replicas()) / each.chips / without;
        for (ValueId id = 0; id < pass.values.size(); ++id) {
            if (pass.values[id].param && has_experts(pass.values[id], routed[i])) held[id] *= more;
        }
    }
    return held;
}

/// Peak activation memory at another batch with the layout of a pass.
double activations_at(const Prediction& pass, std::int64_t batch) {
    Sizes sizes = pass.local->sizes;
    sizes["B"] = batch;
    return activation_bytes(*pass.local, pass.analysis.work, sizes);
}

}  // namespace

// Chips of `tensor` have the same tokens, and need not exchange any.
const ExchangeKernels* ServingSetup::exchange_of(const Plan& plan, ServingPhase phase) const {
    if (plan.expert == 1) return nullptr;
    return phase == ServingPhase::decode ? exchange.decode : exchange.prefill;
}

ServingSetup drafting(const ServingSetup& setup) {
    const Drafter& drafter = *setup.speculation->drafter;
    ServingSetup own{drafter.prefill, drafter.decode,    setup.slice,        setup.calibrations,
                     setup.software,  setup.collectives, setup.balancedness, setup.two_batches};
    own.in_last_stage = true;
    own.exchange = setup.exchange;
    own.whole = setup.whole;
    return own;
}

Plan drafting_plan(const ServingSetup& setup, const Plan& plan) {
    const Model& model = setup.speculation->drafter->decode.model;
    if (!routed_experts(model.program).empty()) return plan;
    Plan own = plan;
    own.data = plan.data * plan.expert;
    own.expert = 1;
    own.experts_over_tensor = false;
    return own;
}

std::int64_t step_queries(const ServingSetup& setup) {
    return 1 + (setup.speculation != nullptr ? setup.speculation->tokens : 0);
}

std::vector<Plan> serving_plans(const ServedModel& served, const Slice& slice, std::int64_t batch) {
    std::vector<Plan> plans = instance_plans(served, slice, true).plans;
    // each member and stage has a sequence
    const auto idle = [&](const Plan& plan) { return prompts_at_once(plan) * plan.pipeline > batch; };
    if (!std::all_of(plans.begin(), plans.end(), idle)) std::erase_if(plans, idle);
    // it is better to hear why one plan is impossible than that there is none
    if (plans.empty()) plans.push_back({.tensor = slice.chips()});
    return plans;
}

ServingPass chunk_pass(const Plan& plan, std::int64_t prompt, std::int64_t chunk) {
    return {prompts_at_once(plan), std::min(prompt, chunk), prompt};
}

ServingPass prefill_pass(const Plan& plan, std::int64_t prompt) { return {prompts_at_once(plan), prompt, prompt}; }

namespace {

// The pricing of a pass in which every token finds its experts on its own chip, so that there is no dispatch.
Result<Pricing> without_dispatch(const Prediction& pass) {
    Work work = pass.analysis.total.work;
    for (MessageWork& each : work.messages) {
        const bool routed = each.message.kind == CollectiveKind::all_to_all && has(each.message.axes, "expert");
        if (routed) each.message.sure = Rational(0);
    }
    ROOFLINE_TRY(auto pricing, price(work, pass.machine));
    ROOFLINE_CHECK(price_network(pricing, work, pass.system));
    return pricing;
}

}  // namespace

Result<RoutingBound> least_pass(const Prediction& pass, double chips) {
    const auto& even = pass.analysis.total.seconds;
    const std::vector<RoutedExperts> routed = routed_experts(pass.program);
    if (routed.empty() || !even) return bound_of(pass.analysis.total.pricing, pass.analysis.total.least_seconds);
    // the average number of tokens per expert need not be an integer
    Sizes sizes = pass.local->sizes;
    std::vector<std::string> dims;
    std::vector<double> rows;
    for (const RoutedExperts& each : routed) {
        dims.push_back(each.rows);
        const auto routes =
            static_cast<double>(product_of(each.tokens, sizes)) * static_cast<double>(product_of(each.choices, sizes));
        // of each expert on the chips that hold the most
        const auto experts = static_cast<double>(product_of({each.experts}, sizes));
        rows.push_back(routes / (std::ceil(experts / chips) * chips));
    }
    ROOFLINE_TRY(const auto pricing, without_dispatch(pass));
    Sizes others = sizes;
    for (const std::string& dim : dims) others.erase(dim);
    const CompiledTimes shared(pricing, dims, others);
    std::vector<double> seconds(shared.places());
    shared.evaluate(rows, seconds);
    bind_fewest_experts(pass.program, sizes);
    const CompiledTimes same(pricing, {}, sizes);
    std::vector<double> fewest(same.places());
    same.evaluate({}, fewest);
    std::vector<double> least;
    for (std::size_t i = shared.resources(); i < 2 * shared.resources(); ++i) {
        least.push_back(std::min(seconds[i], fewest[i]));
    }
    return bound_of(pricing, std::move(least));
}

// The tensors that pass from layer to layer have a row per token.
Result<StageSends> sends_of(const Prediction& pass, std::int64_t stages) {
    for (const Value& value : pass.local->values) {
        if (!value.carried || value.intermediate) continue;
        const auto bytes = bytes_of(pass.local->local_dims, value).evaluate(pass.local->sizes);
        if (!bytes) break;
        ROOFLINE_TRY(const auto latency_s, stage_transfer_s(pass.system, 0));
        ROOFLINE_TRY(const auto all_s, stage_transfer_s(pass.system, bytes->to_double()));
        const auto sends = static_cast<double>(stages - 1);
        const auto tokens = static_cast<double>(product_of({"B", "T"}, pass.program.sizes));
        return StageSends{latency_s * sends, (all_s - latency_s) * sends / tokens};
    }
    return StageSends{};
}

namespace {

Result<Prediction> pass_by_kernels(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                   const ServingPass& pass) {
    ROOFLINE_CHECK(check_experts(setup.of(pass), plan));
    ROOFLINE_TRY(auto split, split_pass(setup, plan, caches, pass));
    PredictOptions options = as_planned(setup.of(pass).model.name, setup.software, split.stay);
    options.routing = TokenRouting::uniform;
    options.fastest = true;
    options.exchange = setup.exchange_of(plan, pass.phase);
    if (options.exchange != nullptr) {
        options.exchange_stay = staying_for_exchange(split.program, options.exchange->form, options.stay);
    }
    ROOFLINE_TRY(auto system, plan_system(setup.slice, split.program, setup.collectives));
    auto priced = predict(std::move(split.program), std::move(system), options, setup.calibrations);
    if (!priced || plan.pipeline == 1 || setup.in_last_stage) return priced;
    ROOFLINE_TRY(const auto transfers, sends_of(*priced, plan.pipeline));
    const double sends = transfers.seconds(static_cast<double>(pass.batch * pass.queries));
    // groups of sequences could be smaller, so that transfers overlap; they are therefore not part of the lower bound
    const auto add = [&](Prediction& laid) {
        laid.analysis.total.sequential += sends;
        laid.analysis.total.bounds.upper += sends;
        if (laid.expected_s) *laid.expected_s += sends;
    };
    add(*priced);
    for (Prediction& other : priced->alternative_predictions) add(other);
    return priced;
}

}  // namespace

Result<Prediction> priced_pass(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                               const ServingPass& pass) {
    auto priced = pass_by_kernels(setup, plan, caches, pass);
    if (!priced || setup.whole.empty()) return priced;
    const auto by_kernels = [&](const ServingPass& chunk) { return pass_by_kernels(setup, plan, caches, chunk); };
    ROOFLINE_TRY(const auto whole,
                 expected_whole_pass(setup.calibrations->passes(), setup.whole, *priced, pass, plan, by_kernels));
    for (Prediction& other : priced->alternative_predictions) other.expected_s.reset();
    priced->expected_s.reset();
    if (!whole) {
        priced->why_not_expected =
            plan.chips() == plan.pipeline
                ? fmt::format(
                      "{} was not measured on chips like it; times with weights in a dtype, such as int4, are "
                      "those of other servers",
                      setup.whole)
                : fmt::format("{} was measured with layers on one chip or spread over stages alone", setup.whole);
        return priced;
    }
    priced->expected_s = whole->seconds;
    priced->expected_error = whole->error;
    return priced;
}

namespace {

// A pass with bounds alone, which need no layout but the one with the lowest bound.
Result<Prediction> bounded_pass(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                const ServingPass& pass) {
    ROOFLINE_TRY(auto split, split_pass(setup, plan, caches, pass));
    PredictOptions options = as_planned(setup.of(pass).model.name, "", split.stay);
    options.routing = TokenRouting::uniform;
    ROOFLINE_TRY(auto system, plan_system(setup.slice, split.program, setup.collectives));
    return predict(std::move(split.program), std::move(system), options,
                   std::make_shared<Calibrations>(std::vector<Calibration>{}));
}

// The seconds of a bound in the order of these resources. One without work in the layout of the bound takes no time.
std::vector<double> in_order_of(const std::vector<Resource>& resources, const RoutingBound& bound,
                                const std::vector<Resource>& own) {
    std::vector<double> seconds;
    for (const Resource& resource : resources) {
        const auto found =
            std::find_if(own.begin(), own.end(), [&](const Resource& each) { return each.id == resource.id; });
        const auto at = static_cast<std::size_t>(found - own.begin());
        seconds.push_back(at < bound.seconds.size() ? bound.seconds[at] : 0);
    }
    return seconds;
}

}  // namespace

Result<RoutingBound> least_of(const ServingSetup& setup, const Plan& plan, CacheSplit caches, const ServingPass& pass,
                              const Prediction& priced) {
    const auto least_with = [&](ExpertsRead experts) -> Result<RoutingBound> {
        ServingPass read = pass;
        read.experts = experts;
        ROOFLINE_TRY(const auto laid, bounded_pass(setup, plan, caches, read));
        ROOFLINE_TRY(auto bound, least_pass(laid, expert_chips(plan)));
        bound.seconds =
            in_order_of(priced.analysis.total.pricing.resources, bound, laid.analysis.total.pricing.resources);
        return bound;
    };
    const ExpertRouting& routing = setup.of(pass).routing;
    const bool alike = routing.uniform() && !(routing.replicas() > 0);
    ROOFLINE_TRY(auto even, alike ? least_pass(priced, expert_chips(plan)) : least_with(ExpertsRead::if_alike));
    if (plan.chips() == 1 || routed_experts(priced.program).empty()) return even;
    ROOFLINE_TRY(auto fewest, least_with(ExpertsRead::fewest));
    return fewest.lower_s < even.lower_s ? fewest : even;
}

Result<double> prefill_activations(const ServingSetup& setup, const Plan& plan, std::int64_t prompt, std::int64_t chunk,
                                   const Prediction& prefill) {
    const auto of = [](const Prediction& pass) {
        return activation_bytes(*pass.local, pass.analysis.work, pass.local->sizes);
    };
    if (prompt <= chunk) return of(prefill);
    ROOFLINE_TRY(auto last, priced_pass(setup, plan, CacheSplit::heads, chunk_pass(plan, prompt, chunk)));
    return of(last);
}

Result<std::vector<SplitPass>> priced_splits(const ServingSetup& setup, const Plan& plan, const ServingPass& pass) {
    std::vector<CacheSplit> splits{CacheSplit::heads};
    if (plan.tensor > 1) {
        ROOFLINE_TRY(auto split,
                     split_for_serving(setup.decode.model.program, setup.decode.model.roles, plan, CacheSplit::heads));
        const bool enough = pass.batch >= split.members * prompts_at_once(plan);
        if (split.caches_differ) splits.push_back(CacheSplit::context);
        if (split.caches_differ && enough) splits.push_back(CacheSplit::batch);
    }
    std::vector<SplitPass> all;
    std::optional<Error> error;
    for (const CacheSplit split : splits) {
        auto priced = priced_pass(setup, plan, split, pass);
        if (priced) {
            all.push_back({split, std::move(*priced)});
        } else {
            error = priced.error();
        }
    }
    if (all.empty()) return fail(*error);
    std::sort(all.begin(), all.end(), [](const SplitPass& a, const SplitPass& b) {
        return std::pair(pass_seconds(a.pass), a.caches) < std::pair(pass_seconds(b.pass), b.caches);
    });
    return all;
}

Result<SplitPass> best_split(const ServingSetup& setup, const Plan& plan, const ServingPass& pass) {
    ROOFLINE_TRY(auto all, priced_splits(setup, plan, pass));
    return std::move(all.front());
}

Result<KeptMemory> KeptMemory::make(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                    std::int64_t context, bool one_chip) {
    KeptMemory made;
    ROOFLINE_TRY(auto split,
                 split_pass(setup, plan, caches,
                            {prompts_at_once(plan), context, context, ServingPhase::prefill, ExpertsRead::all}));
    made.program_ = std::move(split.program);
    made.stored_ = &setup.prefill.stored.params;
    made.one_chip_ = one_chip;
    const auto replicated = [&](std::vector<double> held) {
        return one_chip ? with_replicas(made.program_, setup.prefill, plan, std::move(held)) : held;
    };
    if (one_chip) ROOFLINE_CHECK(check_experts(setup.prefill, plan));
    if (setup.speculation != nullptr && setup.speculation->drafter) {
        ROOFLINE_TRY(auto drafter, make(drafting(setup), drafting_plan(setup, plan), caches, context, one_chip));
        made.drafter_ = std::make_shared<const KeptMemory>(std::move(drafter));
    }
    if (plan.pipeline == 1 || setup.in_last_stage) {
        made.stages_.push_back({replicated({}), true});
        return made;
    }
    ROOFLINE_TRY(auto stages, pipeline_stages(made.program_, plan.pipeline));
    for (const PipelineStage& stage : stages) {
        ROOFLINE_TRY(auto held, stage_shares(made.program_, plan.pipeline, stage));
        made.stages_.push_back({replicated(std::move(held)), stage.place == StagePlace::last});
    }
    return made;
}

ServingMemory KeptMemory::of(std::int64_t batch) const {
    // of the sizes of weights and caches only this one depends on the batch
    Sizes sizes = program_.sizes;
    sizes["B"] = batch;
    ServingMemory most;
    for (const Held& stage : stages_) {
        ServingMemory memory = kept_bytes(program_, sizes, *stored_, one_chip_, stage.shares);
        if (stage.last && drafter_) memory = sum_of(memory, drafter_->of(batch));
        if (memory.total() > most.total()) most = memory;
    }
    return most;
}

Result<ServingMemory> kept_memory(const ServingSetup& setup, const Plan& plan, CacheSplit caches,
                                  const ServingPass& last, bool one_chip) {
    ROOFLINE_TRY(const auto kept, KeptMemory::make(setup, plan, caches, last.context, one_chip));
    return kept.of(last.batch);
}

Result<ServingMemory> memory_of(const ServingSetup& setup, const Plan& plan, CacheSplit caches, const ServingPass& last,
                                double prefill, const Prediction& decode) {
    ROOFLINE_TRY(const auto kept, KeptMemory::make(setup, plan, caches, last.context, true));
    return memory_of(kept, plan, last.batch, prefill, decode);
}

ServingMemory memory_of(const KeptMemory& kept, const Plan& plan, std::int64_t batch, double prefill,
                        const Prediction& decode) {
    ServingMemory memory = kept.of(batch);
    memory.activations = std::max(prefill, activations_at(decode, sequences_at_once(plan, batch)));
    return memory;
}

Result<ServingMemory> whole_memory(const ServingSetup& setup, const ServingPass& last, const ServingPass& prefill) {
    ROOFLINE_TRY(auto decoding, split_pass(setup, Plan{}, CacheSplit::heads, last));
    ROOFLINE_TRY(auto prefilling, split_pass(setup, Plan{}, CacheSplit::heads, prefill));
    ROOFLINE_TRY(auto memory_kept, kept_memory(setup, Plan{}, CacheSplit::heads, last, false));
    ServingMemory memory = memory_kept;
    for (const auto* pass : {&decoding, &prefilling}) {
        ROOFLINE_TRY(auto work, derive_work(pass->program));
        memory.activations = std::max(memory.activations, activation_bytes(pass->program, work, pass->program.sizes));
    }
    return memory;
}

Result<std::optional<SmallestSlice>> smallest_slice(const ServingSetup& setup, const std::string& machine,
                                                    std::int64_t prompt, std::int64_t chunk, const ServingPass& last) {
    const MemoryLevel* memory = setup.slice.machine.level("hbm");
    const auto capacity = memory == nullptr ? std::nullopt : memory->total_capacity();
    if (!capacity) return std::optional<SmallestSlice>{};
    ROOFLINE_TRY(auto whole, whole_memory(setup, last, {1, 1, 1}));
    for (const Slice& slice : slice_shapes(setup.slice.machine)) {
        const auto chips = static_cast<double>(slice.chips());
        if (whole.weights + whole.kv > chips * capacity->value) continue;
        const ServingSetup here{setup.prefill,       setup.decode,      slice,
                                setup.calibrations,  setup.software,    setup.collectives,
                                setup.balancedness,  setup.two_batches, setup.speculation,
                                setup.in_last_stage, setup.exchange};
        for (const Plan& plan : serving_plans(setup.decode, slice, last.batch)) {
            auto splits = priced_splits(here, plan, last);
            if (!splits) continue;
            Result<double> activations = 0.0;
            if (prompt > 0) {
                auto prefill = priced_pass(here, plan, CacheSplit::heads, prefill_pass(plan, prompt));
                if (!prefill) continue;
                activations = prefill_activations(here, plan, prompt, chunk, *prefill);
            }
            if (!activations) continue;
            for (const SplitPass& decode : *splits) {
                auto needed = memory_of(here, plan, decode.caches, last, *activations, decode.pass);
                if (!needed || needed->total() > capacity->value) continue;
                return std::optional<SmallestSlice>{
                    {fmt::format("{}:{}", machine, slice.shape_text()), slice.chips(), plan}};
            }
        }
    }
    return std::optional<SmallestSlice>{};
}

}  // namespace roofline::core
