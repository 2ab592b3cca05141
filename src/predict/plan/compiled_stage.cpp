#include "predict/plan/compiled_stage.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bound/network_pricing.hpp"
#include "layout/layout_search.hpp"
#include "predict/expect.hpp"
#include "predict/predict.hpp"
#include "predict/train/expected_step.hpp"
#include "predict/train/framework.hpp"

namespace roofline::core {

namespace {

// The system with marks instead of degrees. The axis `pipeline` splits no tensor.
System marked(System system) {
    for (PlacedAxis& axis : system.mesh) {
        const std::size_t place = marked_place(axis.name);
        if (place < marked_axes.size()) axis.size = marked_axes[place].mark;
    }
    return system;
}

// The tensor that a stage hands on.
const Value* carried_value(const Program& local) {
    const auto found = std::find_if(local.values.begin(), local.values.end(),
                                    [](const Value& value) { return value.carried && !value.intermediate; });
    return found == local.values.end() ? nullptr : &*found;
}

struct MarkedLayout {
    PlannedStage planned;
    System system;
    LaidOut laid;
};

Result<MarkedLayout> lay_out_marked(const Program& forward, const Model& model, const TrainSetup& setup,
                                    const PipelineStage& stage, const Slice& slice, const StepPricing& pricing,
                                    KnownPermutes& permutes) {
    ROOFLINE_TRY(auto planned, planned_stage(forward, model, setup, stage));
    const Program& program = planned.step.program;
    CollectiveOptions options;
    options.textbook = pricing.textbook;
    ROOFLINE_TRY(auto system, plan_system(slice, program, options));
    LaidOut laid;
    if (program.sharded()) {
        ROOFLINE_TRY(auto search,
                     LayoutSearch::compile(program, system, planned.stay, LayoutFreedom::as_written, &permutes));
        ROOFLINE_TRY(const auto layout, search.choose(program.sizes));
        ROOFLINE_TRY(laid, lay_out(program, marked(system), search, layout, Alternatives::none));
    } else {
        laid.local = program;
    }
    return MarkedLayout{std::move(planned), std::move(system), std::move(laid)};
}

}  // namespace

Result<CompiledStage> CompiledStage::compile(const Program& forward, const Model& model, const TrainSetup& setup,
                                             const PipelineStage& stage, const Slice& slice, const StepPricing& pricing,
                                             CollectiveCosts& collectives) {
    ROOFLINE_TRY(const auto timed,
                 lay_out_marked(forward, model, setup, stage, slice, pricing, collectives.permutes()));
    const Program& local = timed.laid.local;
    const bool first = stage.place == StagePlace::first;
    CompiledStage compiled;
    compiled.name_sizes(local);
    if (setup.held.any()) {
        const TrainSetup held = as_held(setup);
        ROOFLINE_TRY(const auto other,
                     lay_out_marked(forward, model, held, stage, slice, pricing, collectives.permutes()));
        compiled.name_sizes(other.laid.local);
        ROOFLINE_CHECK(compiled.compile_memory({other.planned, other.laid.local, other.laid.types, first}, held));
    } else {
        ROOFLINE_CHECK(compiled.compile_memory({timed.planned, local, timed.laid.types, first}, setup));
    }
    compiled.sizes_.resize(compiled.names_.size());
    ROOFLINE_CHECK(compiled.compile_kernels(local, timed.system, pricing));
    compiled.compile_collectives(setup, local, collectives);
    compiled.fixed_.flops_per_joule = flops_per_joule(slice.machine);
    compiled.fixed_.pytorch = setup.pytorch_kernels;
    compiled.fixed_.compiled = setup.compiled;
    compiled.fixed_.in_turn = setup.gradients_in_turn;
    compiled.fixed_.experts = compiled.fixed_.experts || limits_experts(model, setup);
    return compiled;
}

Status CompiledStage::compile_memory(const MarkedStage& stage, const TrainSetup& setup) {
    ROOFLINE_TRY(memory_, CompiledMemory::compile(stage, framework_memory(setup), names_));
    return {};
}

// Every size of the local program is passed, because any may differ between plans.
void CompiledStage::name_sizes(const Program& local) {
    for (const auto& [name, size] : local.sizes) {
        if (has(names_, name)) continue;
        names_.push_back(name);
        const LocalDim* part = local.local_dims.find(name);
        wanted_.push_back(part == nullptr ? Size{name} : Size{part->dim, part->shards});
        wanted_.back().first = static_cast<double>(size);
        if (part != nullptr) {
            const auto whole = local.sizes.find(part->dim);
            if (whole != local.sizes.end()) wanted_.back().first = static_cast<double>(whole->second);
            if (part->halo) {
                wanted_.back().window = part->halo->window;
                wanted_.back().beyond = part->halo->positions;
            }
        }
    }
}

Status CompiledStage::compile_kernels(const Program& local, const System& system, const StepPricing& pricing) {
    AnalysisOptions options;
    options.growth = false;
    ROOFLINE_TRY(const auto analysis, analyse(local, system.machine(), options));
    const ProgramModels models =
        kernel_models(*pricing.calibrations, system.machine(), local, analysis, pricing.software);
    const ChipTraits chip = chip_traits(system.machine());
    traffic_ = program_traffic(analysis, names_, {});
    std::size_t places = 0;
    for (std::size_t i = 0; i < models.kernels.size(); ++i) {
        const CalibratedKernel* model = models.kernels[i];
        const Work& work = analysis.work.kernels[i].work;
        if (model == nullptr) {
            expected_ = expected_ && work.compute.empty() && work.memory.empty();
            continue;
        }
        fixed_.experts = fixed_.experts || of_experts(models, i);
        kernels_.push_back({CompiledKernel(analysis, i, chip, names_, {}), &model->fit, models.others[i],
                            step_part_of(model->key, system.machine())});
        places = std::max(places, kernels_.back().compiled.places());
    }
    expected_ = expected_ && !kernels_.empty();
    scratch_.resize(places);
    const Pricing& pricing_of_chip = analysis.total.pricing;
    chip_times_ = CompiledTimes(pricing_of_chip, names_, {});
    chip_seconds_.resize(chip_times_.places());
    math_ = pricing_of_chip.resources.size();
    for (std::size_t i = 0; i < pricing_of_chip.resources.size(); ++i) {
        if (pricing_of_chip.resources[i].id == "math") math_ = i;
    }
    const Value* carried = carried_value(local);
    if (carried != nullptr) carried_ = CompiledSums({{{bytes_of(local.local_dims, *carried), 1.0}}}, names_, {});
    message_work_ = analysis.work.total.messages;  // they are priced by placement
    return {};
}

void CompiledStage::compile_collectives(const TrainSetup& setup, const Program& local, CollectiveCosts& collectives) {
    std::vector<WeightedSum> sums;
    const std::vector<MessageWork>& messages = message_work_;
    for (const MessageWork& each : messages) {
        const Message& message = each.message;
        Collective collective;
        collective.route = collectives.route(message, dtype_of(local, message.tensor));
        if (info(message.kind).size_of_member()) collective.mark = mark_of(message.axes);
        collective.over_replicas = is_over_replicas(message);
        collective.overlappable = collective.over_replicas || is_overlapped(message, setup.overlapped);
        collective.bucket = collectives_.size();
        for (std::size_t i = 0; i < collectives_.size() && collective.over_replicas; ++i) {
            const Message& other = messages[i].message;
            if (!collectives_[i].over_replicas || other.kind != message.kind || other.axes != message.axes) continue;
            collective.bucket = i;
            break;
        }
        only_these_degrees_ = only_these_degrees_ || message.hops > 0;
        collectives_.push_back(collective);
        sums.push_back({{message.bytes, 1.0}});
        sums.push_back({{each.count, 1.0}});
    }
    messages_ = CompiledSums(sums, names_, {});
    message_values_.resize(sums.size());
}

void CompiledStage::set(const StageSizes& sizes) {
    degrees_ = sizes.degrees;
    microbatches_ = sizes.microbatches;
    messages_known_ = false;
    const auto whole = [&](const std::string& dim, double otherwise) {
        const auto found = sizes.whole.find(dim);
        return found == sizes.whole.end() ? otherwise : static_cast<double>(found->second);
    };
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
        const Size& size = wanted_[i];
        double value = std::ceil(whole(size.dim, size.first) / static_cast<double>(degree_of(degrees_, size.mark)));
        if (!size.window.empty()) value += whole(size.window, 1) - 1;
        sizes_[i] = value + static_cast<double>(size.beyond);
    }
}

StepParts CompiledStage::kernels() {
    StepParts parts = fixed_;
    double traffic = 0;
    traffic_.evaluate(sizes_, {&traffic, 1});
    for (const Kernel& kernel : kernels_) {
        const CompiledKernel::Runs runs = kernel.compiled.evaluate(sizes_, traffic, scratch_);
        if (!(runs.count > 0)) continue;
        parts.launches += runs.count;
        parts.*kernel.part += runs.count * seconds_of(*kernel.fit, kernel.other, runs.point);
    }
    return parts;
}

void CompiledStage::evaluate_messages() {
    messages_known_ = true;
    messages_.evaluate(sizes_, message_values_);
    for (std::size_t i = 0; i < collectives_.size(); ++i) {
        const Collective& each = collectives_[i];
        message_values_[2 * i] *= static_cast<double>(degree_of(degrees_, each.mark)) / static_cast<double>(each.mark);
        if (!each.over_replicas) continue;
        const double bytes = message_values_[2 * i] * message_values_[2 * i + 1];
        message_values_[2 * i] = 0;
        message_values_[2 * i + 1] = 1;
        message_values_[2 * each.bucket] += bytes;
    }
}

bool CompiledStage::add_collectives(StepParts& parts, std::size_t placement, CollectiveCosts& collectives) {
    if (!messages_known_) evaluate_messages();
    for (std::size_t i = 0; i < collectives_.size(); ++i) {
        const Collective& each = collectives_[i];
        const double bytes = message_values_[2 * i];
        if (each.bucket != i || !(bytes > 0)) continue;
        const CollectiveCost* cost = collectives.cost(each.route, placement);
        if (cost == nullptr) return false;
        const double seconds = cost->seconds(bytes) * message_values_[2 * i + 1];
        if (cost->measured) {
            (each.overlappable ? parts.overlappable_s : parts.exchanged_s) += seconds;
        } else {
            (each.overlappable ? parts.overlappable_wire_s : parts.exchanged_wire_s) += seconds;
        }
    }
    return true;
}

double CompiledStage::carried_bytes() const {
    double bytes = 0;
    if (carried_.size() > 0) carried_.evaluate(sizes_, {&bytes, 1});
    return bytes;
}

double CompiledStage::math_s() {
    (void)chip_times_.evaluate(sizes_, chip_seconds_);
    return math_ < chip_times_.resources() ? chip_seconds_[math_] : 0;
}

Result<CompiledStage::Lower> CompiledStage::lower(std::size_t placement, CollectiveCosts& collectives) {
    Lower lower;
    const Bounds chip = chip_times_.evaluate(sizes_, chip_seconds_);
    lower.seconds = chip.lower;
    lower.upper_s = chip.upper;
    if (math_ < chip_times_.resources()) lower.math_s = chip_seconds_[math_];
    if (collectives_.empty()) return lower;
    const System* const system = collectives.system(placement);
    if (system == nullptr) return lower;  // of several placements at least the chip's part
    auto known = network_times_.find(placement);
    if (known == network_times_.end()) {
        constexpr std::size_t most = 256;  // placements come and go
        if (network_times_.size() >= most) network_times_.clear();
        Work work;
        work.messages = message_work_;
        for (std::size_t i = 0; i < collectives_.size(); ++i) {
            const std::int64_t mark = collectives_[i].mark;
            if (mark > 1) work.messages[i].message.bytes *= Polynomial(Rational(degree_of(degrees_, mark), mark));
        }
        Pricing pricing;
        ROOFLINE_CHECK(price_network(pricing, work, *system));
        known = network_times_.emplace(placement, CompiledTimes(pricing, names_, {})).first;
    }
    std::vector<double> seconds(known->second.places());
    const Bounds network = known->second.evaluate(sizes_, seconds);
    lower.seconds = std::max(lower.seconds, network.lower);
    lower.upper_s += network.upper;
    return lower;
}

}  // namespace roofline::core
