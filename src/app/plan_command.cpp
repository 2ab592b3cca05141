#include "app/plan_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/ascii.hpp"
#include "report/train/train_words.hpp"

namespace roofline::core {

namespace {

std::string shell_word(std::string_view word) {
    constexpr std::string_view plain = "_.,=:/+%@-";
    const bool safe = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
        return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || plain.find(c) != std::string_view::npos;
    });
    if (safe) return std::string(word);
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
    return text + "'";
}

class Command {
public:
    Command(std::string_view name, const std::string& model, const MachineRef& machine) {
        words_.push_back(fmt::format("roofline {} {}", name, model == "standard input" ? "-" : shell_word(model)));
        option("--on", machine.slice.empty() ? machine.name : fmt::format("{}:{}", machine.name, machine.slice));
    }

    void option(std::string_view name, std::string_view value) {
        if (!value.empty()) words_.push_back(fmt::format("{} {}", name, shell_word(value)));
    }
    void flag(std::string_view name, bool given) {
        if (given) words_.emplace_back(name);
    }
    /// Options that `train` and `serve` have at the end.
    template <class Asked>
    void basis(const Asked& asked) {
        option("--price", asked.price);
        for (const std::string& set : asked.sets) option("--set", set);
        option("--software", asked.software);
        if (asked.calibration.none) option("--calibration", "none");
        for (const NamedText& file : asked.calibration.files) option("--calibration", file.name);
        flag("--textbook", asked.textbook);
    }

    [[nodiscard]] std::vector<std::string> words() && { return std::move(words_); }

private:
    std::vector<std::string> words_;
};

}  // namespace

std::string mesh_word(const Plan& plan) {
    std::string mesh = mesh_option(plan);
    for (std::size_t at = 0; (at = mesh.find(", ", at)) != std::string::npos;) mesh.erase(at + 1, 1);
    return mesh.empty() ? "data=1" : mesh;
}

TrainRequest with_plan(TrainRequest job, const TrainAnswer& plan) {
    job.mesh = {mesh_word(plan.plan)};
    job.zero = plan.plan.zero > 0 ? fmt::format("{}", plan.plan.zero) : "";
    job.microbatches = fmt::format("{}", plan.batch->microbatches);
    job.schedule = plan.schedule;
    const TrainingOptions& options = plan.options;
    job.remat = options.remat == Remat::named ? fmt::format("{}", fmt::join(options.kept, ",")) : remat_text(options);
    if (!job.overlap.empty()) {
        job.overlap = plan.overlapped.empty() ? "none" : fmt::format("{}", fmt::join(plan.overlapped, ","));
    }
    return job;
}

std::vector<std::string> plan_command(const TrainRequest& asked, const TrainAnswer& plan) {
    const TrainRequest job = with_plan(asked, plan);
    Command command("train", job.config.name, job.machines.front());
    command.option("--batch-tokens", job.batch_tokens);
    command.option("--seq", job.sequence);
    command.option("--mesh", job.mesh.front());
    command.option("--zero", job.zero);
    command.option("--microbatches", job.microbatches);
    command.option("--schedule", job.schedule);
    command.option("--remat", job.remat);
    command.option("--lora", job.lora);
    command.option("--lora-on", job.lora_on);
    command.option("--frozen-dtype", job.frozen_dtype);
    command.option("--optimizer", job.optimizer);
    command.option("--framework", job.framework.name);
    command.option("--products", job.products);
    command.option("--dispatch", job.dispatch);
    command.option("--overlap", job.overlap);
    command.option("--tokens", job.tokens);
    command.option("--storage", job.storage);
    command.option("--failures", job.failures);
    command.option("--restart", job.restart);
    command.flag("--async-checkpoints", job.async_checkpoints);
    command.basis(job);
    return std::move(command).words();
}

std::vector<std::string> serve_command(const ServeRequest& asked) {
    Command command("serve", asked.config.name, asked.machines.front());
    for (const std::string& mesh : asked.mesh) command.option("--mesh", mesh);
    if (asked.prefill) {
        const MachineRef& prefill = *asked.prefill;
        command.option("--prefill",
                       prefill.slice.empty() ? prefill.name : fmt::format("{}:{}", prefill.name, prefill.slice));
    }
    command.flag("--disaggregated", asked.disaggregated && !asked.prefill);
    for (const std::string& mesh : asked.prefill_mesh) command.option("--prefill-mesh", mesh);
    command.option("--prefill-workers", asked.prefill_workers);
    command.option("--decode-workers", asked.decode_workers);
    command.flag("--overlap-transfer", asked.overlap_transfer);
    command.option("--prompt", asked.prompt);
    command.option("--output", asked.output);
    command.option("--batch", asked.batch);
    command.option("--concurrency", asked.concurrency);
    command.option("--rate", asked.rate);
    command.option("--requests", asked.requests);
    command.option("--schedule", asked.schedule);
    command.option("--cached", asked.cached);
    command.option("--ttft", asked.ttft);
    command.option("--tpot", asked.tpot);
    command.option("--chunk", asked.chunk);
    command.option("--memory-fraction", asked.memory_fraction);
    command.option("--block", asked.block);
    command.option("--draft", asked.draft);
    command.option("--acceptance", asked.acceptance);
    command.option("--weights", asked.weights);
    command.option("--kv-dtype", asked.kv_dtype);
    command.option("--exchange", asked.exchange);
    command.option("--balancedness", asked.balancedness);
    command.option("--routing", asked.routing);
    command.option("--redundant-experts", asked.redundant_experts);
    command.flag("--two-batch-overlap", asked.two_batch_overlap);
    command.basis(asked);
    return std::move(command).words();
}

}  // namespace roofline::core
