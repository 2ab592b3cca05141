#include "app/plan_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "app/plan_aims.hpp"
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
    explicit Command(const std::string& model) {
        words_.push_back("roofline train " + (model == "standard input" ? "-" : shell_word(model)));
    }

    void option(std::string_view name, std::string_view value) {
        if (!value.empty()) words_.push_back(fmt::format("{} {}", name, shell_word(value)));
    }
    void flag(std::string_view name, bool given) {
        if (given) words_.emplace_back(name);
    }

    [[nodiscard]] std::vector<std::string> words() && { return std::move(words_); }

private:
    std::vector<std::string> words_;
};

// The slice of the chosen job: jobs are those of the first slice, then those of the next one.
std::string slice_word(const PlanRequest& request, const PlanJobsAnswer& answer) {
    const auto slices = planned_slices(request);
    if (!slices || slices->empty()) return answer.jobs[answer.chosen].slice;
    const MachineRef& machine = (*slices)[answer.chosen / (answer.jobs.size() / slices->size())];
    return machine.slice.empty() ? machine.name : fmt::format("{}:{}", machine.name, machine.slice);
}

// What the search chose.
void add_plan(Command& command, const TrainAnswer& best) {
    std::string mesh = mesh_option(best.plan);
    for (std::size_t at = 0; (at = mesh.find(", ", at)) != std::string::npos;) mesh.erase(at + 1, 1);
    command.option("--mesh", mesh.empty() ? "data=1" : mesh);
    if (best.plan.zero > 0) command.option("--zero", fmt::format("{}", best.plan.zero));
    command.option("--microbatches", fmt::format("{}", best.batch->microbatches));
    command.option("--schedule", best.schedule);
    const TrainingOptions& options = best.options;
    command.option("--remat", options.remat == Remat::named ? fmt::format("{}", fmt::join(options.kept, ","))
                                                            : remat_text(options));
}

}  // namespace

std::vector<std::string> plan_command(const PlanRequest& request, const PlanJobsAnswer& answer) {
    const TrainRequest& train = request.train;
    const TrainAnswer& best = answer.plan.best;
    const PlanJobAnswer& job = answer.jobs[answer.chosen];
    Command command(train.config.name);
    command.option("--on", slice_word(request, answer));
    command.option("--batch-tokens", fmt::format("{}", job.batch_tokens));
    if (!train.sequence.empty()) command.option("--seq", fmt::format("{}", job.sequence));
    add_plan(command, best);
    command.option("--lora", train.lora);
    command.option("--lora-on", train.lora_on);
    command.option("--frozen-dtype", train.frozen_dtype);
    command.option("--optimizer", train.optimizer);
    command.option("--framework", train.framework.name);
    command.option("--products", train.products);
    command.option("--dispatch", train.dispatch);
    if (!train.overlap.empty()) {
        command.option("--overlap",
                       best.overlapped.empty() ? "none" : fmt::format("{}", fmt::join(best.overlapped, ",")));
    }
    command.option("--tokens", train.tokens);
    command.option("--storage", train.storage);
    command.option("--failures", train.failures);
    command.option("--restart", train.restart);
    command.flag("--async-checkpoints", train.async_checkpoints);
    command.option("--price", train.price);
    for (const std::string& set : train.sets) command.option("--set", set);
    command.option("--software", train.software);
    if (train.calibration.none) command.option("--calibration", "none");
    for (const NamedText& file : train.calibration.files) command.option("--calibration", file.name);
    command.flag("--textbook", train.textbook);
    return std::move(command).words();
}

}  // namespace roofline::core
