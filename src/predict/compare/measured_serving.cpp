#include "predict/compare/measured_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/ascii.hpp"
#include "model/machine_dtype.hpp"
#include "model/presets.hpp"
#include "model/routed_experts.hpp"
#include "predict/expect.hpp"

namespace roofline::core {

namespace {

// Measured servers store keys and values in at least 8 bits.
constexpr Dtype narrowest_cache = Dtype::fp8;

/// Returns the narrowest floating-point format of the machine's matrix units.
Dtype narrowest(const Machine& machine) {
    for (const Dtype dtype : {Dtype::fp4, Dtype::nvfp4, Dtype::mxfp4, Dtype::fp8}) {
        if (machine.peak(Unit::matmul, dtype) != nullptr) return dtype;
    }
    return Dtype::bf16;
}

/// An unknown dtype, "?" or empty, means the format that the machine multiplies fastest, so that the bound remains
/// valid.
Result<Dtype> weights_of(const MeasuredServing& row, const Machine& machine) {
    if (row.dtype.empty() || row.dtype == "?") return narrowest(machine);
    // activations are in the same 16 bits, which cost what those of bf16 do
    if (const auto dtype = find_dtype(row.dtype)) return *dtype == Dtype::f16 ? Dtype::bf16 : *dtype;
    return fail("unknown_dtype", fmt::format("the dtype {} is not known", in_ticks(row.dtype)));
}

Result<Dtype> cache_of(const MeasuredServing& row) {
    if (row.kv_dtype.empty()) return narrowest_cache;
    if (const auto dtype = find_dtype(row.kv_dtype)) return *dtype;
    return fail("unknown_dtype", fmt::format("the dtype {} is not known", in_ticks(row.kv_dtype)));
}

/// Returns the dimensions of a pass that depend on its batch and context.
std::vector<std::string> dims_of(const Program& program, const Model& model, bool decoding) {
    std::vector<std::string> dims{"B", "S"};
    if (!decoding) dims.emplace_back("T");
    for (const auto& [window, size] : model.windows) dims.push_back(window);
    for (const RoutedExperts& each : routed_experts(program)) {
        if (!has(dims, each.rows)) dims.push_back(each.rows);
    }
    return dims;
}

std::string shape_of(const MeasuredServing& row) {
    std::string shape = fmt::format("{} {:.0f}+{:.0f}", row.model, row.stated_prompt, row.stated_output);
    if (row.concurrency) shape += fmt::format(", {:.0f} at a time", *row.concurrency);
    return shape;
}

double longest(const std::map<std::string, double>& times) {
    double most = 0;
    for (const auto& [resource, seconds] : times) most = std::max(most, seconds);
    return most;
}

}  // namespace

Result<MeasuredServingRuns> MeasuredServingRuns::make(MeasuredSystems systems, Calibrations calibrations) {
    ROOFLINE_TRY(auto names, ModelNames::built_in());
    return MeasuredServingRuns(std::move(systems), std::move(names), std::move(calibrations));
}

Result<MeasuredServingRuns::Served*> MeasuredServingRuns::served(const MeasuredServing& row) {
    const Key key{row.system, lowered(row.model), row.dtype, row.kv_dtype};
    auto found = served_.find(key);
    constexpr std::size_t most = 400;  // tables of real measurements have about a hundred, and each takes some memory
    if (found == served_.end() && served_.size() >= most) {
        return fail("too_many_systems", "the table has more than 400 models, systems and dtypes together");
    }
    if (found == served_.end()) found = served_.emplace(key, serve(row)).first;
    if (!found->second) return fail(found->second.error());
    return found->second->get();
}

Result<std::unique_ptr<MeasuredServingRuns::Served>> MeasuredServingRuns::serve(const MeasuredServing& row) {
    const Result<System>& chip = systems_.chip(row.system);
    if (!chip) return fail(chip.error());
    auto config = preset_config(names_.preset_of(row.model));
    if (!config) return fail("unknown_model", fmt::format("the model {} is not known", in_ticks(row.model)));
    ROOFLINE_TRY(auto weights, weights_of(row, chip->machine()));
    ROOFLINE_TRY(auto cache, cache_of(row));
    auto result = std::make_unique<Served>();
    result->chip = &*chip;
    for (const bool decoding : {false, true}) {
        ROOFLINE_TRY(auto model, served_model(*config, decoding, weights, {}, cache));
        (decoding ? result->decode : result->prefill) = std::move(model);
        ROOFLINE_CHECK(compile(*result, decoding));
    }
    return result;
}

// The pass that is compiled only determines the kind: every size that depends on it is set again later.
Status MeasuredServingRuns::compile(Served& served, bool decoding) {
    const ServedModel& model = decoding ? served.decode : served.prefill;
    Compiled& compiled = served.passes[decoding ? 1 : 0];
    constexpr std::int64_t context = 4096;
    auto program = serving_program(model.model.program, model.model,
                                   decoding ? decode_pass(1, context) : ServingPass{1, context, context}, model.stored);
    if (!program) return fail(program.error());
    compiled.program = std::move(*program);
    use_sixteen_bits_of(served.chip->machine(), compiled.program);
    bind_fewest_experts(compiled.program, compiled.program.sizes);
    ROOFLINE_TRY(auto analysis, analyse(compiled.program, served.chip->machine(), {{}, false}));
    compiled.analysis = std::move(analysis);
    compiled.dims = dims_of(compiled.program, model.model, decoding);
    Sizes fixed = compiled.program.sizes;
    for (const std::string& dim : compiled.dims) fixed.erase(dim);
    compiled.times = CompiledTimes(compiled.analysis.total.pricing, compiled.dims, fixed);
    return {};
}

MeasuredServingRuns::Times MeasuredServingRuns::times(const Served& served, bool decoding, double batch,
                                                      double context) {
    const Compiled& compiled = served.passes[decoding ? 1 : 0];
    const Sizes& windows = (decoding ? served.decode : served.prefill).model.windows;
    std::vector<double> sizes;
    for (const std::string& dim : compiled.dims) {
        const auto window = windows.find(dim);
        sizes.push_back(dim == "B"                 ? batch
                        : dim == "S" || dim == "T" ? context
                        : window != windows.end()  ? std::min(context, static_cast<double>(window->second))
                                                   : batch * (decoding ? 1 : context));
    }
    std::vector<double> seconds(compiled.times.places());
    compiled.times.evaluate(sizes, seconds);
    Times by_resource;
    const std::vector<Resource>& resources = compiled.analysis.total.pricing.resources;
    for (std::size_t i = 0; i < resources.size(); ++i) by_resource[resources[i].id] = seconds[i];
    return by_resource;
}

MeasuredServingRuns::Times MeasuredServingRuns::prefill_times(const Served& served, double batch, double prompt) {
    return times(served, false, batch, prompt);
}

// Average over the tokens after the first. Traffic and FLOPs grow linearly with the context, or not at all beyond an
// attention window, so they are concave, and the mean of the first and the last token does not exceed the mean of all.
MeasuredServingRuns::Times MeasuredServingRuns::decode_times(const Served& served, double batch,
                                                             const MeasuredServing& row) {
    const double last = std::max(row.prompt + row.output - 1, row.prompt + 1);
    Times mean = times(served, true, batch, row.prompt + 1);
    for (const auto& [resource, seconds] : times(served, true, batch, last)) {
        mean[resource] = (mean[resource] + seconds) / 2;
    }
    return mean;
}

// The number of sequences whose prompts fit beside the weights, with each byte counted once; unlimited if the capacity
// is unknown.
Result<double> MeasuredServingRuns::max_sequences(Served& served, const MeasuredServing& row, std::int64_t chips) {
    constexpr double plenty = 1e6;
    const MemoryLevel* const memory = served.chip->machine().level("hbm");
    if (memory == nullptr || !memory->total_capacity()) return plenty;
    const auto prompt = static_cast<std::int64_t>(std::min(row.prompt, 1e9));
    auto cache = served.caches.find(prompt);
    if (cache == served.caches.end()) {
        const ServedModel& decode = served.decode;
        ROOFLINE_TRY(auto program,
                     serving_program(decode.model.program, decode.model, {1, prompt, prompt}, decode.stored));
        cache = served.caches.emplace(prompt, kept_bytes(program, program.sizes, decode.stored.params, false).kv).first;
    }
    const double room = static_cast<double>(chips) * memory->total_capacity()->value;
    const double left = std::max(0.0, room - served.decode.weights.total.to_double());
    return cache->second > 0 ? std::min(plenty, left / cache->second) : plenty;
}

// A worker decodes at least one sequence. One is also assumed if the number of workers is unknown or if the row
// contradicts itself, that is, its times imply more decoded sequences than its chips can hold.
Result<double> MeasuredServingRuns::decode_seconds(Served& served, const MeasuredServing& row) {
    ROOFLINE_TRY(auto most, max_sequences(served, row, row.decode_chips));
    double batch = 1;
    if (const auto decoding = row.decoding(); decoding && row.decode_workers > 0) {
        const double each = *decoding / static_cast<double>(row.decode_workers);
        if (each <= most) batch = std::max(1.0, each);
    }
    return longest(decode_times(served, batch, row)) / static_cast<double>(row.decode_chips);
}

// The busiest resource for the prompt and the tokens of one request together. Weights are read once for as many
// concurrent sequences as possible. Prompts are processed in the same passes, so they only add the work that grows with
// their number.
Result<double> MeasuredServingRuns::seconds_per_token(Served& served, const MeasuredServing& row) {
    ROOFLINE_TRY(auto most, max_sequences(served, row, row.chips));
    const double batch = std::max(1.0, std::min(most, row.concurrency.value_or(most)));
    Times all;
    for (const auto& [resource, seconds] : decode_times(served, batch, row)) all[resource] = seconds / batch;
    const Times one = prefill_times(served, 1, row.prompt);
    for (const auto& [resource, seconds] : prefill_times(served, 2, row.prompt)) {
        const auto before = one.find(resource);
        all[resource] += (seconds - (before == one.end() ? 0 : before->second)) / row.output;
    }
    return longest(all) / static_cast<double>(row.chips);
}

// For each token of a sequence, a fraction of the next one's prompt must be processed. If this alone takes longer at
// published rates than the row's time per output token, prompts were repeated and served from the prefix cache.
Status MeasuredServingRuns::prompts_computed(const Served& served, const MeasuredServing& row) {
    const auto decoding = row.decoding();
    if (!decoding || !row.tpot_s || row.decode_workers < 1) return {};
    const Times one = prefill_times(served, 1, row.prompt);
    Times more;
    for (const auto& [resource, seconds] : prefill_times(served, 2, row.prompt)) {
        const auto before = one.find(resource);
        more[resource] = seconds - (before == one.end() ? 0 : before->second);
    }
    const double each = longest(more) / static_cast<double>(row.decode_chips);
    if (*decoding / static_cast<double>(row.decode_workers) * each <= row.output * *row.tpot_s) return {};
    return fail("cached", "prompts came from a prefix cache, because no chip can process them this fast");
}

Result<ServerSample> MeasuredServingRuns::sample(const MeasuredServing& row) {
    ROOFLINE_TRY(auto found, served(row));
    ROOFLINE_CHECK(prompts_computed(*found, row));
    return under_load_.sample(row, systems_, names_);
}

Result<ServingTimes> MeasuredServingRuns::expected(const Served& served, const MeasuredServing& row) {
    // Prompts of a disaggregated server are not computed on the chips that decode.
    if (!row.disaggregated) ROOFLINE_CHECK(prompts_computed(served, row));
    return under_load_.times(row, systems_, names_);
}

Result<std::vector<Comparison>> MeasuredServingRuns::compare(const MeasuredServing& row) {
    ROOFLINE_TRY(auto found, served(row));
    Served& served = *found;
    Comparison common;
    common.line = row.line;
    common.kind = MeasuredKind::serving;
    common.source = row.source;
    common.model = names_.preset_of(row.model);
    common.mode = row.disaggregated ? "disaggregated" : "aggregated";
    common.load = MeasuredLoad{row.stated_prompt, row.stated_output, row.concurrency, row.all_chips ? row.chips : 0};
    common.strategy = row.strategy();
    common.system = served.chip->machine().id;
    common.slice = fmt::format("{}:{}", common.system, row.chips);
    common.shape = shape_of(row);
    common.devices = row.chips;
    common.dtype = row.dtype == "?" ? "" : row.dtype;
    common.software = row.software;
    std::vector<Comparison> all;
    const Result<ServingTimes> expected = this->expected(served, row);
    if (!expected) common.not_expected = expected.error().message;
    const auto add = [&](const char* operation, double measured_s, double lower_s, double expected_s) {
        all.push_back(common);
        all.back().operation = operation;
        all.back().measured_s = measured_s;
        all.back().prediction.lower_s = lower_s;
        if (!(expected_s > 0)) return;
        all.back().prediction.expected_s = std::max(expected_s, lower_s);
        // server models were fitted to times per output token and times to first token
        const std::string platform = platform_of(served.chip->machine());
        const CalibratedServer* const server = under_load_.server_of(row.software, platform);
        if (server == nullptr) return;
        const ServerErrors errors = under_load_.errors_of(*server, platform);
        if (all.back().operation == "decode") all.back().prediction.expected_error = errors.tpot;
        if (all.back().operation == "prefill" && errors.ttft > 0) all.back().prediction.expected_error = errors.ttft;
    };
    if (row.tpot_s && row.output > 1) {
        ROOFLINE_TRY(auto seconds, decode_seconds(served, row));
        add("decode", *row.tpot_s, seconds, expected ? expected->tpot.mean : 0);
    }
    if (row.ttft_s && row.prefill_chips > 0) {
        add("prefill", *row.ttft_s,
            longest(prefill_times(served, 1, row.prompt)) / static_cast<double>(row.prefill_chips),
            expected ? expected->all_ttft_s : 0);
    }
    if (row.tokens_per_s) {
        ROOFLINE_TRY(auto seconds, seconds_per_token(served, row));
        // the times are those of one worker with its part of the load, or of all pools
        const auto workers =
            row.disaggregated ? 1.0 : static_cast<double>(std::max<std::int64_t>(1, row.decode_workers));
        add("throughput", 1 / *row.tokens_per_s, seconds,
            expected ? 1 / (expected->requests_per_s * row.output * workers) : 0);
    }
    if (all.empty()) return fail("nothing", "the number of chips for prefill is unknown");
    return all;
}

std::string MeasuredServingRuns::platform_of_row(const MeasuredServing& row) {
    const Result<System>& chip = systems_.chip(row.system);
    return chip ? platform_of(chip->machine()) : std::string();
}

std::vector<std::pair<std::string, Rate>> MeasuredServingRuns::rates() const {
    std::vector<std::pair<std::string, Rate>> rates;
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& [key, served] : served_) {
        if (!served) continue;
        for (const Compiled& pass : (*served)->passes) {
            for (const Resource& resource : pass.analysis.total.pricing.resources) {
                for (const Term& term : resource.terms) {
                    const std::string& machine = (*served)->chip->machine().id;
                    if (seen.emplace(machine, term.rate.path).second) rates.emplace_back(machine, term.rate);
                }
            }
        }
    }
    return rates;
}

}  // namespace roofline::core
