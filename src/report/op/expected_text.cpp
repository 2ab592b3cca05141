#include "report/op/expected_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "calibrate/kernel/extrapolation.hpp"
#include "network/collective.hpp"
#include "predict/expected_basis.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string us(double seconds) { return to_text(Seconds{seconds}); }

/// Returns "14 us + 6 steps x 0.82 us + 373 us of wire / 0.74".
std::string segment_text(const CurveSegment& segment, StepCount steps, const CollectivePoint& point) {
    const auto n = static_cast<double>(point.members);
    const double more = steps == StepCount::linear ? n - 2 : steps == StepCount::logarithmic ? std::log2(n) - 1 : 0;
    std::vector<std::string> terms;
    if (segment.base_s > 0) terms.push_back(us(segment.base_s));
    if (steps == StepCount::hops && point.latency_s > 0)
        terms.push_back(fmt::format("{} of hops", us(point.latency_s)));
    if (segment.step_s > 0 && more > 0) terms.push_back(fmt::format("{} x {}", number_text(more), us(segment.step_s)));
    if (segment.link > 0)
        terms.push_back(fmt::format("{} of link time (everywhere in derivations: 'us of wire') / {}", us(point.wire_s),
                                    number_text(segment.link)));
    if (segment.buffer > 0) {
        terms.push_back(fmt::format("{} of buffer / {}", us(point.buffer_s), number_text(segment.buffer)));
    }
    if (segment.one_shot > 0) {
        terms.push_back(fmt::format("{} x {} of buffer / {}", point.members - 1, us(point.buffer_s),
                                    number_text(segment.one_shot)));
    }
    return fmt::format("{}", fmt::join(terms, " + "));
}

std::string model_text(const CalibratedCollective& model, const std::string& machine) {
    return fmt::format("{}{} on {}, {} rows of {} ({} members, buffers of {} to {})",
                       model.key.software.empty() ? "unnamed software" : model.key.software,
                       model.key.variant.empty() ? "" : " " + model.key.variant, machine, grouped(model.rows),
                       fmt::join(model.sources, ", "), fmt::join(model.members, ", "),
                       to_text(Bytes{model.least_bytes}), to_text(Bytes{model.most_bytes}));
}

/// Returns "10 us of math / 0.8", or "" for a time of zero.
std::string part_text(double seconds, std::string_view name, double fraction) {
    if (!(seconds > 0)) return "";
    std::string text = fmt::format("{} of {}", us(seconds), name);
    if (fraction != 1) text += fmt::format(" / {}", number_text(fraction));
    return text;
}

std::string sum_text(std::vector<std::string> terms) {
    std::erase(terms, "");
    return fmt::format("{}", fmt::join(terms, " + "));
}

/// Returns the terms of the main memory (named `memory`), of the cache, and of a second kernel that adds partial
/// results.
std::string memory_text(const KernelModel& model, const KernelPoint& point, const Tiling& tiling,
                        const std::string& memory) {
    const bool apart = model.write > 0;
    const double stretch = stretch_of(model, point, tiling);
    double cached = cached_share(model, point);
    if (cached < 0.001) cached = 0;  // below the precision of the printed sum
    if (cached > 0.999) cached = 1;
    std::vector<std::string> terms;
    terms.push_back(part_text(stretch * (1 - cached) * (point.memory_s - (apart ? point.write_s : 0)),
                              apart ? memory + " reads" : memory, model.memory));
    if (apart) terms.push_back(part_text(stretch * (1 - cached) * point.write_s, memory + " writes", model.write));
    terms.push_back(part_text(stretch * cached * point.memory_s, memory + ", but from the cache", model.cache));
    if (tiling.splits > 1) {
        terms.push_back(part_text(tiling.splits * point.partial_sums_s, memory + " for partial sums", model.partial));
    }
    if (model.inner > 0)
        terms.push_back(part_text(point.inner_s, memory + " for results between matmuls", model.inner));
    terms.push_back(part_text(point.reread_s, "repeated reads of keys and values by further heads", model.reread));
    if (stretch > 1 && !terms.front().empty()) {
        terms.front() += fmt::format(" (longer by a factor of {} because few cores read it)", number_text(stretch));
    }
    return sum_text(std::move(terms));
}

/// Returns "38 waves x 6.4 us".
std::string other_terms_text(const KernelModel& model, const KernelPoint& point, const Tiling& tiling) {
    std::vector<std::string> terms{part_text(point.other_s, "other levels", 1)};
    if (model.hidden && tiling.waves > 0) {
        terms.push_back(fmt::format("{} waves x {}", number_text(tiling.waves), us(model.wave_s)));
    }
    return sum_text(std::move(terms));
}

/// Returns "((10 us of math / 0.8)^3.5 + (9 us of HBM / 0.9)^3.5)^(1/3.5)".
std::string norm_text(const KernelModel& model, const KernelPoint& point, const Tiling& tiling,
                      const std::string& memory) {
    const double added = added_math_of(model, point);
    std::vector<std::string> terms{part_text(math_of(model, point, tiling),
                                             model.padded       ? "math padded to the systolic array"
                                             : added > 0        ? "math with tiles that straddle groups"
                                             : tiling.waves > 0 ? "math in whole waves"
                                                                : "math",
                                             model.math),
                                   part_text(point.vector_s, "vector", model.vector),
                                   memory_text(model, point, tiling, memory), other_terms_text(model, point, tiling)};
    std::erase(terms, "");
    if (terms.size() < 2) return terms.empty() ? "" : terms.front();
    if (std::isinf(model.p)) return fmt::format("the longer of {}", fmt::join(terms, " and "));
    if (model.p == 1) return sum_text(std::move(terms));
    const std::string p = number_text(model.p);
    for (std::string& term : terms) term = fmt::format("({})^{}", term, p);
    return fmt::format("({})^(1/{})", fmt::join(terms, " + "), p);
}

std::string kernel_text(const KernelModel& model, const KernelPoint& point, const Tiling& tiling,
                        const std::string& memory) {
    std::vector<std::string> terms;
    if (model.fixed_s > 0) terms.push_back(us(model.fixed_s));
    if (model.ramp_s > 0 && point.depth > 0) {
        terms.push_back(fmt::format("{} x {}", number_text(point.depth * tiling.part), us(model.ramp_s)));
    }
    if (tiling.splits > 1 && model.split_s > 0) terms.push_back(fmt::format("{} for splits", us(model.split_s)));
    if (tiling.waves > 1 && model.wave_s > 0 && !model.hidden) {
        terms.push_back(fmt::format("{} x {}", number_text(tiling.waves - 1), us(model.wave_s)));
    }
    if (model.row_s > 0 && point.rows > 0) {
        terms.push_back(fmt::format("{} rows per core x {}", number_text(rows_of_core(point)), us(model.row_s)));
    }
    if (std::string norm = norm_text(model, point, tiling, memory); !norm.empty()) terms.push_back(std::move(norm));
    return fmt::format("{}", fmt::join(terms, " + "));
}

/// Returns "; tiles of 128 x 256 in 3 waves, K in 4 splits".
std::string tiling_text(const Tiling& tiling) {
    if (!(tiling.waves > 0)) return "";
    std::string text = fmt::format("; tiles of {} x {} in {} wave{}", number_text(tiling.rows),
                                   number_text(tiling.columns), number_text(tiling.waves), tiling.waves > 1 ? "s" : "");
    if (tiling.splits > 1) text += fmt::format(", K in {} splits", number_text(tiling.splits));
    return text;
}

/// Returns the band of a model, if the kernel has several: " of 2 to 32 query heads per KV head", " with heads of 65 to
/// 128", " of 9 to 64 rows".
std::string band_text(BandsBy by, const AppliedModel& used) {
    if (used.least == 0) return "";
    const bool heads = by == BandsBy::heads;
    if (used.most == 1 && by != BandsBy::n) return heads ? " of one query head per KV head" : " of one row";
    const std::string least = number_text(used.least);
    if (by == BandsBy::n) {
        if (used.most == AppliedModel::unlimited) return fmt::format(" with heads of {} and more", least);
        return fmt::format(" with heads of {} to {}", least, number_text(used.most));
    }
    const std::string_view what = heads ? "query heads per KV head" : "rows";
    if (used.most == AppliedModel::unlimited) return fmt::format(" of {} and more {}", least, what);
    return fmt::format(" of {} to {} {}", least, number_text(used.most), what);
}

/// Returns the shape correction: "; x 1.08 shape correction".
std::string correction_text(double seconds, double by_model, bool beyond) {
    if (seconds == by_model) return "";
    return fmt::format("; x {} {}", number_text(seconds / by_model),
                       beyond ? "extrapolated beyond the measured sizes" : "shape correction");
}

/// Returns a kernel model with its numbers, its time, its tiles, and the shape correction that turns its time into
/// `seconds`.
std::string model_text(const AppliedModel& used, const KernelPoint& taken, const std::string& memory, double seconds,
                       bool beyond) {
    const KernelPoint point = separate_heads(used.model, taken);
    const Tiling tiling = tiling_of(used.model, point);
    const double by_model = seconds_of(used.model, point, tiling);
    return fmt::format("{} = {}{}{}", kernel_text(used.model, point, tiling, memory), us(by_model), tiling_text(tiling),
                       correction_text(seconds, by_model, beyond));
}

/// Returns the other model near the border of two bands: "; that to the power of 0.4, times to that of 0.6 the model of
/// 65 to 512 rows, which fades out here: ...".
std::string blend_text(const std::optional<BlendedModel>& fading, BandsBy by, const KernelPoint& taken,
                       const std::string& memory) {
    if (!fading) return "";
    return fmt::format(
        "; blended geometrically: this with weight {}, and with weight {} the model{}, which fades out here: {}",
        number_text(1 - fading->share), number_text(fading->share), band_text(by, fading->used),
        model_text(fading->used, taken, memory, seconds_of(fading->used, taken), false));
}

/// Returns "; its measurements do not show a launch overhead: 2.98 us, ... + 0.615 of this = 3.83 us" if it is added.
std::string launch_text(const CalibratedKernel& model, double by_model, double seconds) {
    const KernelFit& fit = model.fit;
    if (!(fit.launch_s > 0) || !(by_model < fit.least_s)) return "";
    const double launch = least_seconds_of(fit);
    return fmt::format(
        "; its measurements do not show a launch overhead: {}, that of {}'s other matmuls there, + {} of this = {}",
        us(launch), model.key.software, number_text(1 - launch / fit.least_s), us(seconds));
}

std::string errors_text(const CalibratedCollective& model) {
    std::string text = fmt::format("mean error {} % on fitted sizes, {} % on held-out sizes",
                                   percent_text(model.errors.fitted), percent_text(model.errors.sizes));
    if (model.errors.members)
        text += fmt::format(", {} % on held-out numbers of members", percent_text(*model.errors.members));
    return text;
}

}  // namespace

CollectiveBandwidth collective_bandwidth(CollectiveKind kind, std::int64_t members, double bytes, double seconds) {
    if (!(seconds > 0) || members < 1) return {};
    const auto n = static_cast<double>(members);
    CollectiveBandwidth bandwidth;
    bandwidth.algorithm = (info(kind).size_of_member() ? bytes / n : bytes) / seconds;
    bandwidth.bus = bandwidth.algorithm * info(kind).bus_factor(n);
    return bandwidth;
}

std::string calibration_name(const ExpectedTime& expected) {
    const std::string& software =
        expected.exchange ? expected.exchange->model->key.software : expected.models.front()->key.software;
    const std::string& variant =
        expected.exchange ? expected.exchange->model->key.variant : expected.models.front()->key.variant;
    std::string name = software.empty() ? "measured" : software;
    if (!variant.empty()) name += " " + variant;
    if (expected.instead) name += fmt::format(", by its {}", collective_name(*expected.instead, true));
    if (expected.transferred) name += fmt::format(", transferred from {}", fmt::join(expected.machines, ", "));
    return name;
}

std::vector<std::string> kernel_derivation(const Prediction& answer, std::size_t kernel) {
    if (kernel >= answer.runs.size() || answer.models.kernels[kernel] == nullptr) return {};
    const CalibratedKernel& model = *answer.models.model_at(kernel, answer.runs[kernel].point);
    const KernelFit& fit = model.fit;
    const KernelPoint own = point_for(fit, answer.runs[kernel].point);
    const auto padded = padded_rows(fit, own);
    const KernelPoint taken = padded.value_or(own);
    const AppliedModel used = model_for(fit, padded ? taken : answer.runs[kernel].point);
    const auto fading = padded ? std::nullopt : blended_model(fit, taken);
    const double seconds = seconds_of(fit, answer.runs[kernel].point);
    const double expected_s = answer.models.seconds_at(kernel, answer.runs[kernel].point);
    const bool of_two = expected_s != seconds;
    const std::string launch = launch_text(model, seconds_of(used, taken), seconds);
    const double model_s = fading || !launch.empty() ? seconds_of(used, taken) : seconds;
    const bool beyond = !sizes_out_of_range(fit, answer.runs[kernel].point).empty();
    const std::string memory = level_label(answer.machine, "hbm");
    std::string of = std::string(name(model.key.kind)) + band_text(fit.by, used);
    if (!model.key.dtype.empty()) of += " in " + model.key.dtype;
    if (!model.key.software.empty()) of += " with " + model.key.software;
    if (!model.key.variant.empty()) of += " " + model.key.variant;
    if (const auto& kind = answer.models.instead[kernel]) {
        of += *kind == model.key.kind ? ", in place of one for these dtypes"
                                      : fmt::format(", in place of one for {}", name(*kind));
    }
    if (&model != answer.models.kernels[kernel]) of += ", in place of one for attention without a mask";
    if (padded) of += fmt::format(", padded from {} to {} rows,", number_text(own.m), number_text(padded->m));
    const std::string& transferred = answer.models.transferred_from[kernel];
    return {fmt::format("expected {} with an error of {} %{}", us(expected_s),
                        percent_text(answer.models.error_of(kernel, answer.runs[kernel].point)),
                        of_two ? ", blended from the models of few and of many query rows" : ""),
            fmt::format("{} on {}{}, {} rows of {} ({} to {})", of,
                        transferred.empty() ? answer.machine.name : transferred + ", transferred",
                        model.like.empty()
                            ? ""
                            : fmt::format(", with the parameters of {} and shape corrections of its own", model.like),
                        grouped(fit.rows),
                        model.sources.empty() ? "unnamed sources" : fmt::format("{}", fmt::join(model.sources, ", ")),
                        us(fit.least_s), us(fit.most_s)),
            fmt::format("{}{}{}; mean error {} % on fitted rows, {} % on held-out rows; of the lower bound {} %",
                        model_text(used, taken, memory, model_s, beyond), blend_text(fading, fit.by, taken, memory),
                        launch, percent_text(fit.error_fitted), percent_text(fit.error_held_out),
                        percent_text(fit.error_of_bound))};
}

namespace {

/// Returns "17 us + 256 experts x 22 ns + 40 us of wire / 0.8 + 3 us of wire on one of 20 cores / 0.05 + 51 rows of a
/// core x 1.3 us".
std::string exchange_text(const ExchangeModel& model, const ExchangePoint& point) {
    const ExchangeConstants features = exchange_features(model, point);
    std::vector<std::string> terms;
    if (model.base_s > 0) terms.push_back(us(model.base_s));
    if (model.expert_s > 0)
        terms.push_back(fmt::format("{} experts x {}", number_text(features[1]), us(model.expert_s)));
    terms.push_back(model.row > 0 ? part_text(features[2], "one row", model.row) : "");
    terms.push_back(model.link > 0 ? part_text(features[3], "wire", model.link) : "");
    const std::string core = fmt::format(" on each of {} cores", number_text(cores_of(model, point)));
    terms.push_back(model.core > 0 ? part_text(features[4], "wire" + core, model.core) : "");
    if (model.copy_s > 0)
        terms.push_back(fmt::format("{} rows per core x {}", number_text(features[5]), us(model.copy_s)));
    terms.push_back(model.read > 0 ? part_text(features[6], "tokens" + core, model.read) : "");
    return sum_text(std::move(terms));
}

std::vector<std::string> exchange_derivation(const ExpectedExchange& expected, const ExchangePoint& point) {
    const CalibratedExchange& exchange = *expected.model;
    const ExchangeKey& key = exchange.key;
    std::string errors = fmt::format("mean error {} % on fitted sizes, {} % on held-out sizes",
                                     percent_text(exchange.errors.fitted), percent_text(exchange.errors.sizes));
    if (exchange.errors.shapes)
        errors += fmt::format(", {} % on held-out shapes", percent_text(*exchange.errors.shapes));
    return {fmt::format("{} with {} {} on {}, {} rows of {} ({} members, {} to {} tokens of each); a token goes {}",
                        exchange_name(key.step), key.software, key.variant, expected.machine, grouped(exchange.rows),
                        fmt::join(exchange.sources, ", "), key.members, number_text(exchange.least_tokens),
                        number_text(exchange.most_tokens),
                        exchange.model.once ? "once to each chip" : "once for each of its experts"),
            fmt::format("{} = {}; {}", exchange_text(exchange.model, point), us(seconds_of(exchange.model, point)),
                        errors)};
}

}  // namespace

std::vector<std::string> expected_derivation(const Prediction& answer, std::size_t message) {
    std::vector<std::string> lines;
    const auto& expected = answer.models.messages[message];
    if (!expected) return lines;
    System system = answer.system;
    system.collectives = {};
    const Message& asked = answer.analysis.total.work.messages[message].message;
    const auto load = load_of(asked, system);
    const auto bytes = count(answer.program, asked.bytes);
    const auto point = load && bytes ? collective_point(*load, system, bytes->to_double()) : std::nullopt;
    if (!point) return lines;
    lines.push_back(
        fmt::format("expected {} with an error of {} %", us(expected->seconds), percent_text(expected->error)));
    if (expected->exchange) {
        const std::vector<std::string> more = exchange_derivation(*expected->exchange, expected->exchange->point);
        lines.insert(lines.end(), more.begin(), more.end());
        return lines;
    }
    for (std::size_t i = 0; i < expected->models.size(); ++i) {
        const CalibratedCollective& model = *expected->models[i];
        const TimeCurve& curve = curve_for(model.model, point->members);
        const CollectivePoint at = point_for(*expected, model, *point);
        lines.push_back(model_text(model, expected->machines[i]));
        lines.push_back(fmt::format("{} = {}; {}", segment_text(cheapest(curve, at), curve.steps, at),
                                    us(seconds_of(model.model, at)), errors_text(model)));
    }
    if (expected->instead) lines.push_back(stand_in_text(*expected, asked.kind));
    if (expected->models.size() > 1) {
        lines.push_back(fmt::format("the geometric mean of these, with equal weight per {}",
                                    depends_on_host(expected->models.front()->link) ? "machine" : "link rate"));
    }
    if (!expected->fabric.empty()) {
        lines.push_back(fmt::format("measured on the network of {}; the mean error on other networks is {} %",
                                    expected->fabric, percent_text(expected->error)));
    }
    if (inside_decides(*expected, *point)) {
        const ExpectedTime& inside = expected->inside.front();
        const CalibratedCollective& model = *inside.models.front();
        lines.push_back(
            fmt::format("a larger group is not faster: its {} chips on {} alone take {} by {}{}", inside.point.members,
                        inside.buffer_rate ? "its inner links" : model.key.tiers, us(inside.seconds),
                        model.key.software.empty() ? "measured times" : model.key.software,
                        inside.instead ? fmt::format("'s {}", collective_name(*inside.instead, true)) : ""));
    }
    return lines;
}

}  // namespace roofline::core
