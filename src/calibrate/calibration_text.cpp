#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>

#include "calibrate/calibration.hpp"
#include "calibrate/constants.hpp"
#include "machine/machine_text.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

void round(TimeCurve& curve) {
    for (std::vector<CurveSegment>* segments : {&curve.segments, &curve.beyond}) {
        for (CurveSegment& segment : *segments) {
            segment.base_s = four_digits(segment.base_s * 1e6) / 1e6;
            segment.step_s = four_digits(segment.step_s * 1e6) / 1e6;
            for (double* fraction : {&segment.link, &segment.buffer, &segment.one_shot})
                *fraction = four_digits(*fraction);
        }
    }
    if (curve.limit) curve.limit->bytes = std::round(curve.limit->bytes);
}

std::string segments_text(const std::vector<CurveSegment>& segments) {
    std::string text = "[\n";
    for (const CurveSegment& segment : segments) {
        std::vector<std::string> parts;
        const auto add = [&](std::string_view key, double value) {
            if (value > 0) parts.push_back(fmt::format("{} = {:.4g}", key, value));
        };
        add("base_us", segment.base_s * 1e6);
        add("step_us", segment.step_s * 1e6);
        add("link", segment.link);
        add("buffer", segment.buffer);
        add("one_shot", segment.one_shot);
        text += fmt::format("    {{ {} }},\n", fmt::join(parts, ", "));
    }
    return text + "]\n";
}

std::string curve_text(const TimeCurve& curve) {
    std::string text;
    if (curve.steps == StepCount::logarithmic) text += "steps = \"log\"\n";
    if (curve.steps == StepCount::hops) text += "steps = \"hops\"\n";
    text += "segments = " + segments_text(curve.segments);
    if (curve.limit) {
        text += fmt::format("{} = {:.0f}\n", curve.limit->of_piece ? "limit_piece_bytes" : "limit_buffer_bytes",
                            curve.limit->bytes);
        text += "beyond = " + segments_text(curve.beyond);
    }
    return text;
}

std::string sources_text(const std::vector<std::string>& sources) {
    std::vector<std::string> texts;
    for (const std::string& source : sources) texts.push_back(toml_string(source));
    return fmt::format("sources = [{}]\n", fmt::join(texts, ", "));
}

// Writes at least 1e-6, because an error of 0 would be read back as not measured.
std::string error_text(std::string_view key, const std::optional<double>& value) {
    return value ? fmt::format("{} = {:.3g}\n", key, std::max(*value, 1e-6)) : "";
}

std::string line_of(std::string_view key, std::string_view value) {
    return value.empty() ? "" : fmt::format("{} = {}\n", key, toml_string(value));
}

std::string link_text(const CollectiveLink& link) {
    std::string text = fmt::format("topology = {}\n", toml_string(link.topology));
    if (link.domain > 0) text += fmt::format("domain = {}\n", link.domain);
    return text + fmt::format("link_rate = \"{:.6g} GB/s\"\n", link.bytes_per_s / 1e9);
}

std::string model_text(const CalibratedCollective& model, std::string_view prefix) {
    std::string text = fmt::format("\n[[{}law]]\n", prefix);
    text += line_of("operation", collective_name(model.key.kind));
    text += line_of("software", model.key.software);
    text += line_of("variant", model.key.variant);
    text += line_of("dtypes", model.key.dtypes);
    text += line_of("system", model.key.system);
    text += line_of("tiers", model.key.tiers);
    text += link_text(model.link);
    text += fmt::format("members = [{}]\n", fmt::join(model.members, ", "));
    text += fmt::format("buffer_bytes = [{:.0f}, {:.0f}]\n", model.least_bytes, model.most_bytes);
    text += fmt::format("rows = {}\n", model.rows);
    if (model.left_out > 0) text += fmt::format("left_out = {}\n", model.left_out);
    text += sources_text(model.sources);
    text += error_text("error_fitted", model.errors.fitted);
    text += error_text("error_sizes", model.errors.sizes);
    text += error_text("error_members", model.errors.members);
    text += error_text("error_relative", model.errors.relative);
    text += error_text("error_far", model.errors.far);
    text += error_text("error_elsewhere", model.errors.elsewhere);
    text += curve_text(model.model.shared);
    for (const CountedCurve& counted : model.model.counted) {
        text += fmt::format("[[{}law.count]]\nmembers = {}\n", prefix, counted.members) + curve_text(counted.curve);
    }
    return text;
}

std::string exchange_text(const CalibratedExchange& exchange, std::string_view prefix) {
    const ExchangeKey& key = exchange.key;
    std::string text = fmt::format("\n[[{}exchange]]\nstep = \"{}\"\n", prefix, exchange_name(key.step));
    const auto add_constant = [&](std::string_view name, double value) {
        if (value > 0) text += fmt::format("{} = {:.4g}\n", name, value);
    };
    text += line_of("software", key.software);
    text += line_of("variant", key.variant);
    text += line_of("system", key.system);
    text += line_of("tiers", key.tiers);
    text += link_text(exchange.link);
    text += fmt::format("members = {}\ntokens = [{:.0f}, {:.0f}]\nrows = {}\n", key.members, exchange.least_tokens,
                        exchange.most_tokens, exchange.rows);
    if (exchange.left_out > 0) text += fmt::format("left_out = {}\n", exchange.left_out);
    text += sources_text(exchange.sources);
    text += error_text("error_fitted", exchange.errors.fitted);
    text += error_text("error_sizes", exchange.errors.sizes);
    text += error_text("error_shapes", exchange.errors.shapes);
    text += error_text("error_members", exchange.errors.members);
    text += error_text("error_relative", exchange.errors.relative);
    add_constant("base_us", exchange.model.base_s * 1e6);
    add_constant("expert_ns", exchange.model.expert_s * 1e9);
    add_constant("row", exchange.model.row);
    add_constant("link", exchange.model.link);
    add_constant("core", exchange.model.core);
    add_constant("copy_us", exchange.model.copy_s * 1e6);
    add_constant("read", exchange.model.read);
    if (exchange.model.once) text += "once = true\n";
    if (exchange.model.cores > 0) text += fmt::format("cores = {:.0f}\n", exchange.model.cores);
    return text;
}

/// The grid, and one line per m and n.
std::string factors_text(const SizeFactors& factors, std::string_view table) {
    std::string text = fmt::format("[{}.factors]\n", table);
    if (factors.doublings != coarse) text += fmt::format("doublings = {}\n", factors.doublings);
    for (std::size_t i = 0; i < size_count; ++i) {
        const Powers& powers = factors.powers[i];
        text += fmt::format("{} = [{:.0f}, {:.0f}]\n", size_names[i], size_at(powers.first, factors.doublings),
                            size_at(powers.last, factors.doublings));
    }
    text += "thousandths = [\n";
    const std::size_t columns = factors.powers[2].count() * factors.powers[3].count();
    for (std::size_t row = 0; row < factors.logs.size(); row += columns) {
        std::vector<std::int64_t> values;
        for (std::size_t i = row; i < row + columns; ++i) values.push_back(thousandths(factors.logs[i]));
        text += fmt::format("  \"{}\",\n", fmt::join(values, " "));
    }
    return text + "]\n";
}

/// Omits parameters with their default values, such as zero costs and full rates.
std::string kernel_model_text(const KernelModel& model) {
    std::string text;
    for (const KernelConstant& each : kernel_constants) {
        if (!each.used(model)) continue;
        if (each.kind == ConstantKind::flag) {
            if (model.**std::get_if<1>(&each.member)) text += fmt::format("{} = true\n", each.key);
        } else if (four_digits(each.of(model)) != each.of(KernelModel{})) {
            text += fmt::format("{} = {:.4g}\n", each.key, each.of(model) * each.per_unit());
        }
    }
    return text;
}

std::string kernel_text(const CalibratedKernel& kernel, std::string_view prefix) {
    std::string text = fmt::format("\n[[{}kernel]]\n", prefix);
    text += line_of("kind", name(kernel.key.kind));
    text += line_of("dtype", kernel.key.dtype);
    text += line_of("software", kernel.key.software);
    text += line_of("variant", kernel.key.variant);
    text += line_of("like", kernel.like);
    const KernelFit& fit = kernel.fit;
    text += fmt::format("rows = {}\n", fit.rows);
    if (fit.left_out > 0) text += fmt::format("left_out = {}\n", fit.left_out);
    text += sources_text(kernel.sources);
    text += fmt::format("time_us = [{:.4g}, {:.4g}]\n", fit.least_s * 1e6, fit.most_s * 1e6);
    for (std::size_t i = 0; i < size_count; ++i) {
        const SizeRange& range = fit.ranges[i];
        if (range.most > 0)
            text += fmt::format("range_{} = [{:.0f}, {:.0f}]\n", size_names[i], range.least, range.most);
    }
    if (fit.keys_per_query > 0) text += fmt::format("keys_per_query = {:.4g}\n", fit.keys_per_query);
    text += error_text("error_fitted", fit.error_fitted);
    text += error_text("error_held_out", fit.error_held_out);
    text += error_text("error_of_bound", fit.error_of_bound);
    text += error_text("error_carried", fit.error_transferred);
    text += kernel_model_text(fit.model);
    if (!fit.factors.logs.empty()) text += factors_text(fit.factors, fmt::format("{}kernel", prefix));
    for (const BandModel& band : fit.bands) {
        const std::string table = fmt::format("{}kernel.{}", prefix, bands_name(fit.by));
        text += fmt::format("[[{}]]\nmost = {:.0f}\n", table, band.most) + kernel_model_text(band.sized.model);
        if (!band.sized.factors.logs.empty()) text += factors_text(band.sized.factors, table);
    }
    return text;
}

std::string models_text(const Calibration& calibration, std::string_view prefix) {
    std::string text = line_of("fitted", calibration.fitted) + line_of("tool", calibration.tool);
    for (const CalibratedCollective& model : calibration.models) text += model_text(model, prefix);
    for (const CalibratedExchange& exchange : calibration.exchanges) text += exchange_text(exchange, prefix);
    for (const CalibratedKernel& kernel : calibration.kernels) text += kernel_text(kernel, prefix);
    return text;
}

}  // namespace

CollectiveModel rounded(CollectiveModel model) {
    round(model.shared);
    for (CountedCurve& counted : model.counted) round(counted.curve);
    return model;
}

ExchangeModel rounded(ExchangeModel model) {
    model.base_s = four_digits(model.base_s * 1e6) / 1e6;
    model.expert_s = four_digits(model.expert_s * 1e9) / 1e9;
    model.copy_s = four_digits(model.copy_s * 1e6) / 1e6;
    for (double* fraction : {&model.row, &model.link, &model.core, &model.read}) *fraction = four_digits(*fraction);
    return model;
}

std::string calibration_text(const Calibration& calibration) {
    const bool kernels = !calibration.kernels.empty();
    const bool exchanges = !calibration.models.empty() || !calibration.exchanges.empty();
    // parameters fitted to whole passes, which a script writes
    if (!calibration.tool.starts_with("roofline")) {
        return fmt::format(
                   "# Expected times of kernels, none of which was measured singly: parameters that all of them share, "
                   "fitted to\n# whole forward passes or training steps by scripts/{}; docs/method/fitting.md has "
                   "the command.\nmachine = {}\n",
                   calibration.tool, toml_string(calibration.machine)) +
               models_text(calibration, "");
    }
    const std::string_view of = !kernels ? "collectives" : exchanges ? "collectives and kernels" : "kernels";
    return fmt::format(
               "# Expected times of {}, fitted to measurements. Written by `roofline fit`; docs/method/accuracy.md has "
               "the models,\n"
               "# the keys and the command that makes this file again.\n"
               "machine = {}\n",
               of, toml_string(calibration.machine)) +
           models_text(calibration, "");
}

std::string machine_calibration_text(const Calibration& calibration) {
    return "\n# Expected times, fitted to measurements; docs/method/accuracy.md has the models and the keys."
           "\n[calibration]\n" +
           models_text(calibration, "calibration.");
}

}  // namespace roofline::core
