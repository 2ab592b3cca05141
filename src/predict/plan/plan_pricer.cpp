#include "predict/plan/plan_pricer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/apply_plan.hpp"
#include "plan/pipeline_stage.hpp"
#include "predict/train/expected_step.hpp"

namespace roofline::core {

namespace {

MeshDegrees degrees_of(const std::vector<MeshAxis>& mesh) {
    MeshDegrees degrees;
    degrees.fill(1);
    for (const MeshAxis& axis : mesh) {
        const std::size_t place = marked_place(axis.name);
        if (place < degrees.size()) degrees[place] = axis.size;
    }
    return degrees;
}

}  // namespace

PlanPricer::PlanPricer(const Model& model, Slice slice, StepPricing pricing)
    : model_(model),
      slice_(std::move(slice)),
      pricing_(std::move(pricing)),
      collectives_(slice_, {pricing_.textbook}, pricing_.calibrations, pricing_.software),
      heads_(size_of_role(model.roles, model.program.sizes, "heads")),
      queries_(size_of_role(model.roles, model.program.sizes, "queries").value_or(1)),
      routed_(routed_experts(model.program)) {
    const MemoryLevel* hbm = slice_.machine.level("hbm");
    if (hbm == nullptr) return;
    if (const auto capacity = hbm->total_capacity()) capacity_ = capacity->value;
    if (hbm->bandwidth.value) hbm_bytes_per_s_ = hbm->bandwidth.value->value;
}

void PlanPricer::forget() {
    placed_.reset();
    prepared_.clear();
    stages_.clear();
    sizes_.clear();
}

Result<const PlanPricer::Cut*> PlanPricer::cut_of(const TrainSetup& setup) {
    const std::pair key(setup.plan.pipeline, setup.late_layers);
    const auto known = cuts_.find(key);
    if (known != cuts_.end()) return &known->second;
    Cut cut;
    ROOFLINE_TRY(cut.kinds, stages_of(model_.program, setup));
    for (const PipelineStage& kind : cut.kinds) {
        cut.heaviest.push_back(cut.heaviest.size());
        ROOFLINE_TRY(cut.passes.emplace_back(), stage_passes(model_.program, setup.plan.pipeline, kind));
    }
    std::sort(cut.heaviest.begin(), cut.heaviest.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(-cut.kinds[a].count, a) < std::pair(-cut.kinds[b].count, b);
    });
    return &cuts_.emplace(key, std::move(cut)).first->second;
}

const Sizes& PlanPricer::sizes_of(const TrainSetup& setup, std::size_t kind) {
    std::vector<std::int64_t> key{setup.batch.sequences(), setup.batch.microbatches, setup.plan.pipeline,
                                  static_cast<std::int64_t>(kind), setup.late_layers ? 1 : 0};
    const auto [place, fresh] = sizes_.try_emplace(std::move(key));
    if (!fresh) return place->second;
    Sizes& sizes = place->second;
    sizes = model_.program.sizes;
    sizes["B"] = setup.batch.sequences();
    bind_groups_of_experts(routed_, sizes);
    for (const auto& [repeat, count] : placed_->cut->passes[kind]) {
        if (count > 0) sizes[repeat] = count;
    }
    sizes["#microbatches"] = setup.batch.microbatches;
    return sizes;
}

// What decides the structure of a stage's program: the axes that its mesh has, and all options but numbers.
PlanPricer::StageKey PlanPricer::structure_of(const TrainSetup& setup, bool accumulates, std::size_t kind) const {
    const Plan& plan = setup.plan;
    const TrainingOptions& options = setup.options;
    std::int64_t axes = 0;
    for (std::size_t i = 0; i < placed_->degrees.size(); ++i) axes |= std::int64_t{placed_->degrees[i] > 1} << i;
    const bool even = model_.sequence % (plan.context * plan.sequence * plan.tensor) == 0;
    std::int64_t flags = 1;
    for (const bool each :
         {plan.pipeline > 1, plan.tensor_tokens, plan.experts_over_tensor, even, accumulates, options.master}) {
        flags = 2 * flags + (each ? 1 : 0);
    }
    for (const auto& [repeat, count] : placed_->cut->passes[kind]) flags = 2 * flags + (count > 0 ? 1 : 0);
    const auto kept = std::find(kept_.begin(), kept_.end(), options.kept) - kept_.begin();
    const auto number = [](const auto& dtype) { return dtype ? static_cast<std::int64_t>(*dtype) : -1; };
    return {axes,
            flags,
            static_cast<std::int64_t>(placed_->cut->kinds[kind].place),
            plan.zero,
            static_cast<std::int64_t>(options.remat),
            kept,
            static_cast<std::int64_t>(options.moments),
            number(setup.products),
            number(setup.dispatch)};
}

PlanPricer::StageKey PlanPricer::with_degrees(StageKey key) const {
    key.insert(key.end(), placed_->degrees.begin(), placed_->degrees.end());
    return key;
}

CompiledStage* PlanPricer::known_stage(const StageKey& key) const {
    auto known = stages_.find(key);
    if (known != stages_.end() && known->second == nullptr) known = stages_.find(with_degrees(key));
    return known == stages_.end() ? nullptr : known->second.get();
}

Result<CompiledStage*> PlanPricer::compiled_stage(const TrainSetup& setup, std::size_t kind) {
    StageKey key = structure_of(setup, setup.batch.microbatches > 1, kind);
    if (CompiledStage* const known = known_stage(key)) return known;
    ROOFLINE_TRY(auto compiled, CompiledStage::compile(forward_pass_of(model_, setup), model_, setup,
                                                       placed_->cut->kinds[kind], slice_, pricing_, collectives_));
    auto stage = std::make_unique<CompiledStage>(std::move(compiled));
    if (stage->only_these_degrees()) {
        stages_.try_emplace(key, nullptr);
        key = with_degrees(std::move(key));
    }
    return (stages_[key] = std::move(stage)).get();
}

Result<double> PlanPricer::recomputed(const TrainSetup& setup) {
    const std::string key =
        fmt::format("{} {}", static_cast<int>(setup.options.remat), fmt::join(setup.options.kept, ","));
    const auto known = recomputed_.find(key);
    if (known != recomputed_.end()) return known->second;
    ROOFLINE_TRY(const double share, recomputed_share(model_, setup, slice_.machine));
    return recomputed_[key] = share;
}

Status PlanPricer::place(const TrainSetup& setup) {
    const bool same = placed_ && placed_->plan.same_axes(setup.plan) && placed_->late_layers == setup.late_layers;
    if (!same || microbatches_ != setup.batch.microbatches) prepared_.clear();
    microbatches_ = setup.batch.microbatches;
    if (same) return {};
    placed_.reset();
    collectives_.forget_many();
    Placed next;
    next.plan = setup.plan;
    next.late_layers = setup.late_layers;
    ROOFLINE_TRY(next.heads, cut_heads(setup.plan, heads_, queries_));
    ROOFLINE_TRY(next.cut, cut_of(setup));
    next.degrees = degrees_of(mesh_of(setup.plan, next.heads));
    placed_ = std::move(next);
    return {};
}

Result<std::size_t> PlanPricer::placement_of(const Plan& plan) {
    auto& known = placed_->placements;
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.first == plan.links; });
    if (found != known.end()) return found->second;
    ROOFLINE_TRY(const std::size_t placement, collectives_.placement(mesh_of(plan, placed_->heads)));
    return known.emplace_back(plan.links, placement).second;
}

// What does not depend on the placement remains known.
void PlanPricer::place_on(std::size_t placement) {
    if (placed_->placement == placement) return;
    placed_->placement = placement;
    for (const auto& stages : prepared_) {
        stages->expected = true;
        for (StageOfPlan& stage : stages->kinds) {
            stage.priced = false;
            stage.lower.reset();
        }
    }
}

PlanPricer::Stages& PlanPricer::stages_of_plan(const TrainSetup& setup, Remat remat, bool accumulates) {
    for (const auto& each : prepared_) {
        if (each->remat == remat && each->kept == setup.options.kept && each->accumulates == accumulates) return *each;
    }
    if (std::find(kept_.begin(), kept_.end(), setup.options.kept) == kept_.end()) kept_.push_back(setup.options.kept);
    Stages& stages = *prepared_.emplace_back(std::make_unique<Stages>());
    stages.remat = remat;
    stages.accumulates = accumulates;
    stages.kept = setup.options.kept;
    stages.kinds.resize(placed_->cut->kinds.size());
    TrainSetup other = setup;
    other.options.remat = remat;
    for (std::size_t kind = 0; kind < stages.kinds.size(); ++kind) {
        use(stages.kinds[kind], known_stage(structure_of(other, accumulates, kind)), setup, kind);
    }
    return stages;
}

void PlanPricer::use(StageOfPlan& stage, CompiledStage* compiled, const TrainSetup& setup, std::size_t kind) {
    stage.compiled = compiled;
    if (compiled != nullptr) compiled->set({sizes_of(setup, kind), placed_->degrees, microbatches_});
}

Status PlanPricer::price_stage(Stages& stages, std::size_t kind) {
    StageOfPlan& stage = stages.kinds[kind];
    if (stage.priced) return {};
    stage.priced = true;
    if (!stage.kernels) stage.kernels = stage.compiled->kernels();
    stage.work = {placed_->cut->kinds[kind].count, *stage.kernels};
    stages.expected = stages.expected && stage.compiled->expected() &&
                      stage.compiled->add_collectives(stage.work.parts, placed_->placement, collectives_) &&
                      !rests_on_link_rates(stage.work.parts, slice_.machine);
    if (stages.expected) return {};
    for (StageOfPlan& each : stages.kinds) {
        if (!each.priced || each.lower) continue;
        ROOFLINE_TRY(each.lower, each.compiled->lower(placed_->placement, collectives_));
    }
    return {};
}

PricedPlan PlanPricer::time_of(const Stages& stages, const PipelineCost& schedule, double recomputed) {
    PricedPlan priced;
    if (stages.expected) {
        std::vector<StageWork> work;
        for (const StageOfPlan& each : stages.kinds) {
            if (!each.priced) continue;
            work.push_back(each.work);
            if (recomputed > 0) work.back().parts.kernels_s += recomputed * each.compiled->math_s();
        }
        const StageOfPlan& first = stages.kinds.front();
        const double bytes = first.priced ? first.compiled->carried_bytes() : 0;
        const double sends_s = static_cast<double>(schedule.transfers) * collectives_.send_s(placed_->placement, bytes);
        priced.expected_s = expected_of_stages(work, schedule.fill, sends_s, pricing_.step_model).seconds;
        return priced;
    }
    double math_s = 0;
    double upper_s = 0;
    for (const StageOfPlan& each : stages.kinds) {
        if (!each.lower) continue;
        math_s += each.work.count * each.lower->math_s;
        upper_s += each.work.count * each.lower->upper_s;
    }
    for (const StageOfPlan& each : stages.kinds) {
        if (!each.lower) continue;
        const auto& [seconds, math, upper] = *each.lower;
        priced.lower_s = std::max(priced.lower_s, seconds + schedule.fill * (math_s - math));
        priced.upper_s = std::max(priced.upper_s, upper + schedule.fill * (upper_s - upper));
    }
    return priced;
}

// What order_s() is at least, by the stages that are compiled; 0 without any.
Result<double> PlanPricer::least_seconds(Stages& stages, const PipelineCost& schedule, double recomputed) {
    bool known = false;
    for (std::size_t kind = 0; kind < stages.kinds.size(); ++kind) {
        if (stages.kinds[kind].compiled == nullptr) continue;
        ROOFLINE_CHECK(price_stage(stages, kind));
        known = true;
    }
    return known ? time_of(stages, schedule, recomputed).order_s() : 0.0;
}

// The memory of a stage, if it is compiled, in that of a chip.
double PlanPricer::capacities_of(const Stages& stages, const Pipeline& pipeline, std::size_t kind) const {
    if (!capacity_ || stages.kinds[kind].compiled == nullptr) return 0;
    return stages.kinds[kind].compiled->memory(in_flight_of(pipeline, placed_->cut->kinds[kind])).total() / *capacity_;
}

// What is known of a plan whose stages are not compiled from those with less work that are. Without recomputation less
// is computed. A step with one micro-batch is another program, in which gradients do not accumulate.
Result<PricedPlan::Known> PlanPricer::known_from_others(const TrainSetup& setup, const Pipeline& pipeline,
                                                        const PriceLimits& limits) {
    constexpr double larger = 1.2;       // nearly the same tensors are live in both programs
    constexpr double accumulations = 8;  // gradients are read and written less often than so many times
    ROOFLINE_TRY(const auto schedule, pipeline_cost(pipeline));
    const Remat remat = setup.options.remat;
    const bool undivided = setup.batch.microbatches == 1;
    ROOFLINE_TRY(const double again, recomputed(setup));
    constexpr double passes = 3;  // see recomputed_share()
    if (remat != Remat::none) {
        Stages& less = stages_of_plan(setup, Remat::none, !undivided);
        ROOFLINE_TRY(const double seconds, least_seconds(less, schedule, again / passes));
        if (seconds > limits.seconds) return PricedPlan::Known::bound;
    }
    if (!undivided) return PricedPlan::Known::all;
    const Stages& same = stages_of_plan(setup, remat, true);
    for (std::size_t kind = 0; kind < same.kinds.size(); ++kind) {
        if (capacities_of(same, pipeline, kind) > larger * limits.capacities) return PricedPlan::Known::memory;
    }
    Stages& less = stages_of_plan(setup, Remat::none, true);
    ROOFLINE_TRY(double seconds, least_seconds(less, schedule, again / passes));
    for (const StageOfPlan& each : less.kinds) {
        if (each.compiled == nullptr || !hbm_bytes_per_s_) continue;
        seconds -= accumulations * each.compiled->memory({}).gradients / *hbm_bytes_per_s_;
    }
    return hbm_bytes_per_s_ && seconds > limits.seconds ? PricedPlan::Known::bound : PricedPlan::Known::all;
}

Result<PricedPlan> PlanPricer::price(const TrainSetup& setup, const PriceLimits& limits) {
    ROOFLINE_CHECK(place(setup));
    ROOFLINE_TRY(const std::size_t placement, placement_of(setup.plan));
    place_on(placement);
    return price_placed(setup, limits);
}

Result<PricedPlan> PlanPricer::price_any(const TrainSetup& setup, const std::vector<AxisOrder>& orders,
                                         const PriceLimits& limits) {
    ROOFLINE_CHECK(place(setup));
    if (!placed_->any) {
        std::vector<std::size_t> placements;
        Plan plan = setup.plan;
        for (const AxisOrder& order : orders) {
            plan.links = order;
            ROOFLINE_TRY(placements.emplace_back(), placement_of(plan));
        }
        placed_->any = collectives_.any_of(std::move(placements));
    }
    place_on(*placed_->any);
    return price_placed(setup, limits);
}

Result<PricedPlan> PlanPricer::price_placed(const TrainSetup& setup, const PriceLimits& limits) {
    ROOFLINE_TRY(auto pipeline, pipeline_of(model_, setup));
    if (pipeline.schedule == Schedule::zero_bubble && pipeline.stages > 1) {
        ROOFLINE_TRY(pipeline.recomputed, recomputed(setup));
    }
    ROOFLINE_TRY(const auto schedule, pipeline_cost(pipeline));
    Stages& stages = stages_of_plan(setup, setup.options.remat, setup.batch.microbatches > 1);
    std::vector<std::size_t> missing;
    PricedPlan priced;
    bool fits = true;
    const auto add_memory = [&](std::size_t kind) {
        StageOfPlan& stage = stages.kinds[kind];
        if (!stage.memory || stage.memory->first != pipeline) {
            const InFlight in_flight = in_flight_of(pipeline, placed_->cut->kinds[kind]);
            stage.memory = {pipeline, stage.compiled->memory(in_flight)};
        }
        const TrainingMemory& memory = stage.memory->second;
        if (memory.total() > priced.memory.total()) priced.memory = memory;
        priced.memory.capacity = capacity_;
        fits = !capacity_ || priced.memory.total() <= *capacity_ * limits.capacities;
    };
    for (const std::size_t kind : placed_->cut->heaviest) {
        if (stages.kinds[kind].compiled == nullptr) {
            missing.push_back(kind);
        } else {
            add_memory(kind);
        }
    }
    if (!missing.empty() && std::isfinite(limits.seconds)) {
        ROOFLINE_TRY(priced.known, known_from_others(setup, pipeline, limits));
        if (priced.known != PricedPlan::Known::all) return priced;
    }
    for (const std::size_t kind : missing) {
        if (std::isfinite(limits.seconds)) {
            ROOFLINE_TRY(const double seconds, least_seconds(stages, schedule, 0));
            if (seconds > limits.seconds) return PricedPlan{.known = PricedPlan::Known::bound};
            if (!fits) break;
        }  // otherwise nothing may fit, and the plan that lacks the least is asked for, with all its stages
        ROOFLINE_TRY(CompiledStage* const compiled, compiled_stage(setup, kind));
        use(stages.kinds[kind], compiled, setup, kind);
        add_memory(kind);
    }
    priced.known = PricedPlan::Known::memory;
    if (!fits) return priced;
    for (std::size_t kind = 0; kind < stages.kinds.size(); ++kind) ROOFLINE_CHECK(price_stage(stages, kind));
    const PricedPlan time = time_of(stages, schedule, 0);
    priced.known = PricedPlan::Known::all;
    priced.expected_s = time.expected_s;
    priced.lower_s = time.lower_s;
    priced.upper_s = time.upper_s;
    return priced;
}

}  // namespace roofline::core
