#include "predict/plan/plan_pricer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/apply_plan.hpp"
#include "plan/pipeline_stage.hpp"

namespace roofline::core {

namespace {

std::optional<std::int64_t> size_of_role(const Model& model, std::string_view role) {
    for (const auto& [dim, size] : model.program.sizes) {
        const auto found = model.roles.find(dim);
        if (found != model.roles.end() && found->second == role) return size;
    }
    return std::nullopt;
}

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
      heads_(size_of_role(model, "heads")),
      queries_(size_of_role(model, "queries").value_or(1)),
      routed_(routed_experts(model.program)) {
    const MemoryLevel* hbm = slice_.machine.level("hbm");
    if (hbm == nullptr) return;
    if (const auto capacity = hbm->total_capacity()) capacity_ = capacity->value;
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

Result<PricedPlan> PlanPricer::price(const TrainSetup& setup) {
    const Plan& plan = setup.plan;
    ROOFLINE_TRY(const auto heads, cut_heads(plan, heads_, queries_));
    ROOFLINE_TRY(auto pipeline, pipeline_of(model_, setup));
    if (pipeline.schedule == Schedule::zero_bubble && pipeline.stages > 1) {
        ROOFLINE_TRY(pipeline.recomputed, recomputed(setup));
    }
    ROOFLINE_TRY(const auto schedule, pipeline_cost(pipeline));
    ROOFLINE_TRY(const Cut* cut, cut_of(setup));
    const std::vector<MeshAxis> mesh = mesh_of(plan, heads);
    ROOFLINE_TRY(const std::size_t placement, collectives_.placement(mesh));
    const MeshDegrees degrees = degrees_of(mesh);
    std::vector<CompiledStage*> stages;
    PricedPlan priced;
    for (std::size_t kind = 0; kind < cut->kinds.size(); ++kind) {
        ROOFLINE_TRY(CompiledStage* const stage, stage_of(setup, heads, *cut, kind));
        stages.push_back(stage);
        stage->set({sizes_of(setup, *cut, kind), degrees, in_flight_of(pipeline, cut->kinds[kind])});
        TrainingMemory memory = stage->memory();
        if (kind == 0 || memory.total() > priced.memory.total()) priced.memory = memory;
    }
    priced.memory.capacity = capacity_;
    if (!priced.memory.fits()) return priced;
    const double sends = static_cast<double>(schedule.transfers) *
                         collectives_.send_s(placement, stages.front()->carried_bytes());
    std::vector<StageWork> work;
    for (std::size_t kind = 0; kind < stages.size() && stages[kind]->expected(); ++kind) {
        StageWork one{cut->kinds[kind].count, stages[kind]->kernels()};
        if (!stages[kind]->add_collectives(one.parts, placement, collectives_)) break;
        work.push_back(one);
    }
    if (work.size() == stages.size()) {
        priced.expected_s = expected_of_stages(work, schedule.fill, sends, pricing_.step_model).seconds;
        return priced;
    }
    std::vector<CompiledStage::Lower> lower;
    double math_s = 0;
    for (std::size_t kind = 0; kind < stages.size(); ++kind) {
        ROOFLINE_TRY(lower.emplace_back(), stages[kind]->lower(placement, collectives_));
        math_s += cut->kinds[kind].count * lower.back().math_s;
    }
    for (const CompiledStage::Lower& each : lower) {
        priced.lower_s = std::max(priced.lower_s, each.seconds + schedule.fill * (math_s - each.math_s));
    }
    return priced;
}

}  // namespace roofline::core
