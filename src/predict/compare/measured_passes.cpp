#include "predict/compare/measured_passes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "model/file_types.hpp"
#include "model/presets.hpp"
#include "predict/serve/serving_slices.hpp"
#include "predict/serve/whole_pass.hpp"

namespace roofline::core {

namespace {

std::string library_name(const std::string& software) { return software.substr(0, software.find(' ')); }

/// The bound of a pass, whose products may be added up in f16.
double lower_of(const Prediction& pass, double gain) {
    const Analysis& total = pass.analysis.total;
    if (!total.seconds) return total.bounds.lower;
    double longest = 0;
    for (std::size_t i = 0; i < total.seconds->size(); ++i) {
        const bool math = i < total.pricing.resources.size() && total.pricing.resources[i].id == "math";
        longest = std::max(longest, (*total.seconds)[i] / (math ? gain : 1));
    }
    return longest;
}

}  // namespace

Result<MeasuredPassRuns> MeasuredPassRuns::make(MeasuredSystems systems, const Calibrations& calibrations) {
    ROOFLINE_TRY(auto names, ModelNames::built_in());
    return MeasuredPassRuns(std::move(systems), std::move(names), calibrations);
}

Result<const MeasuredPassRuns::Quantised*> MeasuredPassRuns::quantised(const MeasuredPass& row) {
    const std::string preset = names_.preset_of(row.model);
    const std::pair key{preset, uppered(row.weights)};
    auto found = quantised_.find(key);
    constexpr std::size_t most = 400;
    if (found == quantised_.end() && quantised_.size() >= most) {
        return fail("too_many_systems", "the table has more than 400 models and quantisations together");
    }
    if (found == quantised_.end()) found = quantised_.emplace(key, quantise(preset, key.second)).first;
    if (!found->second) return fail(found->second.error());
    return found->second->get();
}

Result<std::unique_ptr<MeasuredPassRuns::Quantised>> MeasuredPassRuns::quantise(const std::string& preset,
                                                                                const std::string& weights) {
    auto config = preset_config(preset);
    if (!config) return fail("unknown_model", fmt::format("the model {} is not known", in_ticks(preset)));
    const auto dtype = find_dtype(weights);
    const bool whole = dtype && info(*dtype).kind == DtypeKind::floating && info(*dtype).block == 0;
    std::optional<Quantisation> quantisation;
    if (!whole) {
        if (!is_file_type(weights)) {
            return fail("unknown_dtype", fmt::format("the quantisation {} is not known", in_ticks(weights)));
        }
        ROOFLINE_TRY(*config, with_file_type(std::move(*config), weights));
        ROOFLINE_TRY(quantisation, quantisation_of(*config, nullptr));
    }
    auto result = std::make_unique<Quantised>();
    for (const bool decoding : {false, true}) {
        ROOFLINE_TRY((decoding ? result->decode : result->prefill),
                     served_model(*config, decoding, whole ? dtype : std::nullopt, quantisation, Dtype::bf16));
    }
    return result;
}

Result<MeasuredPassRuns::Priced> MeasuredPassRuns::price(const MeasuredPass& row) {
    const Result<System>& chip = systems_.chip(row.system);
    if (!chip) return fail(chip.error());
    ROOFLINE_TRY(const auto model, quantised(row));
    const Machine& machine = chip->machine();
    const auto none = std::make_shared<Calibrations>(std::vector<Calibration>{});
    const ServingSetup setup{model->prefill, model->decode, chip->slice, none, ""};
    // tokens are generated after an empty context, so that half of them are there on average
    const ServingPass pass = row.generates ? decode_pass(1, std::max<std::int64_t>(1, row.tokens / 2))
                                           : ServingPass{1, row.tokens, row.tokens};
    ROOFLINE_TRY(const auto priced, priced_pass(setup, Plan{}, CacheSplit::heads, pass));
    const auto family = models_.expected(machine, library_name(row.software), PassParts{});
    const bool in_f16 = family && family->family->sums_in_f16;
    for (const Resource& resource : priced.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) {
            rates_.try_emplace(machine.id + term.rate.path, machine.id, term.rate);
        }
    }
    const auto price = [&](const ServingPass& chunk) { return priced_pass(setup, Plan{}, CacheSplit::heads, chunk); };
    ROOFLINE_TRY(auto parts, pass_parts(priced, pass, Plan{}, family ? *family->family : PassFamily{}, price));
    parts.tokens = static_cast<double>(row.tokens);
    return Priced{std::move(parts), lower_of(priced, in_f16 ? gain_of_f16_sums(machine) : 1), machine.id,
                  machine.cores};
}

Result<MeasuredPassRuns::Priced> MeasuredPassRuns::priced(const MeasuredPass& row) {
    const std::tuple key{row.system, row.model, row.weights, library_name(row.software), row.generates, row.tokens};
    auto found = priced_.find(key);
    constexpr std::size_t most = 10'000;
    if (found == priced_.end() && priced_.size() >= most) {
        return fail("too_many_systems", "the table has more than 10,000 different passes");
    }
    if (found == priced_.end()) found = priced_.emplace(key, price(row)).first;
    if (!found->second) return fail(found->second.error());
    Priced pass = *found->second;
    pass.parts.chips = row.chips;
    if (row.threads > 0 && pass.cores > 0) {
        pass.parts.cores = std::min(1.0, static_cast<double>(row.threads) / static_cast<double>(pass.cores));
    }
    // each of several chips has another chunk of a prompt
    if (!row.generates) pass.lower_s /= static_cast<double>(row.chips);
    return pass;
}

Result<Comparison> MeasuredPassRuns::compare(const MeasuredPass& row) {
    ROOFLINE_TRY(const auto pass, priced(row));
    Comparison comparison;
    comparison.line = row.line;
    comparison.kind = MeasuredKind::serving;
    comparison.source = row.source;
    comparison.model = names_.preset_of(row.model);
    comparison.mode = row.weights;
    comparison.strategy = row.chips > 1 ? fmt::format("pipeline of {} chips", row.chips) : "one chip";
    comparison.system = pass.machine;
    comparison.slice = fmt::format("{}:{}", pass.machine, row.chips);
    comparison.operation = row.generates ? "generation" : "prompt";
    comparison.shape = fmt::format("{} {} of {}", row.model, row.generates ? "generation" : "prompt", row.tokens);
    comparison.devices = row.chips;
    comparison.dtype = row.weights;
    comparison.software = row.software;
    if (row.threads > 0) comparison.variant = fmt::format("{} threads", row.threads);
    comparison.measured_s = row.seconds();
    comparison.prediction.lower_s = pass.lower_s;
    const Result<System>& chip = systems_.chip(row.system);
    const auto expected = models_.expected(chip->machine(), library_name(row.software), pass.parts);
    if (expected) {
        comparison.prediction.expected_s = std::max(expected->seconds, pass.lower_s);
        comparison.prediction.expected_error = expected->error;
    } else {
        comparison.not_expected =
            fmt::format("no forward-pass model of {} was fitted to {} or to a machine near enough to transfer from",
                        row.software, pass.machine);
    }
    return comparison;
}

Result<PassSample> MeasuredPassRuns::sample(const MeasuredPass& row) {
    ROOFLINE_TRY(const auto pass, priced(row));
    return PassSample{library_name(row.software),
                      pass.machine,
                      names_.preset_of(row.model),
                      uppered(row.weights),
                      row.source,
                      pass.parts,
                      row.seconds()};
}

std::vector<std::pair<std::string, Rate>> MeasuredPassRuns::rates() const {
    std::vector<std::pair<std::string, Rate>> rates;
    for (const auto& [key, rate] : rates_) rates.push_back(rate);
    return rates;
}

}  // namespace roofline::core
