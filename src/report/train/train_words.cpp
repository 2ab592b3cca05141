#include "report/train/train_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/model/model_words.hpp"
#include "units/text.hpp"

namespace roofline::core {

std::string remat_text(const TrainingOptions& options) {
    switch (options.remat) {
        case Remat::none:
            return "none";
        case Remat::selective:
            return "selective";
        case Remat::alternate:
            return "alternate";
        case Remat::full:
            return "full";
        case Remat::named:
            break;
    }
    return fmt::format("keep {}", fmt::join(options.kept, ", "));
}

std::string optimizer_text(const TrainingOptions& options) {
    const std::string gradients = options.f32_gradients ? ", f32 gradients" : "";
    if (options.optimizer != Optimizer::adam) return "sgd" + gradients;
    return fmt::format("{}adam with {} moments{}{}", options.unfused ? "unfused " : "", name(options.moments),
                       options.master ? " and an f32 master copy" : "", gradients);
}

std::string optimizer_text(const TrainAnswer& answer) {
    TrainingOptions options = answer.options;
    options.f32_gradients = options.f32_gradients || answer.held.f32_gradients;
    return optimizer_text(options);
}

std::string recipe_text(const TrainAnswer& answer) {
    std::string text = answer.schedule.empty() ? "" : answer.schedule + ", ";
    text += fmt::format("remat {}, {}", remat_text(answer.options), optimizer_text(answer));
    if (answer.products) text += fmt::format(", matmuls in {}", name(*answer.products));
    if (answer.dispatch) text += fmt::format(", dispatch in {}", name(*answer.dispatch));
    if (!answer.overlapped.empty())
        text += fmt::format(", collectives over {} overlap matmuls", fmt::join(answer.overlapped, ", "));
    return text;
}

std::string trained_text(const TrainAnswer& answer) {
    if (!answer.model.lora) return "";
    const Lora& lora = *answer.model.lora;
    return fmt::format("{} parameters are trained: LoRA of rank {} on {}{}", short_count(answer.counts.total.trained),
                       lora.rank, fmt::join(lora.on, ", "),
                       lora.frozen ? fmt::format(", frozen weights in {}", name(*lora.frozen)) : "");
}

std::string days_text(double seconds) {
    if (seconds < 3600) return to_text(Seconds{seconds});
    if (seconds < 2 * 86400) return number_text(seconds / 3600) + " hours";
    return number_text(seconds / 86400) + " days";
}

namespace {

// Returns "2.1 s of all-gathers over fsdp".
std::string collective_phrase(const StepCollective& each) {
    return fmt::format("{} of {}s over {}", to_text(Seconds{each.seconds}), collective_name(each.kind, true),
                       fmt::join(each.axes, ", "));
}

std::string network_limit(const TrainStep& step, const Resource& bound, double math_share) {
    std::string text =
        fmt::format("{}-bound: communication takes longest, and the matrix units are busy for at most {} % of the step",
                    bound.label, percent_text(math_share));
    const std::vector<StepCollective> collectives = step_collectives(step);
    if (!collectives.empty()) text += fmt::format("; mostly {}", collective_phrase(collectives.front()));
    return text + ".";
}

}  // namespace

std::string binding_limit(const TrainAnswer& answer) {
    if (!answer.step) return "";
    const Prediction& step = answer.step->program;
    const Analysis& total = step.analysis.total;
    const Resource* bound = total.bound_resource();
    if (bound == nullptr) return "";
    if (bound->id == "math") return "Compute-bound: the matrix units take longer than memory and network.";
    if (bound->id == "vector") {
        const std::vector<Resource>& resources = total.pricing.resources;
        const bool matrix_units =
            std::any_of(resources.begin(), resources.end(), [](const Resource& each) { return each.id == "math"; });
        return matrix_units ? "Bound by the vector units: elementwise work takes longer than the matmuls."
                            : "Bound by the vector units, which compute the matmuls of this step as well.";
    }
    const double share = total.peak_fraction.value_or(0);
    if (step.machine.level(bound->id) == nullptr && bound->id != "pcie")
        return network_limit(*answer.step, *bound, share);
    return fmt::format("{}-bound: memory takes longest, and the matrix units are busy for at most {} % of the step.",
                       bound->label, percent_text(share));
}

}  // namespace roofline::core
