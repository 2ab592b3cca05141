#include "predict/serve/served_question.hpp"

#include <fmt/format.h>

#include <utility>

#include "model/machine_dtype.hpp"
#include "predict/serve/compute_bound_batch.hpp"
#include "predict/serve/whole_pass.hpp"

namespace roofline::core {

namespace {

Status check_sizes(const ServeQuestion& question) {
    for (const std::int64_t count : {question.prompt, question.output, question.batch, question.chunk}) {
        if (count >= 1 && count <= max_serving_size) continue;
        return fail("size",
                    fmt::format("prompt, output, batch and chunk must be 1 to {}: {}", max_serving_size, count));
    }
    if (question.block < 0 || question.block > max_serving_size) {
        return fail("size", fmt::format("a block must have 1 to {} tokens: {}", max_serving_size, question.block));
    }
    if (question.memory_fraction && !(*question.memory_fraction > 0 && *question.memory_fraction <= 1)) {
        return fail("bad_request",
                    fmt::format("the fraction of memory must be above 0 and at most 1: {}", *question.memory_fraction));
    }
    return {};
}

Status read_exchange(const ServeQuestion& question, const ServerModels& servers, ServedQuestion& read,
                     ServeAnswer& answer) {
    if (question.exchange.empty()) {
        const CalibratedServer* const server =
            servers.find_or_usual(question.software, platform_of(question.slice.machine));
        if (server != nullptr) answer.exchange_server = server->software;
        return {};
    }
    ROOFLINE_TRY(read.exchange, built_in_exchanges().named(question.exchange));
    if (!has_experts(answer.model.program)) {
        return fail("bad_request", fmt::format("{} has no experts to exchange tokens with", answer.model.name),
                    "leave --exchange out");
    }
    return {};
}

Status read_drafter(const ServeQuestion& question, const std::optional<Quantisation>& quantisation,
                    ServedQuestion& read, ServeAnswer& answer) {
    if (!question.draft) return {};
    const std::int64_t tokens = answer.prompt + answer.output;
    ROOFLINE_TRY(read.speculation, speculation_of(*question.draft, {read.prefill, read.decode, question.weights,
                                                                    quantisation, answer.kv_dtype, tokens}));
    SpeculatedServing& told = answer.speculation.emplace();
    told.tokens = read.speculation->tokens;
    told.acceptance = read.speculation->acceptance;
    told.source = read.speculation->source;
    told.name = read.speculation->name;
    told.tokens_per_step = read.speculation->tokens_per_step();
    return {};
}

Status read_models(const ServeQuestion& question, const ServerModels& servers, const PassModels& passes,
                   ServedQuestion& read, ServeAnswer& answer) {
    std::optional<Quantisation> quantisation;
    if (!question.weights) {
        ROOFLINE_TRY(quantisation, quantisation_of(question.config, nullptr));
    }
    read.whole = whole_pass_library(passes, question.software, quantisation);
    const bool fp8 = quantisation && quantisation->kv_is_fp8;
    const Machine& machine = question.slice.machine;
    answer.kv_dtype = question.kv_dtype.value_or(fp8 ? Dtype::fp8 : Dtype::bf16);
    if (answer.kv_dtype == Dtype::bf16) answer.kv_dtype = sixteen_bits_of(machine);
    for (const bool decoding : {false, true}) {
        ROOFLINE_TRY(auto model, build_model(question.config, 1, decoding));
        use_sixteen_bits_of(machine, model);
        ROOFLINE_TRY((decoding ? read.decode : read.prefill),
                     served_model(std::move(model), question.weights, quantisation, answer.kv_dtype));
    }
    answer.model = read.prefill.model;
    answer.weights = read.prefill.weights;
    if (question.balancedness > 0 && !has_experts(answer.model.program)) {
        return fail("bad_request", fmt::format("{} has no experts that could be unbalanced", answer.model.name),
                    "leave --balancedness out");
    }
    ROOFLINE_CHECK(read_exchange(question, servers, read, answer));
    ROOFLINE_CHECK(check_routing(question.routing, answer.model.program));
    read.prefill.routing = read.decode.routing = question.routing;
    return read_drafter(question, quantisation, read, answer);
}

Status check_context(const ServeAnswer& answer) {
    const std::int64_t tokens = answer.prompt + answer.output;
    if (!(answer.model.context > 0 && tokens > answer.model.context)) return {};
    return fail("bad_request",
                fmt::format("{} prompt and {} output tokens are {}, more than the context of {}", answer.prompt,
                            answer.output, tokens, answer.model.context),
                "shorten the prompt or the output, or change the context in the configuration");
}

}  // namespace

Result<ServedQuestion> read_question(ServeQuestion& question, const ServerModels& servers, const PassModels& passes,
                                     ServeAnswer& answer) {
    ROOFLINE_CHECK(check_sizes(question));
    answer.notes = question.notes;
    answer.prompt = question.prompt;
    answer.output = question.output;
    answer.batch = question.batch;
    answer.chunk = question.chunk;
    answer.context = (2 * answer.prompt + answer.output + 1) / 2;
    ServedQuestion read;
    ROOFLINE_CHECK(read_models(question, servers, passes, read, answer));
    ROOFLINE_CHECK(check_context(answer));
    answer.slice = std::move(question.slice);
    answer.machine_id = question.machine.empty() ? answer.slice.machine.id : question.machine;
    answer.notes.insert(answer.notes.end(), answer.slice.notes.begin(), answer.slice.notes.end());
    if (const MemoryLevel* memory = answer.slice.machine.level("hbm")) {
        if (memory->total_capacity()) answer.capacity = memory->total_capacity()->value;
    }
    return read;
}

}  // namespace roofline::core
