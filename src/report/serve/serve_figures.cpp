#include "report/serve/serve_figures.hpp"
#include "report/emitted_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>

#include "predict/serve/compute_bound_batch.hpp"
#include "report/plan_json.hpp"
#include "report/screen_notes.hpp"
#include "report/serve/frontier_figures.hpp"
#include "report/serve/pass_figures.hpp"
#include "report/serve/serve_words.hpp"
#include "report/source_json.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;
using Answer = const ServeAnswer&;

constexpr NumberText none = nullptr;

double chips_of(Answer answer) { return static_cast<double>(answer.slice.chips()); }

Json mesh_json(Answer answer) {
    Json mesh = Json::object();
    for (const MeshAxis& axis : answer.mesh) mesh[axis.name] = axis.size;
    return mesh;
}

Json searched_json(Answer answer) {
    if (!answer.searched) return {};
    const SearchedServing& searched = *answer.searched;
    return {{"on", searched.on},         {"chips", searched.chips},
            {"set_up", searched.set_up}, {"replicas", searched.replicas},
            {"meets", searched.meets},   {"command", fmt::format("{}", fmt::join(searched.command, " "))}};
}

Json frontier_json(Answer answer) {
    Json list = Json::array();
    for (const FrontierPoint& point : frontier_of(answer)) list.push_back(json_of(frontier_figures(), point));
    return list;
}

Json sources_json(Answer answer) {
    Json sources = Json::array();
    for (const Resource& resource : answer.decode.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) sources.push_back(source_json(term.rate));
    }
    return sources;
}

template <auto of, auto part>
Json memory(Answer answer) {
    return (answer.*of).*part;
}
template <auto of>
Json total_memory(Answer answer) {
    return (answer.*of).total();
}

template <auto of, auto least>
Json pass(Answer answer) {
    return pass_json({answer.*of, answer.*least, answer.experts()});
}

template <auto part>
Json load(Answer answer) {
    return answer.under_load ? Json((*answer.under_load).*part) : Json();
}

using Pool = const PrefillPool&;

/// Makes a value of the pool that prefills one of the answer, null without one.
template <class Value>
constexpr auto of_pool(Value) {
    return +[](Answer answer) -> Json { return answer.prefill_pool ? Json(Value{}(*answer.prefill_pool)) : Json(); };
}

double prompt_of(Answer answer) { return static_cast<double>(answer.prompt); }

/// Likewise a value of the transfer of caches.
template <class Value>
constexpr auto of_transfer(Value) {
    return +[](Answer answer) -> Json {
        const auto& pool = answer.prefill_pool;
        return pool && pool->transfer ? Json(Value{}(answer, *pool->transfer)) : Json();
    };
}

using Load = const SimulatedLoad&;

/// Makes a value of the simulated load one of the answer, null without a load.
template <class Value>
constexpr auto of_load(Value) {
    return +[](Answer answer) -> Json { return answer.load ? Json(Value{}(*answer.load)) : Json(); };
}

using Room = const ServedRoom&;
template <class Value>
constexpr auto of_room(Value) {
    return +[](Answer answer) -> Json { return answer.served ? Json(Value{}(*answer.served)) : Json(); };
}

using Routed = const ServedExperts&;

/// Makes a value of the experts one of the answer, null without experts.
template <class Value>
constexpr auto of_experts(Value) {
    return +[](Answer answer) -> Json { return answer.routed ? Json(Value{}(*answer.routed)) : Json(); };
}

using Drafts = const SpeculatedServing&;

/// Makes a value of speculation one of the answer, null without speculation.
template <class Value>
constexpr auto of_speculation(Value) {
    return +[](Answer answer) -> Json { return answer.speculation ? Json(Value{}(*answer.speculation)) : Json(); };
}

using Passes = const MeasuredPasses&;

/// The value of a figure of whole passes; null if expected times rest on none.
template <class Value>
constexpr auto of_passes(Value) {
    return +[](Answer answer) -> Json { return answer.whole_passes ? Json(Value{}(*answer.whole_passes)) : Json(); };
}

std::string_view source_name(DraftSource source) {
    switch (source) {
        case DraftSource::layer:
            return "layer";
        case DraftSource::model:
            return "model";
        case DraftSource::lookup:
            break;
    }
    return "lookup";
}

Json spread_json(const TimeSpread& spread) {
    Json json = Json::object();
    json["mean"] = spread.mean;
    json["p50"] = spread.p50;
    json["p90"] = spread.p90;
    json["p99"] = spread.p99;
    return json;
}

Json if_targets(Load load, double value) { return load.load.targets.any() ? Json(value) : Json(); }

template <auto batch>
Json compute_bound(Answer answer) {
    return figure_value(answer.compute_bound.*batch);
}

std::string fits_words(Answer answer) { return !answer.capacity ? "-" : answer.fits ? "yes" : "no"; }

constexpr AnswerFigure<ServeAnswer> all[] = {
    {"schema", "", none, [](Answer) -> Json { return 1; }},
    {"model", "", none, [](Answer answer) -> Json { return answer.model.name; }},
    {"machine", "", none, [](Answer answer) -> Json { return answer.slice.machine.id; }},
    {"slice", "", none, [](Answer answer) -> Json { return answer.slice.shape_text(); }, slice_name},
    {"chips", "chips", in_whole, [](Answer answer) -> Json { return answer.slice.chips(); }},
    {"prompt", "", in_whole, [](Answer answer) -> Json { return answer.prompt; }},
    {"output", "", in_whole, [](Answer answer) -> Json { return answer.output; }},
    {"batch", "", in_whole, [](Answer answer) -> Json { return answer.batch; }},
    {"plan", "plan", none, [](Answer answer) { return plan_json(answer.plan); },
     [](Answer answer) { return plan_text(answer.plan); }},
    {"plan.mesh", "", none, mesh_json, split_text},
    {"plan.caches", "caches by", none, [](Answer answer) -> Json { return name(answer.caches); }},
    {"plan.chosen", "", none, [](Answer answer) -> Json { return answer.plan_chosen; }},
    {"searched", "", none, searched_json},
    {"weights", "", none, [](Answer answer) -> Json { return answer.weights.scheme; }},
    {"kv_dtype", "", none, [](Answer answer) -> Json { return name(answer.kv_dtype); }},
    {"memory_bytes.weights", "", in_bytes, memory<&ServeAnswer::slice_memory, &ServingMemory::weights>},
    {"memory_bytes.kv", "", in_bytes, memory<&ServeAnswer::slice_memory, &ServingMemory::kv>},
    {"memory_bytes.activations", "", in_bytes, memory<&ServeAnswer::slice_memory, &ServingMemory::activations>},
    {"memory_bytes.total", "", in_bytes, total_memory<&ServeAnswer::slice_memory>},
    {"memory_bytes_per_chip.weights", "", in_bytes, memory<&ServeAnswer::chip_memory, &ServingMemory::weights>},
    {"memory_bytes_per_chip.kv", "", in_bytes, memory<&ServeAnswer::chip_memory, &ServingMemory::kv>},
    {"memory_bytes_per_chip.activations", "", in_bytes, memory<&ServeAnswer::chip_memory, &ServingMemory::activations>},
    {"memory_bytes_per_chip.total", "memory per chip", in_bytes, total_memory<&ServeAnswer::chip_memory>},
    {"capacity_bytes_per_chip", "", in_bytes, [](Answer answer) { return figure_value(answer.capacity); }},
    {"prefill_chunk", "", in_whole, [](Answer answer) -> Json { return answer.chunk; }},
    {"fits", "fits", none, [](Answer answer) { return answer.capacity ? Json(answer.fits) : Json(); }, fits_words},
    {"max_batch", "room for", in_whole,
     [](Answer answer) { return answer.capacity ? Json(answer.max_batch) : Json(); }},
    {"server_memory", "", none, [](Answer answer) { return group_value(answer.served.has_value()); }},
    {"server_memory.software", "", none,
     of_room([](Room room) { return optional_string(room.rule.software); })},
    {"server_memory.fraction", "", none, of_room([](Room room) -> Json { return room.rule.fraction; })},
    {"server_memory.of", "", none, of_room([](Room room) -> Json { return name(room.rule.of); })},
    {"server_memory.block_tokens", "", in_whole, of_room([](Room room) -> Json { return room.rule.block; })},
    {"server_memory.cache_bytes_per_chip", "", in_bytes,
     of_room([](Room room) -> Json { return room.cache_bytes; })},
    {"server_memory.tokens", "", in_whole, of_room([](Room room) -> Json { return room.tokens; })},
    {"server_memory.max_batch", "server holds", in_whole, of_room([](Room room) -> Json { return room.max_batch; })},
    {"server_memory.source", "", none, of_room([](Room room) { return optional_string(room.rule.source); })},
    {"prefill", "", none, pass<&ServeAnswer::prefill, &ServeAnswer::least_prefill>},
    {"decode", "", none, pass<&ServeAnswer::decode, &ServeAnswer::least_decode>},
    {"decode.bound_by", "bound by", none, nullptr, [](Answer answer) { return bound_label(answer.decode); }},
    {"decode.context", "", in_whole, [](Answer answer) -> Json { return answer.context; }},
    {"decode.first_s", "", in_seconds, [](Answer answer) -> Json { return answer.first_step_s; }},
    {"decode.last_s", "", in_seconds, [](Answer answer) -> Json { return answer.last_step_s; }},
    {"times", "", none, [](Answer answer) -> Json { return calibrated(answer) ? "expected" : "in turn"; }},
    {"ttft_s", "TTFT", in_seconds, [](Answer answer) -> Json { return first_token_seconds(answer); }},
    {"tpot_s", "TPOT", in_seconds, [](Answer answer) -> Json { return token_seconds(answer); }},
    {"tpot_lower_s", "at least", in_seconds, [](Answer answer) -> Json { return least_token_seconds(answer); }},
    {"tokens_per_s", "tokens/s", rate_text, [](Answer answer) -> Json { return decode_tokens_per_s(answer); }},
    {"tokens_per_s_per_chip", "per chip", rate_text,
     [](Answer answer) -> Json { return decode_tokens_per_s(answer) / chips_of(answer); }},
    {"usd_per_million_tokens", "$/M tokens", in_three_digits,
     [](Answer answer) {
         return figure_value(usd_per_million(answer, 1, 0, decode_tokens_per_s(answer)));
     }},
    {"with_prefill.tokens_per_s", "", rate_text, [](Answer answer) -> Json { return served_tokens_per_s(answer); }},
    {"with_prefill.tokens_per_s_per_chip", "", rate_text,
     [](Answer answer) -> Json { return served_tokens_per_s(answer) / serving_chips(answer); }},
    {"with_prefill.requests_per_s", "", rate_text,
     [](Answer answer) -> Json { return served_tokens_per_s(answer) / static_cast<double>(answer.output); }},
    {"with_prefill.usd_per_million_tokens", "with prefill", in_three_digits,
     [](Answer answer) {
         return figure_value(usd_per_million(answer, 1, prefill_ratio(answer), served_tokens_per_s(answer)));
     }},
    {"whole_passes", "", none, [](Answer answer) { return group_value(answer.whole_passes.has_value()); }},
    {"whole_passes.software", "", none, of_passes([](Passes passes) -> Json { return passes.software; })},
    {"whole_passes.family", "", none, of_passes([](Passes passes) -> Json { return passes.family; })},
    {"whole_passes.machine", "", none, of_passes([](Passes passes) -> Json { return passes.machine; })},
    {"whole_passes.transferred", "", none, of_passes([](Passes passes) -> Json { return passes.transferred; })},
    {"whole_passes.rows", "", in_whole, of_passes([](Passes passes) -> Json { return passes.rows; })},
    {"whole_passes.generation_tokens_per_s", "generation", rate_text,
     [](Answer answer) { return answer.whole_passes ? Json(1 / token_seconds(answer)) : Json(); }},
    {"whole_passes.generation_error", "", none,
     of_passes([](Passes passes) -> Json { return passes.generation_error; })},
    {"whole_passes.prompt_tokens_per_s", "prompts", rate_text,
     [](Answer answer) {
         return answer.whole_passes ? Json(static_cast<double>(answer.prompt) / prefill_seconds(answer)) : Json();
     }},
    {"whole_passes.prompt_error", "", none, of_passes([](Passes passes) -> Json { return passes.prompt_error; })},
    {"speculation", "", none, [](Answer answer) { return group_value(answer.speculation.has_value()); }},
    {"speculation.draft_tokens", "", in_whole, of_speculation([](Drafts drafts) -> Json { return drafts.tokens; })},
    {"speculation.acceptance", "", none, of_speculation([](Drafts drafts) -> Json { return drafts.acceptance; })},
    {"speculation.drafter", "", none, of_speculation([](Drafts drafts) -> Json { return source_name(drafts.source); })},
    {"speculation.draft_model", "", none, of_speculation([](Drafts drafts) { return optional_string(drafts.name); })},
    {"speculation.tokens_per_step", "", in_three_digits,
     of_speculation([](Drafts drafts) -> Json { return drafts.tokens_per_step; })},
    {"speculation.verify_s", "", in_seconds,
     [](Answer answer) { return answer.speculation ? Json(pass_seconds(answer.decode)) : Json(); }},
    {"speculation.draft_s", "", in_seconds, of_speculation([](Drafts drafts) -> Json { return drafts.draft_s(); })},
    {"speculation.draft", "", none,
     of_speculation([](Drafts drafts) {
         return drafts.draft ? pass_json({*drafts.draft, drafts.least_draft, has_experts(drafts.draft->program)})
                             : Json();
     })},
    {"speculation.step_s", "", in_seconds,
     [](Answer answer) { return answer.speculation ? Json(step_seconds(answer)) : Json(); }},
    {"speculation.prefill_s", "", in_seconds, of_speculation([](Drafts drafts) -> Json { return drafts.prefill_s; })},
    {"speculation.memory_bytes_per_chip", "", in_bytes,
     of_speculation([](Drafts drafts) -> Json { return drafts.memory.total(); })},
    {"speculation.tpot_without_s", "", in_seconds,
     of_speculation([](Drafts drafts) -> Json { return drafts.tpot_without_s; })},
    {"speculation.gain", "speculation", in_three_digits,
     [](Answer answer) {
         return answer.speculation ? Json(answer.speculation->tpot_without_s / token_seconds(answer)) : Json();
     }},
    {"speculation.no_gain_from_batch", "", in_whole,
     of_speculation([](Drafts drafts) { return figure_value(drafts.no_gain_from); })},
    {"disaggregated", "", none, [](Answer answer) { return group_value(answer.prefill_pool.has_value()); }},
    {"disaggregated.prefill_per_decode", "", none, [](Answer answer) -> Json { return prefill_ratio(answer); }},
    {"disaggregated.machine", "", none, of_pool([](Pool pool) -> Json { return pool.slice.machine.id; })},
    {"disaggregated.slice", "", none, of_pool([](Pool pool) -> Json { return pool.slice.shape_text(); })},
    {"disaggregated.chips", "", in_whole, of_pool([](Pool pool) -> Json { return pool.slice.chips(); })},
    {"disaggregated.plan", "", none, of_pool([](Pool pool) { return plan_json(pool.plan); })},
    {"disaggregated.plan.chosen", "", none, of_pool([](Pool pool) -> Json { return pool.plan_chosen; })},
    {"disaggregated.memory_bytes_per_chip", "", in_bytes,
     of_pool([](Pool pool) -> Json { return pool.chip_memory.total(); })},
    {"disaggregated.capacity_bytes_per_chip", "", in_bytes,
     of_pool([](Pool pool) { return figure_value(pool.capacity); })},
    {"disaggregated.fits", "", none, of_pool([](Pool pool) { return pool.capacity ? Json(pool.fits()) : Json(); })},
    {"disaggregated.transfer_bytes", "", in_bytes,
     of_transfer([](Answer answer, const CacheTransfer& transfer) { return transfer.bytes.at(prompt_of(answer)); })},
    {"disaggregated.transfer_s", "KV transfer", in_seconds,
     of_transfer([](Answer answer, const CacheTransfer& transfer) { return transfer.seconds.at(prompt_of(answer)); })},
    {"disaggregated.transfer_exposed_s", "", in_seconds,
     of_transfer([](Answer answer, const CacheTransfer& transfer) {
         return transfer.exposed_s(prompt_of(answer), prefill_seconds(answer));
     })},
    {"disaggregated.prefill_workers", "", in_whole, of_pool([](Pool pool) -> Json { return pool.slices; })},
    {"disaggregated.decode_workers", "", in_whole, of_pool([](Pool pool) -> Json { return pool.decode_slices; })},
    {"disaggregated.prefill_requests_per_s", "", rate_text,
     of_pool([](Pool pool) { return pool.rates ? figure_value(pool.rates->prompts) : Json(); })},
    {"disaggregated.decode_requests_per_s", "", rate_text,
     of_pool([](Pool pool) { return pool.rates ? figure_value(pool.rates->decode) : Json(); })},
    {"experts", "", none, [](Answer answer) { return group_value(answer.routed.has_value()); }},
    {"experts.routing", "", none, of_experts([](Routed routed) -> Json { return routing_text(routed.routing); })},
    {"experts.redundant", "", in_whole,
     of_experts([](Routed routed) { return figure_value(routed.routing.redundant); })},
    {"experts.per_chip", "", none, of_experts([](Routed routed) -> Json { return routed.held; })},
    {"experts.read", "", none, of_experts([](Routed routed) -> Json { return routed.read; })},
    {"experts.imbalance", "", in_three_digits, of_experts([](Routed routed) -> Json { return routed.imbalance; })},
    {"under_load", "", none, [](Answer answer) { return group_value(answer.under_load.has_value()); }},
    {"under_load.software", "", none, load<&ServedLoad::software>},
    {"under_load.error", "", in_percent, load<&ServedLoad::error>},
    {"under_load.ttft_s", "first served", in_seconds, load<&ServedLoad::ttft_s>},
    {"under_load.tpot_s", "as served", in_seconds, load<&ServedLoad::tpot_s>},
    {"under_load.sequences", "", none, load<&ServedLoad::running>},
    {"under_load.tokens_per_s", "", rate_text, load<&ServedLoad::tokens_per_s>},
    {"under_load.balancedness", "", none,
     [](Answer answer) { return answer.under_load ? figure_value(answer.under_load->balancedness) : Json(); }},
    {"under_load.two_batch_overlap", "", none, load<&ServedLoad::two_batches>},
    {"under_load.usd_per_million_tokens", "", in_three_digits,
     [](Answer answer) {
         const auto& load = answer.under_load;
         return load ? figure_value(load_usd_per_million(answer, load->tokens_per_s)) : Json();
     }},
    {"load", "", none, [](Answer answer) { return group_value(answer.load.has_value()); }},
    {"load.loop", "", none, of_load([](Load load) -> Json { return load.load.rate > 0 ? "open" : "closed"; })},
    {"load.rate_per_s", "", rate_text,
     of_load([](Load load) { return load.load.rate > 0 ? Json(load.load.rate) : Json(); })},
    {"load.concurrency", "", in_whole,
     of_load([](Load load) { return load.load.rate > 0 ? Json() : Json(load.load.concurrency); })},
    {"load.requests", "", in_whole, of_load([](Load load) -> Json { return load.requests; })},
    {"load.schedule", "", none, of_load([](Load load) -> Json {
         return load.load.schedule == PromptSchedule::mixed ? "mixed" : "prefill-first";
     })},
    {"load.ttft_s", "TTFT", in_seconds, of_load([](Load load) { return spread_json(load.times.ttft); })},
    {"load.tpot_s", "TPOT", in_seconds, of_load([](Load load) { return spread_json(load.times.tpot); })},
    {"load.itl_s", "ITL", in_seconds, of_load([](Load load) { return spread_json(load.times.itl); })},
    {"load.latency_s", "latency", in_seconds, of_load([](Load load) { return spread_json(load.times.latency); })},
    {"load.requests_per_s", "requests/s", rate_text,
     of_load([](Load load) -> Json { return load.times.requests_per_s; })},
    {"load.tokens_per_s", "", rate_text, of_load([](Load load) -> Json { return load.times.tokens_per_s; })},
    {"load.tokens_per_s_per_chip", "", rate_text,
     [](Answer answer) { return answer.load ? Json(answer.load->times.tokens_per_s / load_chips(answer)) : Json(); }},
    {"load.tokens_per_s_per_user", "", rate_text,
     of_load([](Load load) { return load.times.tpot.mean > 0 ? Json(1 / load.times.tpot.mean) : Json(); })},
    {"load.saturation_requests_per_s", "saturated at", rate_text,
     of_load([](Load load) -> Json { return load.saturation_per_s; })},
    {"load.target_ttft_s", "", in_seconds, of_load([](Load load) { return figure_value(load.load.targets.ttft_s); })},
    {"load.target_tpot_s", "", in_seconds, of_load([](Load load) { return figure_value(load.load.targets.tpot_s); })},
    {"load.target_percentile", "", in_whole, of_load([](Load load) { return if_targets(load, 99); })},
    {"load.goodput_requests_per_s", "goodput", rate_text,
     of_load([](Load load) { return if_targets(load, load.goodput_per_s()); })},
    {"load.goodput_fraction", "", in_percent, of_load([](Load load) { return if_targets(load, load.met); })},
    {"load.largest", "largest load", rate_text, of_load([](Load load) { return if_targets(load, load.largest); })},
    {"compute_bound_batch.step", "", none, compute_bound<&ComputeBoundBatch::step>},
    {"compute_bound_batch.weights", "", none, compute_bound<&ComputeBoundBatch::weights>},
    {"compute_bound_batch.textbook", "", none, compute_bound<&ComputeBoundBatch::textbook>},
    {"frontier", "", none, frontier_json},
    {"smallest_slice", "", none, [](Answer answer) { return answer.smallest ? Json(answer.smallest->name) : Json(); }},
    {"smallest_slice_chips", "", in_whole,
     [](Answer answer) { return answer.smallest ? Json(answer.smallest->chips) : Json(); }},
    {"smallest_slice_plan", "", none,
     [](Answer answer) { return answer.smallest ? Json(plan_text(answer.smallest->plan)) : Json(); }},
    {"emitted", "", none, [](Answer answer) -> Json { return emitted_json(answer.emitted); }},
    {"notes", "", none, [](Answer answer) -> Json { return serve_notes(answer); }},
    {"sources", "", none, sources_json},
};

constexpr FigureColumn compared_columns[] = {{"slice", "slice", true},
                                             {"chips"},
                                             {"plan.mesh", "plan", true},
                                             {"fits", "fits", true},
                                             {"memory_bytes_per_chip.total", "bytes per chip"},
                                             {"max_batch", "room for"},
                                             {"ttft_s"},
                                             {"tpot_s"},
                                             {"tpot_lower_s", "lower_s"},
                                             {"decode.bound_by", "bound by", true},
                                             {"tokens_per_s", "tokens/s"},
                                             {"tokens_per_s_per_chip", "tokens/s per chip"},
                                             {"usd_per_million_tokens", "USD/M tokens"},
                                             {"with_prefill.usd_per_million_tokens", "USD/M with prefill"}};
static_assert(named(all, compared_columns));

constexpr FigureLine lines[] = {{"chips"},
                                {"plan"},
                                {"plan.caches"},
                                {"fits"},
                                {"memory_bytes_per_chip.total"},
                                {"max_batch"},
                                {"server_memory.max_batch", true},
                                {"ttft_s"},
                                {"tpot_s"},
                                {"tpot_lower_s"},
                                {"speculation.gain", true},
                                {"decode.bound_by"},
                                {"tokens_per_s"},
                                {"tokens_per_s_per_chip"},
                                {"usd_per_million_tokens"},
                                {"with_prefill.usd_per_million_tokens"},
                                {"under_load.tpot_s", true},
                                {"under_load.ttft_s", true},
                                {"load.goodput_requests_per_s", true},
                                {"load.largest", true}};
static_assert(named(all, lines));

constexpr CellStyle six_digits{6};

}  // namespace

std::span<const AnswerFigure<ServeAnswer>> serve_figures() { return all; }

std::string serve_json(const ServeAnswer& answer) { return dumped(json_of(all, answer)); }

std::string serve_json(const std::vector<ServeAnswer>& answers) {
    std::vector<std::string> each;
    for (const ServeAnswer& answer : answers) each.push_back(serve_json(answer));
    return machines_json(each);
}

Table serve_compare_table(const std::vector<ServeAnswer>& answers) {
    Table table = figure_table(all, compared_columns, answers, six_digits);
    table.right.clear();
    return table;
}

Table serve_comparison(const std::vector<ServeAnswer>& answers) {
    return comparison_table(all, lines, answers, slice_name);
}

std::string serve_compare_text(const std::vector<ServeAnswer>& answers) {
    const ServeAnswer& front = answers.front();
    std::vector<std::vector<std::string>> notes;
    for (const ServeAnswer& answer : answers) notes.push_back(notes_for_screen(serve_notes(answer)));
    return fmt::format("{}: {} sequence{}, {} prompt and {} output tokens\n\n{}\n{}", front.model.name, front.batch,
                       front.batch == 1 ? "" : "s", front.prompt, front.output,
                       table_text(serve_comparison(answers), 2), notes_once(notes));
}

}  // namespace roofline::core
