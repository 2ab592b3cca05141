#include "calibrate/step/step_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/portable_math.hpp"
#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

// Reads one number between two limits; otherwise records an error.
double factor(Reader& table, std::string_view key, double least, double most) {
    const std::vector<double> numbers = table.numbers(key);
    if (numbers.size() == 1 && numbers.front() >= least && numbers.front() <= most) return numbers.front();
    table.fault(key, "bad_value", fmt::format("{} is one number from {} to {}", table.of(key), least, most));
    return least;
}

}  // namespace

StepParts& StepParts::operator+=(const StepParts& other) {
    kernels_s += other.kernels_s;
    narrow_s += other.narrow_s;
    promoted_s += other.promoted_s;
    launches += other.launches;
    overlappable_s += other.overlappable_s;
    exchanged_s += other.exchanged_s;
    overlappable_wire_s += other.overlappable_wire_s;
    exchanged_wire_s += other.exchanged_wire_s;
    flops_per_joule = std::max(flops_per_joule, other.flops_per_joule);
    pytorch = pytorch || other.pytorch;
    experts = experts || other.experts;
    in_turn = in_turn || other.in_turn;
    compiled = compiled || other.compiled;
    return *this;
}

StepParts& StepParts::operator*=(double times) {
    kernels_s *= times;
    narrow_s *= times;
    promoted_s *= times;
    launches *= times;
    overlappable_s *= times;
    exchanged_s *= times;
    overlappable_wire_s *= times;
    exchanged_wire_s *= times;
    return *this;
}

double power_slowdown(const StepModel& model, const StepParts& parts) {
    constexpr double tera = 1e12;
    return parts.flops_per_joule > 0 ? cube_root(std::max(parts.flops_per_joule, model.coolest) / tera) : 1;
}

double kernel_slowdown(const StepModel& model, const StepParts& parts) {
    return power_slowdown(model, parts) * (parts.pytorch ? model.pytorch : 1);
}

double exposed_share(const StepModel& model, const StepParts& parts) { return parts.in_turn ? 1 : model.exposed; }

double device_seconds(const StepModel& model, const StepParts& parts) {
    if (parts.compiled) return model.compiled.compute * (parts.kernels_s + parts.narrow_s + parts.promoted_s);
    const double kernels =
        model.compute * parts.kernels_s + model.narrow * parts.narrow_s + model.promoted * parts.promoted_s;
    return kernel_slowdown(model, parts) * kernels + parts.exchanged_s + parts.exchanged_wire_s / model.wires;
}

double host_seconds(const StepModel& model, const StepParts& parts) {
    return parts.compiled ? 0 : model.launch_s * parts.launches;
}

double beside_seconds(const StepModel& model, const StepParts& parts) {
    if (!parts.compiled) return parts.overlappable_s + parts.overlappable_wire_s / model.wires;
    const double wires = parts.overlappable_wire_s + parts.exchanged_wire_s;
    return parts.overlappable_s + parts.exchanged_s + wires / model.compiled.wires;
}

namespace {

/// Returns the p-norm of two times.
double norm(double a, double b, double p) {
    const double longer = std::max(a, b);
    if (!(longer > 0)) return 0;
    return longer * std::pow(1 + std::pow(std::min(a, b) / longer, p), 1 / p);
}

double device_and_host_seconds(const StepModel& model, const StepParts& parts) {
    return norm(device_seconds(model, parts), host_seconds(model, parts), model.overlap);
}

}  // namespace

double exposed_seconds(const StepModel& model, const StepParts& parts) {
    const double beside = beside_seconds(model, parts);
    if (parts.compiled) {
        const double device = device_seconds(model, parts);
        return norm(device, beside, model.compiled.overlap) - device;
    }
    // collectives can overlap with no more than the time of device and host
    return std::max(exposed_share(model, parts) * beside, beside - device_and_host_seconds(model, parts));
}

double seconds_of(const StepModel& model, const StepParts& parts) {
    return device_and_host_seconds(model, parts) + exposed_seconds(model, parts);
}

StepClass class_of(const StepModel& model, const StepParts& parts) {
    const bool narrow = parts.narrow_s + parts.promoted_s > 0;
    const auto found = std::find_if(model.classes.begin(), model.classes.end(), [&](const StepClass& each) {
        return each.compiled == parts.compiled && each.experts == parts.experts && each.narrow == narrow;
    });
    if (found != model.classes.end()) return *found;
    return {parts.experts, parts.compiled, narrow, model.error, model.rows, model.publishers};
}

Result<StepModel> parse_step_model(const TomlInput& toml, std::string_view origin) {
    constexpr std::int64_t many = 1'000'000'000;
    TomlFile text(toml, origin);
    Reader file = text.root();
    StepModel model;
    model.compute = factor(file, "compute", 0.5, 10);
    model.narrow = factor(file, "narrow", 0.2, 10);
    model.promoted = factor(file, "promoted", 0.2, 10);
    model.launch_s = factor(file, "launch_us", 1e-3, 1e4) * 1e-6;
    model.overlap = factor(file, "overlap", 1, 1e3);
    model.coolest = factor(file, "coolest", 0, 100) * 1e12;
    model.pytorch = factor(file, "pytorch", 0.5, 10);
    model.exposed = factor(file, "exposed", 1e-3, 1);
    model.wires = factor(file, "wires", 1e-2, 1);
    model.error = factor(file, "error", 1e-4, 10);
    model.rows = file.whole("rows", 1, many, 1);
    model.publishers = file.whole("publishers", 1, many, 1);
    model.reserved = factor(file, "reserved", 1, 2);
    model.reserved_error = factor(file, "reserved_error", 1e-4, 1);
    model.reserved_rows = file.whole("reserved_rows", 1, many, 1);
    static_cast<void>(file.text("note"));
    for (Reader& table : file.each("class")) {
        StepClass each;
        each.experts = table.choice("experts", {"yes", "no"}) == "yes";
        each.narrow = table.choice("narrow", {"yes", "no"}) == "yes";
        each.compiled = table.flag("compiled");
        each.error = factor(table, "error", 1e-4, 10);
        each.rows = table.whole("rows", 1, many, 1);
        each.publishers = table.whole("publishers", 1, many, 1);
        table.finish();
        model.classes.push_back(each);
    }
    for (Reader& table : file.each("compiled")) {
        model.compiled.compute = factor(table, "compute", 0.5, 10);
        model.compiled.wires = factor(table, "wires", 1e-2, 1);
        model.compiled.overlap = factor(table, "overlap", 1, 1e3);
        model.compiled.machines = table.texts("machines");
        table.finish();
    }
    file.finish();
    ROOFLINE_CHECK(text.status());
    return model;
}

Result<StepModel> built_in_step_model() { return parse_step_model(embedded_training_steps(), "training_steps.toml"); }

}  // namespace roofline::core
