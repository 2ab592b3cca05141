#include "predict/train/framework.hpp"

#include <fmt/format.h>

#include <utility>

#include "calibrate/step/step_model.hpp"
#include "import/trained_models.hpp"

namespace roofline::core {

Result<Framework> framework_named(std::string_view words, std::string_view toml) {
    if (toml.empty()) {
        ROOFLINE_TRY(const auto known, TrainedModels::built_in());
        return known.trainers().framework(words);
    }
    ROOFLINE_TRY(const auto own, TrainedModels::parse(toml, words));
    const std::vector<std::string> names = own.trainers().frameworks();
    if (names.empty()) {
        return fail("no_framework", std::string(words) + " describes no framework",
                    "a [[trainer]] needs framework = [\"name\"]");
    }
    return own.trainers().framework(names.front());
}

Result<std::optional<Framework>> default_framework(const Machine& machine) {
    ROOFLINE_TRY(const auto known, TrainedModels::built_in());
    return known.trainers().default_framework(machine.vendor);
}

void apply_habits(const TrainerHabits& habits, TrainSetup& setup) {
    setup.plan.tensor_tokens = setup.plan.tensor_tokens && !habits.whole_tokens;
    setup.options.unfused = setup.options.unfused || habits.unfused;
    setup.options.whole_layers = habits.whole_recompute;
    setup.late_layers = habits.late_layers;
    setup.stored_attention = habits.stored_attention;
    setup.capacity = habits.capacity;
    setup.attention_dropout = habits.attention_dropout;
    setup.pytorch_kernels = habits.pytorch_kernels;
    setup.compiled = habits.compiled;
    setup.gradients_in_turn = habits.gradients_in_turn;
    setup.overlapped = habits.overlapped;
    setup.held.f32_logits = habits.loss != "compiled";
    setup.held.stored_casts = habits.loss == "eager";
    setup.held.f32_gradients = habits.f32_gradients;
    setup.held.kept_products = habits.kept_products;
    setup.habits.loss_parts = habits.loss_parts;
    setup.habits.pipeline_buffers = habits.pipeline_buffers;
    setup.habits.fsdp_units = habits.fsdp_units;
    setup.habits.flat_optimizer = habits.flat_optimizer;
    setup.habits.copied_norm = habits.copied_norm;
    setup.habits.fused_gradients = habits.fused_gradients;
}

Status use_default_framework(TrainQuestion& question) {
    ROOFLINE_TRY(question.framework, default_framework(question.slice.machine));
    question.setup.compiled = question.framework && question.framework->habits.compiled;
    return {};
}

void use_framework(Framework framework, bool optimizer, TrainQuestion& question) {
    TrainSetup& setup = question.setup;
    TrainerHabits habits = framework.habits;
    if (optimizer) {
        setup.options.master = true;
    } else {
        habits.unfused = habits.f32_gradients = false;
    }
    apply_habits(habits, setup);
    if (const auto model = built_in_step_model(); model && habits.caching_allocator) {
        setup.habits.reserved = model->reserved;
        setup.habits.context_bytes = habits.context_bytes;
    }
    if (setup.options.remat == Remat::selective && selective_remat(habits) != Remat::selective) {
        setup.options.remat = selective_remat(habits);
        question.notes.push_back(fmt::format("what {} calls selective is the policy `alternate`", framework.name));
    }
    question.notes.push_back(fmt::format("{}: {}", framework_text(framework), framework.note));
    question.framework = std::move(framework);
}

Remat selective_remat(const TrainerHabits& habits) {
    return habits.selective == "alternate" ? Remat::alternate : Remat::selective;
}

FrameworkHabits framework_memory(const TrainSetup& setup) {
    const Plan& plan = setup.plan;
    FrameworkHabits habits = setup.habits;
    const bool zero = plan.fsdp == 1 && (plan.zero == 1 || plan.zero == 2);
    // In a pipeline FSDP keeps parameters gathered, which is ZeRO-1 in other words.
    habits.fsdp_units = habits.fsdp_units && (plan.fsdp > 1 || plan.zero > 0);
    habits.flat_optimizer = habits.flat_optimizer && zero;
    habits.copied_norm = habits.copied_norm && zero;
    habits.pipeline_buffers = habits.pipeline_buffers && plan.pipeline > 1;
    habits.unfused = setup.options.unfused;
    habits.stored_casts = setup.options.stored_casts;
    return habits;
}

std::optional<std::string> allocator_note(const std::optional<Framework>& framework, const TrainingMemory& memory) {
    if (!framework || !framework->by_default || !memory.capacity || !memory.fits()) return std::nullopt;
    const auto model = built_in_step_model();
    if (!model || memory.total() * model->reserved <= *memory.capacity) return std::nullopt;
    const auto whole = framework_named(framework->name);
    if (!whole || !whole->habits.caching_allocator) return std::nullopt;
    return fmt::format(
        "tensors take {:.1f} % of the memory, and in measured runs a caching allocator reserved {:.1f} % more than "
        "they take, so this may not fit: --framework {} counts that, with its master weights, gradients and loss",
        100 * memory.total() / *memory.capacity, 100 * (model->reserved - 1), framework->name);
}

TrainSetup as_held(TrainSetup setup) {
    TrainingOptions& options = setup.options;
    options.f32_logits = options.f32_logits || setup.held.f32_logits;
    options.stored_casts = options.stored_casts || setup.held.stored_casts;
    options.f32_gradients = options.f32_gradients || setup.held.f32_gradients;
    if (setup.held.kept_products) options.kept_products = setup.held.kept_products;
    setup.held = {};
    return setup;
}

double reported_bytes(const TrainingMemory& memory, std::string_view what, const TrainerHabits& habits,
                      double reserved) {
    double bytes = memory.tensors();
    if (what == "reserved" || what == "used") bytes = bytes * reserved + memory.extra_reserved;
    if (what == "used") bytes += habits.context_bytes;
    return bytes;
}

}  // namespace roofline::core
