#include "app/serve_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/draft_options.hpp"
#include "app/load_options.hpp"
#include "app/model_option.hpp"
#include "app/number_option.hpp"
#include "app/routing_options.hpp"
#include "app/serve_launch.hpp"
#include "app/system_option.hpp"
#include "predict/serve/serving_costs.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

Result<std::int64_t> count_option(const std::string& word, std::string_view option, std::int64_t otherwise,
                                  std::vector<std::string>& notes) {
    if (word.empty()) {
        notes.push_back(fmt::format("without {} it is {}", option, otherwise));
        return otherwise;
    }
    return whole_option(option, word, max_serving_size);
}

/// The mean of lengths in whole tokens.
std::int64_t whole_mean(double mean) { return std::max<std::int64_t>(1, std::llround(mean)); }

// Sets prompt and output of the question, and returns the lengths of the requests that they are the means of.
Result<RequestLengths> lengths_of(const ServeRequest& request, ServeQuestion& question) {
    RequestLengths listed;
    if (request.lengths) {
        if (!request.prompt.empty() || !request.output.empty()) {
            return fail("bad_request", "--lengths has prompts and outputs, but --prompt or --output is given, too",
                        "remove either");
        }
        ROOFLINE_TRY(listed.listed, read_request_lengths(*request.lengths));
        double prompts = 0;
        double outputs = 0;
        for (const RequestTokens& each : listed.listed) {
            prompts += static_cast<double>(each.prompt);
            outputs += static_cast<double>(each.output);
        }
        const auto count = static_cast<double>(listed.listed.size());
        question.prompt = whole_mean(prompts / count);
        question.output = whole_mean(outputs / count);
        return listed;
    }
    const auto read = [&](const std::string& word, std::string_view option,
                          std::int64_t& mean) -> Result<std::optional<LengthDistribution>> {
        if (!is_distribution(word)) {
            ROOFLINE_TRY(mean, count_option(word, option, mean, question.notes));
            return std::optional<LengthDistribution>{};
        }
        ROOFLINE_TRY(auto lengths, length_distribution(word, option));
        mean = whole_mean(mean_length(lengths));
        return std::optional(lengths);
    };
    ROOFLINE_TRY(const auto prompt, read(request.prompt, "--prompt", question.prompt));
    ROOFLINE_TRY(const auto output, read(request.output, "--output", question.output));
    RequestLengths lengths =
        typical_lengths({static_cast<double>(question.prompt), static_cast<double>(question.output)});
    if (prompt) lengths.prompt = *prompt;
    if (output) lengths.output = *output;
    return lengths;
}

Result<std::int64_t> workers_option(const std::string& word, const char* option, std::int64_t otherwise) {
    return word.empty() ? otherwise : whole_option(option, word, max_servers);
}

// The slices that prefill. --set changes them, too, if their machine is that of --on, and --price in any case.
Result<std::optional<DisaggregatedQuestion>> disaggregated_of(const ServeRequest& request,
                                                              const ServeQuestion& question,
                                                              std::vector<std::string>& notes) {
    const bool named = request.prefill.has_value();
    if (!named && !request.disaggregated) {
        const bool given[] = {!request.prefill_mesh.empty(), !request.prefill_workers.empty(),
                              !request.decode_workers.empty(), request.overlap_transfer};
        const char* const options[] = {"--prefill-mesh", "--prefill-workers", "--decode-workers", "--overlap-transfer"};
        for (std::size_t i = 0; i < std::size(given); ++i) {
            if (!given[i]) continue;
            return fail("bad_request", fmt::format("{} is an option of disaggregated serving", options[i]),
                        "add --prefill SLICE, or --disaggregated");
        }
        return std::optional<DisaggregatedQuestion>{};
    }
    DisaggregatedQuestion pools;
    std::int64_t chips = question.slice.chips();
    if (named) {
        pools.machine = request.prefill->name.substr(0, request.prefill->name.find(':'));
        std::vector<std::string> sets;
        if (pools.machine == question.machine) sets = request.sets;
        if (!request.price.empty()) sets.push_back("price=" + request.price);
        ROOFLINE_TRY(pools.prefill, resolve_slice(*request.prefill, sets));
        chips = pools.prefill->chips();
    }
    if (!request.prefill_mesh.empty()) {
        const auto plan = parse_plan(request.prefill_mesh, chips, &notes);
        if (!plan) return fail(of_option("--prefill-mesh", plan.error()));
        pools.plan = *plan;
    }
    ROOFLINE_TRY(pools.prefill_slices, workers_option(request.prefill_workers, "--prefill-workers", 0));
    ROOFLINE_TRY(pools.decode_slices, workers_option(request.decode_workers, "--decode-workers", 1));
    pools.by_layer = request.overlap_transfer;
    return std::optional(std::move(pools));
}

}  // namespace

Result<ServeQuestion> serve_question(const ServeRequest& request) {
    ServeQuestion question;
    ROOFLINE_TRY(auto lengths, lengths_of(request, question));
    ROOFLINE_TRY(question.batch, count_option(request.batch, "--batch", question.batch, question.notes));
    ROOFLINE_TRY(question.load, load_options(request, std::move(lengths), question.batch));
    if (request.batch.empty() && !request.concurrency.empty()) {
        question.batch = question.load->concurrency;
        question.notes.back() = "without --batch it is --concurrency";
    }
    // The default is stated next to the activations, and only if it makes a difference there.
    std::vector<std::string> unsaid;
    ROOFLINE_TRY(question.chunk, count_option(request.chunk, "--chunk", question.chunk, unsaid));
    if (!request.block.empty()) {
        ROOFLINE_TRY(question.block, whole_option("--block", request.block, max_serving_size));
    }
    ROOFLINE_TRY(question.memory_fraction, memory_fraction_option(request.memory_fraction));
    ROOFLINE_TRY(question.kv_dtype, dtype_option(request.kv_dtype, "--kv-dtype"));
    ROOFLINE_TRY(question.config, resolve_config(request.config));
    ROOFLINE_TRY(question.weights, weights_option(request.weights, question.config));
    std::vector<std::string> sets = request.sets;
    if (!request.price.empty()) sets.push_back("price=" + request.price);
    const MachineRef& machine = request.machines.front();
    ROOFLINE_TRY(question.slice, resolve_slice(machine, sets));
    question.machine = machine.name.substr(0, machine.name.find(':'));
    if (!request.mesh.empty()) {
        ROOFLINE_TRY(question.plan, parse_plan(request.mesh, question.slice.chips(), &question.notes));
    }
    ROOFLINE_TRY(question.balancedness, balancedness_option(request.balancedness));
    ROOFLINE_TRY(question.routing, routing_options(request));
    question.two_batches = request.two_batch_overlap;
    ROOFLINE_TRY(question.draft, draft_options(request));
    question.software = request.software;
    question.exchange = request.exchange;
    question.textbook = request.textbook;
    ROOFLINE_TRY(question.disaggregated, disaggregated_of(request, question, question.notes));
    return question;
}

Result<ServeAnswer> serve_answer_of(const ServeRequest& request, bool frontier) {
    if (request.plan_from) {
        std::vector<std::string> notes;
        ROOFLINE_TRY(auto planned, with_serving_launch(request, notes));
        planned.plan_from.reset();
        ROOFLINE_TRY(auto answer, serve_answer_of(planned, frontier));
        answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
        return answer;
    }
    ROOFLINE_TRY(auto question, serve_question(request));
    question.frontier = frontier;
    std::vector<MachineRef> machines = request.machines;
    if (request.prefill) machines.push_back(*request.prefill);
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.calibration, machines));
    ROOFLINE_TRY(auto answer,
                 predict_serving(std::move(question), std::make_shared<Calibrations>(std::move(calibrations))));
    if (!request.emit.empty()) {
        ROOFLINE_TRY(answer.emitted, emitted_serving(request, answer));
    }
    return answer;
}

}  // namespace roofline::core
