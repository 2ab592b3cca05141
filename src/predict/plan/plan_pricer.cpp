#include "predict/plan/plan_pricer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/apply_plan.hpp"
#include "plan/pipeline_stage.hpp"

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

// What decides the structure of a step's program: the axes that its mesh has, and all options but numbers.
std::string structure_of(const TrainSetup& setup, const std::vector<MeshAxis>& mesh, const Sizes& passes,
                         const PipelineStage& stage, std::int64_t tokens) {
    const Plan& plan = setup.plan;
    std::string key;
    for (const MeshAxis& axis : mesh) key += axis.name + ",";
    const std::int64_t spread = plan.context * plan.sequence * plan.tensor;
    const TrainingOptions& options = setup.options;
    key += fmt::format(" zero{}{}{}{} {}{} m{}", plan.zero, plan.tensor_tokens ? "t" : "",
                       plan.experts_over_tensor ? "x" : "", tokens % spread == 0 ? "d" : "",
                       static_cast<int>(options.remat), fmt::join(options.kept, ","),
                       setup.batch.microbatches > 1 ? "+" : "");
    if (plan.pipeline > 1) key += fmt::format(" p{}", static_cast<int>(stage.place));
    for (const auto& [repeat, count] : passes) key += count > 0 ? " " + repeat : "";
    if (setup.products) key += fmt::format(" {}", name(*setup.products));
    return key;
}

std::string degrees_text(const MeshDegrees& degrees) { return fmt::format(" {}", fmt::join(degrees, ".")); }

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
}

void PlanPricer::forget() {
    prepared_ = {};
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
        ROOFLINE_TRY(cut.passes.emplace_back(), stage_passes(model_.program, setup.plan.pipeline, kind));
    }
    return &cuts_.emplace(key, std::move(cut)).first->second;
}

const Sizes& PlanPricer::sizes_of(const TrainSetup& setup, const Cut& cut, std::size_t kind) {
    std::vector<std::int64_t> key{setup.batch.sequences(), setup.batch.microbatches, setup.plan.pipeline,
                                  static_cast<std::int64_t>(kind), setup.late_layers ? 1 : 0};
    const auto [place, fresh] = sizes_.try_emplace(std::move(key));
    if (!fresh) return place->second;
    Sizes& sizes = place->second;
    sizes = model_.program.sizes;
    sizes["B"] = setup.batch.sequences();
    bind_groups_of_experts(routed_, sizes);
    for (const auto& [repeat, count] : cut.passes[kind]) {
        if (count > 0) sizes[repeat] = count;
    }
    sizes["#microbatches"] = setup.batch.microbatches;
    return sizes;
}

Result<CompiledStage*> PlanPricer::stage_of(const TrainSetup& setup, const HeadCut& heads, const Cut& cut,
                                            std::size_t kind) {
    const std::vector<MeshAxis> mesh = mesh_of(setup.plan, heads);
    std::string key = structure_of(setup, mesh, cut.passes[kind], cut.kinds[kind], model_.sequence);
    auto known = stages_.find(key);
    if (known != stages_.end() && known->second == nullptr) {
        key += degrees_text(degrees_of(mesh));
        known = stages_.find(key);
    }
    if (known != stages_.end()) return known->second.get();
    ROOFLINE_TRY(auto compiled, CompiledStage::compile(forward_pass_of(model_, setup), model_, setup, cut.kinds[kind],
                                                       slice_, pricing_, collectives_));
    auto stage = std::make_shared<CompiledStage>(std::move(compiled));
    if (stage->only_these_degrees()) {
        stages_.try_emplace(key, nullptr);
        if (!key.ends_with(degrees_text(degrees_of(mesh)))) key += degrees_text(degrees_of(mesh));
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

bool PlanPricer::Prepared::is_for(const TrainSetup& other) const {
    return !stages.empty() && plan == other.plan && microbatches == other.batch.microbatches &&
           remat == other.options.remat && kept == other.options.kept;
}

Status PlanPricer::prepare(const TrainSetup& setup) {
    if (prepared_.is_for(setup)) return {};
    prepared_ = {};
    Prepared next;
    next.plan = setup.plan;
    next.microbatches = setup.batch.microbatches;
    next.remat = setup.options.remat;
    next.kept = setup.options.kept;
    ROOFLINE_TRY(const auto heads, cut_heads(setup.plan, heads_, queries_));
    ROOFLINE_TRY(next.cut, cut_of(setup));
    const std::vector<MeshAxis> mesh = mesh_of(setup.plan, heads);
    ROOFLINE_TRY(next.placement, collectives_.placement(mesh));
    for (std::size_t kind = 0; kind < next.cut->kinds.size(); ++kind) {
        ROOFLINE_TRY(CompiledStage* const stage, stage_of(setup, heads, *next.cut, kind));
        stage->set({sizes_of(setup, *next.cut, kind), degrees_of(mesh)});
        next.stages.push_back(stage);
    }
    prepared_ = std::move(next);
    return {};
}

Status PlanPricer::price_work() {
    Prepared& now = prepared_;
    if (now.priced) return {};
    now.priced = true;
    now.send_s = collectives_.send_s(now.placement, now.stages.front()->carried_bytes());
    for (std::size_t kind = 0; kind < now.stages.size() && now.stages[kind]->expected(); ++kind) {
        StageWork one{now.cut->kinds[kind].count, now.stages[kind]->kernels()};
        if (!now.stages[kind]->add_collectives(one.parts, now.placement, collectives_)) break;
        now.work.push_back(one);
    }
    if (now.work.size() == now.stages.size()) return {};
    now.work.clear();
    for (CompiledStage* const stage : now.stages) {
        ROOFLINE_TRY(now.lower.emplace_back(), stage->lower(now.placement, collectives_));
    }
    return {};
}

Result<PricedPlan> PlanPricer::price(const TrainSetup& setup, double capacities) {
    ROOFLINE_TRY(auto pipeline, pipeline_of(model_, setup));
    if (pipeline.schedule == Schedule::zero_bubble && pipeline.stages > 1) {
        ROOFLINE_TRY(pipeline.recomputed, recomputed(setup));
    }
    ROOFLINE_TRY(const auto schedule, pipeline_cost(pipeline));
    ROOFLINE_CHECK(prepare(setup));
    PricedPlan priced;
    for (std::size_t kind = 0; kind < prepared_.stages.size(); ++kind) {
        const InFlight in_flight = in_flight_of(pipeline, prepared_.cut->kinds[kind]);
        TrainingMemory memory = prepared_.stages[kind]->memory(in_flight);
        if (kind == 0 || memory.total() > priced.memory.total()) priced.memory = memory;
    }
    priced.memory.capacity = capacity_;
    if (capacity_ && priced.memory.total() > *capacity_ * capacities) return priced;
    ROOFLINE_CHECK(price_work());
    if (!prepared_.work.empty()) {
        const double sends = static_cast<double>(schedule.transfers) * prepared_.send_s;
        priced.expected_s = expected_of_stages(prepared_.work, schedule.fill, sends, pricing_.step_model).seconds;
        return priced;
    }
    const std::vector<PipelineStage>& kinds = prepared_.cut->kinds;
    double math_s = 0;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) math_s += kinds[kind].count * prepared_.lower[kind].math_s;
    for (const CompiledStage::Lower& each : prepared_.lower) {
        priced.lower_s = std::max(priced.lower_s, each.seconds + schedule.fill * (math_s - each.math_s));
    }
    return priced;
}

}  // namespace roofline::core
