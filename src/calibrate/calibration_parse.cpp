#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <tuple>
#include <utility>

#include "calibrate/calibration.hpp"
#include "calibrate/model_groups.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

/// Returns a positive number, or 0 if the key is absent.
double number(Reader& table, std::string_view key) {
    const std::vector<double> values = table.numbers(key);
    if (values.size() > 1) table.fault(key, "wrong_type", fmt::format("{} must be one number", table.of(key)));
    return values.size() == 1 ? values.front() : 0;
}

std::optional<double> optional_number(Reader& table, std::string_view key) {
    if (!table.has(key)) return std::nullopt;
    return number(table, key);
}

std::vector<CurveSegment> read_segments(Reader& table, std::string_view key) {
    std::vector<CurveSegment> segments;
    for (Reader& entry : table.each(key)) {
        CurveSegment segment;
        segment.base_s = number(entry, "base_us") / 1e6;
        segment.step_s = number(entry, "step_us") / 1e6;
        segment.link = number(entry, "link");
        segment.buffer = number(entry, "buffer");
        segment.one_shot = number(entry, "one_shot");
        if (segment == CurveSegment{})
            entry.fault(key, "missing_key", "a segment needs one of base_us, step_us, link ...");
        entry.finish();
        segments.push_back(segment);
    }
    if (segments.empty()) table.fault(key, "missing_key", fmt::format("{} needs a segment", table.of(key)));
    return segments;
}

TimeCurve read_curve(Reader& table) {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    TimeCurve curve;
    if (table.has("steps")) {
        const std::string steps = table.choice("steps", {"linear", "log", "hops"});
        if (steps == "log") curve.steps = StepCount::logarithmic;
        if (steps == "hops") curve.steps = StepCount::hops;
    }
    curve.segments = read_segments(table, "segments");
    for (const bool of_piece : {false, true}) {
        const std::string_view key = of_piece ? "limit_piece_bytes" : "limit_buffer_bytes";
        if (!table.has(key)) continue;
        if (curve.limit) table.fault(key, "conflict", "a curve has one limit");
        curve.limit = CurveLimit{static_cast<double>(table.whole(key, 1, most, 1)), of_piece};
    }
    if (curve.limit) curve.beyond = read_segments(table, "beyond");
    return curve;
}

std::vector<std::int64_t> ascending(Reader& table, std::string_view key) {
    std::vector<std::int64_t> values = table.wholes(key, 1'000'000'000'000'000);
    if (values.empty()) table.fault(key, "missing_key", fmt::format("{} is missing", table.of(key)));
    if (!std::is_sorted(values.begin(), values.end())) {
        table.fault(key, "out_of_order", fmt::format("{} must ascend", table.of(key)));
    }
    return values;
}

/// Returns the minimum and the maximum.
std::pair<double, double> range(Reader& table, std::string_view key) {
    const std::vector<std::int64_t> values = ascending(table, key);
    if (values.size() == 2) return {static_cast<double>(values.front()), static_cast<double>(values.back())};
    table.fault(key, "wrong_type", fmt::format("{} is the least and the greatest", table.of(key)));
    return {0, 0};
}

CollectiveKind read_kind(Reader& table) {
    const std::string text = table.required_text("operation");
    std::vector<std::string_view> known;
    for (const CollectiveInfo& each : all_collectives) {
        if (each.table.empty()) continue;
        if (each.id == text) return each.kind;
        known.push_back(each.id);
    }
    table.fault("operation", "unknown", fmt::format("{} is not a collective", in_ticks(text)),
                fmt::format("{}", fmt::join(known, ", ")));
    return {};
}

FitErrors read_errors(Reader& table) {
    FitErrors errors;
    errors.fitted = number(table, "error_fitted");
    errors.sizes = number(table, "error_sizes");
    errors.members = optional_number(table, "error_members");
    errors.relative = optional_number(table, "error_relative");
    errors.far = optional_number(table, "error_far");
    errors.elsewhere = optional_number(table, "error_elsewhere");
    return errors;
}

CollectiveLink read_link(Reader& table) {
    CollectiveLink link;
    link.topology = table.required_text("topology");
    link.domain = table.whole("domain", 1, 1'000'000'000, 0);
    const std::string rate = table.required_text("link_rate");
    if (const auto parsed = parse_quantity<Bandwidth>(rate); parsed && parsed->value > 0) {
        link.bytes_per_s = parsed->value;
    } else {
        table.fault("link_rate", "bad_value", fmt::format("{} is no rate", in_ticks(rate)), "link_rate = \"450 GB/s\"");
    }
    return link;
}

std::int64_t read_rows(Reader& table) {
    if (!table.has("rows")) table.fault("rows", "missing_key", fmt::format("{} is missing", table.of("rows")));
    return table.whole("rows", 1, 1'000'000'000, 1);
}

CalibratedExchange read_exchange(Reader& table) {
    CalibratedExchange exchange;
    table.required_text("step");
    const bool out = table.choice("step", {"dispatch", "combine"}) == "dispatch";
    exchange.key.step = out ? ExchangeStep::dispatch : ExchangeStep::combine;
    exchange.key.software = table.text("software");
    exchange.key.variant = table.text("variant");
    exchange.key.system = table.text("system");
    exchange.key.tiers = table.required_text("tiers");
    exchange.key.members = table.whole("members", 2, 1'000'000'000, 2);
    exchange.link = read_link(table);
    std::tie(exchange.least_tokens, exchange.most_tokens) = range(table, "tokens");
    exchange.rows = read_rows(table);
    exchange.left_out = table.whole("left_out", 0, 1'000'000'000, 0);
    exchange.sources = table.texts("sources");
    exchange.errors.fitted = number(table, "error_fitted");
    exchange.errors.sizes = number(table, "error_sizes");
    exchange.errors.shapes = optional_number(table, "error_shapes");
    exchange.errors.members = optional_number(table, "error_members");
    exchange.errors.relative = optional_number(table, "error_relative");
    ExchangeModel& model = exchange.model;
    model.base_s = number(table, "base_us") / 1e6;
    model.expert_s = number(table, "expert_ns") / 1e9;
    model.row = number(table, "row");
    model.link = number(table, "link");
    model.core = number(table, "core");
    model.copy_s = number(table, "copy_us") / 1e6;
    model.read = number(table, "read");
    if (model == ExchangeModel{})
        table.fault("base_us", "missing_key", "a model needs one of base_us, expert_ns, link ...");
    model.once = table.flag("once");
    model.cores = static_cast<double>(table.whole("cores", 1, 1'000'000, 0));
    table.finish();
    return exchange;
}

CalibratedCollective read_model(Reader& table) {
    CalibratedCollective model;
    model.key.kind = read_kind(table);
    model.key.software = table.text("software");
    model.key.variant = table.text("variant");
    if (table.has("dtypes")) model.key.dtypes = table.choice("dtypes", {"float", "integer"});
    model.key.system = table.text("system");
    model.key.tiers = table.required_text("tiers");
    model.link = read_link(table);
    model.members = ascending(table, "members");
    if (!model.members.empty() && model.members.front() < 2) {
        table.fault("members", "out_of_range", "a group has at least two members");
    }
    std::tie(model.least_bytes, model.most_bytes) = range(table, "buffer_bytes");
    model.rows = read_rows(table);
    model.left_out = table.whole("left_out", 0, 1'000'000'000, 0);
    model.sources = table.texts("sources");
    model.errors = read_errors(table);
    model.model.shared = read_curve(table);
    for (Reader& count : table.each("count")) {
        const std::int64_t members = count.whole("members", 2, 1'000'000'000, 2);
        if (!model.model.counted.empty() && model.model.counted.back().members >= members) {
            count.fault("members", "out_of_order", "[[law.count]] must ascend by members");
        }
        model.model.counted.push_back({members, read_curve(count)});
        count.finish();
    }
    table.finish();
    return model;
}

/// Returns a parameter of a model, or 1 with an error if it is out of range.
double read_constant(Reader& table, const KernelConstant& constant) {
    const double value = number(table, constant.key);
    const auto refuse = [&](std::string_view must, const std::string& hint = "") {
        table.fault(constant.key, "out_of_range", fmt::format("{} is {}", table.of(constant.key), must), hint);
        return 1.0;
    };
    switch (constant.kind) {
        case ConstantKind::fraction:
            return value <= 1 ? value : refuse("a fraction of the machine's rate, at most 1");
        case ConstantKind::multiple:
            return value > 0 ? value : refuse("above 0");
        case ConstantKind::exponent:
            return value >= 1
                       ? value
                       : refuse("at least 1", "1 adds the times of the resources; leave it out for their maximum");
        default:
            return value / constant.per_unit();
    }
}

KernelModel read_kernel_model(Reader& table) {
    KernelModel model;
    for (const KernelConstant& each : kernel_constants) {
        if (!each.used(model) || !table.has(each.key)) continue;
        if (const auto* const flag = std::get_if<1>(&each.member)) {
            model.** flag = table.flag(each.key);
        } else {
            each.of(model) = read_constant(table, each);
        }
    }
    return model;
}

/// Returns the range of powers of one size, given by its first and last element.
Powers read_powers(Reader& table, std::string_view key, int doublings) {
    const auto [first, last] = range(table, key);
    const Powers powers = powers_between(first, last, doublings);
    if (size_at(powers.first, doublings) == first && size_at(powers.last, doublings) == last) return powers;
    table.fault(key, "out_of_range",
                fmt::format("{} are powers of {}", table.of(key), doublings == coarse ? "four" : "two"));
    return {};
}

SizeFactors read_factors(Reader& table) {
    SizeFactors read;
    read.doublings = static_cast<int>(table.whole("doublings", fine, coarse, coarse));
    std::size_t wanted = 1;
    for (std::size_t i = 0; i < size_count; ++i) {
        read.powers[i] = read_powers(table, size_names[i], read.doublings);
        wanted *= read.powers[i].count();
    }
    constexpr std::string_view key = "thousandths";
    for (const std::string& row : table.texts(key)) {
        const char* at = row.data();
        const char* const end = at + row.size();
        while (at != end) {
            std::int64_t value = 0;
            const auto [behind, fault] = std::from_chars(at, end, value);
            if (fault != std::errc() || value < 1 || value > max_thousandths) {
                table.fault(key, "wrong_type",
                            fmt::format("{} are rows of whole numbers from 1 to {}", table.of(key), max_thousandths));
                return {};
            }
            read.logs.push_back(log_of(value));
            at = behind;
            while (at != end && *at == ' ') ++at;
        }
    }
    if (read.logs.size() == wanted) return read;
    table.fault(key, "wrong_type", fmt::format("{} are {} numbers, not {}", table.of(key), wanted, read.logs.size()),
                "one for each corner of m, n, depth and batch, the last changing fastest");
    return {};
}

SizedModel read_sized_model(Reader& table) {
    SizedModel sized{read_kernel_model(table)};
    if (auto factors = table.inner("factors")) {
        sized.factors = read_factors(*factors);
        factors->finish();
    }
    return sized;
}

std::vector<BandModel> read_bands(Reader& kernel, BandsBy by) {
    std::vector<BandModel> all;
    for (Reader& table : kernel.each(bands_name(by))) {
        constexpr std::int64_t greatest = 1'000'000;
        const auto most = static_cast<double>(table.whole("most", 1, greatest, 0));
        if (!table.has("most")) table.fault("most", "missing_key", fmt::format("{} is missing", table.of("most")));
        if (!all.empty() && most <= all.back().most) {
            table.fault("most", "out_of_range",
                        fmt::format("{} is more than that of the model before", table.of("most")));
        }
        all.push_back({most, read_sized_model(table)});
        table.finish();
    }
    return all;
}

/// Reads models for bands of heads, head sizes or rows.
void read_bands(Reader& table, const KernelKindInfo& kind, KernelFit& fit) {
    const bool attention = kind.family == KernelFamily::attention;
    for (const BandsBy by : all_bands) {
        std::vector<BandModel> bands = read_bands(table, by);
        if (bands.empty()) continue;
        const std::string key(bands_name(by));
        if (by != BandsBy::m && !attention) {
            table.fault(key, "out_of_place", fmt::format("{} has no heads", in_ticks(kind.name)),
                        fmt::format("models by {} are for kinds of attention", key));
        }
        if (by == BandsBy::m && !attention && kind.family != KernelFamily::contraction) {
            table.fault("m", "out_of_place", fmt::format("{} has no product, and no rows of one", in_ticks(kind.name)),
                        "models by m are for kinds of contraction and attention");
        }
        if (!fit.bands.empty()) {
            table.fault(key, "out_of_place",
                        fmt::format("models are by {} or by {}, not by both", bands_name(fit.by), key),
                        "leave out those of one");
        }
        fit.by = by;
        fit.bands = std::move(bands);
    }
}

/// A size range that is absent stays unknown, in files written by hand and for kinds of kernels without that size.
void read_ranges(Reader& table, KernelFit& fit) {
    for (std::size_t i = 0; i < size_count; ++i) {
        const std::string key = fmt::format("range_{}", size_names[i]);
        if (!table.has(key)) continue;
        const auto range = table.wholes(key, 1'000'000'000'000'000);  // a copy may be one row of billions of elements
        if (range.size() == 2 && range.front() <= range.back()) {
            fit.ranges[i] = {static_cast<double>(range.front()), static_cast<double>(range.back())};
        } else {
            table.fault(key, "wrong_type", fmt::format("{} is the least and the greatest", table.of(key)));
        }
    }
}

CalibratedKernel read_kernel(Reader& table) {
    CalibratedKernel kernel;
    table.required_text("kind");
    std::vector<std::string_view> kinds;
    for (const KernelKindInfo& each : kernel_kinds) kinds.emplace_back(each.name);
    const std::string kind = table.choice("kind", kinds);
    for (const KernelKindInfo& each : kernel_kinds) {
        if (each.name == kind) kernel.key.kind = each.kind;
    }
    kernel.key.dtype = table.text("dtype");
    kernel.key.software = table.text("software");
    kernel.key.variant = table.text("variant");
    kernel.like = table.text("like");
    KernelFit& fit = kernel.fit;
    fit.whole = kernel.key.kind == KernelKind::windowed_attention;
    fit.rows = read_rows(table);
    fit.left_out = table.whole("left_out", 0, 1'000'000'000, 0);
    kernel.sources = table.texts("sources");
    if (const auto times = table.numbers("time_us"); times.size() == 2 && times.front() <= times.back()) {
        fit.least_s = times.front() / 1e6;
        fit.most_s = times.back() / 1e6;
    } else {
        table.fault("time_us", "wrong_type", fmt::format("{} is the least and the greatest", table.of("time_us")));
    }
    read_ranges(table, fit);
    fit.keys_per_query = optional_number(table, "keys_per_query").value_or(0);
    fit.error_fitted = number(table, "error_fitted");
    fit.error_held_out = number(table, "error_held_out");
    fit.error_of_bound = number(table, "error_of_bound");
    fit.error_transferred = optional_number(table, "error_carried");
    if (!table.has("error_held_out")) {
        table.fault("error_held_out", "missing_key", fmt::format("{} is missing", table.of("error_held_out")));
    }
    SizedModel rest = read_sized_model(table);
    fit.model = rest.model;
    fit.factors = std::move(rest.factors);
    read_bands(table, info(kernel.key.kind), fit);
    table.finish();
    return kernel;
}

/// Returns the entries of a list that belong to the requested group.
std::vector<Reader> wanted(Reader& table, std::string_view list, const ModelGroup* group) {
    return table.each(list,
                      [&](TomlNode model) { return group == nullptr || (group->list == list && group->holds(model)); });
}

/// Reads what a calibration file and the table of a machine file have in common.
void read_models(Reader& table, const ModelGroup* group, Calibration& calibration) {
    calibration.fitted = table.text("fitted");
    calibration.tool = table.text("tool");
    for (Reader& model : wanted(table, "law", group)) calibration.models.push_back(read_model(model));
    for (Reader& entry : wanted(table, "exchange", group)) {
        CalibratedExchange exchange = read_exchange(entry);
        const bool twice = std::any_of(calibration.exchanges.begin(), calibration.exchanges.end(),
                                       [&](const CalibratedExchange& other) { return other.key == exchange.key; });
        if (twice) entry.fault("step", "duplicate", "there are two models for the same exchanges");
        calibration.exchanges.push_back(std::move(exchange));
    }
    for (Reader& entry : wanted(table, "kernel", group)) {
        CalibratedKernel kernel = read_kernel(entry);
        const bool twice = std::any_of(calibration.kernels.begin(), calibration.kernels.end(),
                                       [&](const CalibratedKernel& other) { return other.key == kernel.key; });
        if (twice) entry.fault("kind", "duplicate", "there are two models for the same kernels");
        calibration.kernels.push_back(std::move(kernel));
    }
    table.finish();
}

}  // namespace

Result<Calibration> parse_calibration(const TomlInput& toml, std::string_view origin, const ModelGroup* group) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    Calibration calibration;
    calibration.machine = file.required_text("machine");
    read_models(file, group, calibration);
    ROOFLINE_CHECK(text.status());
    return calibration;
}

Result<std::optional<Calibration>> parse_machine_calibration(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    std::optional<Calibration> calibration;
    if (auto table = file.inner("calibration")) {
        calibration.emplace();
        calibration->machine = file.required_text("id");
        read_models(*table, nullptr, *calibration);
    }
    ROOFLINE_CHECK(text.status());
    return calibration;
}

}  // namespace roofline::core
