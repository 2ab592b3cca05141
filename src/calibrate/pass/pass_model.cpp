#include "calibrate/pass/pass_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/kernel/kernel_transfer.hpp"
#include "calibrate/pass/pass_factor.hpp"
#include "machine/catalogue.hpp"
#include "machine/embedded.hpp"
#include "machine/machine_text.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t many_rows = 1'000'000'000;

/// The norm of order 4: near the longer of two times, and above both where they are alike.
double together(double a, double b) {
    const double longer = std::max(a, b);
    if (!(longer > 0)) return 0;
    const double ratio = std::min(a, b) / longer;
    return longer * std::pow(1 + std::pow(ratio, 4), 0.25);
}

PassProducts read_products(Reader& table) {
    PassProducts products;
    products.types = table.texts("types");
    products.rate = table.number("rate", 1);
    products.unpack = table.number("unpack", 0);
    table.finish();
    return products;
}

PassChip read_chip(Reader& table) {
    PassChip chip;
    chip.machine = table.required_text("machine");
    chip.generation = table.number("generation", 1);
    chip.prompts = table.number("prompts", 1);
    chip.rows = table.whole("rows", 1, many_rows, 1);
    table.finish();
    return chip;
}

PassErrors read_errors(Reader& table, std::string_view what) {
    PassErrors errors;
    errors.fitted = table.number(fmt::format("{}_error_fitted", what), 0);
    errors.held_out = table.number(fmt::format("{}_error_held_out", what), 0);
    errors.chips = table.number(fmt::format("{}_error_chips", what), 0);
    errors.relatives = table.number(fmt::format("{}_error_relatives", what), 0);
    return errors;
}

PassFamily read_family(Reader& table) {
    constexpr std::int64_t longest = std::int64_t{1} << 30;
    PassFamily family;
    family.software = table.required_text("software");
    family.name = table.required_text("name");
    family.rows = table.whole("rows", 1, many_rows, 1);
    family.longest = table.whole("longest", 1, longest, longest);
    family.models = table.texts("models");
    family.sources = table.texts("sources");
    family.memory = table.number("memory", 1);
    family.cache = table.number("cache", 1);
    family.attention = table.number("attention", 1);
    family.kernel_s = table.number("kernel_us", 0) / 1e6;
    family.hop_s = table.number("hop_us", 0) / 1e6;
    family.chunk = table.whole("chunk", 1, longest, 512);
    family.sums_in_f16 = table.flag("sums_in_f16");
    family.generation = read_errors(table, "generation");
    family.prompts = read_errors(table, "prompts");
    for (Reader& each : table.each("products")) family.products.push_back(read_products(each));
    for (Reader& each : table.each("chip")) family.chips.push_back(read_chip(each));
    table.finish();
    return family;
}

std::string texts_line(std::string_view key, const std::vector<std::string>& texts) {
    std::vector<std::string> quoted;
    for (const std::string& text : texts) quoted.push_back(toml_string(text));
    return fmt::format("{} = [{}]\n", key, fmt::join(quoted, ", "));
}

std::string errors_text(std::string_view what, const PassErrors& errors) {
    std::string text;
    for (const auto& [key, value] : {std::pair{"fitted", errors.fitted}, std::pair{"held_out", errors.held_out},
                                     std::pair{"chips", errors.chips}, std::pair{"relatives", errors.relatives}}) {
        // an error of 0 would be read back as not measured
        if (value > 0) text += fmt::format("{}_error_{} = {:.3g}\n", what, key, std::max(value, 1e-6));
    }
    return text;
}

std::string family_text(const PassFamily& family) {
    std::string text = fmt::format("\n[[pass]]\nsoftware = {}\nname = {}\nrows = {}\nlongest = {}\n",
                                   toml_string(family.software), toml_string(family.name), family.rows, family.longest);
    text += texts_line("models", family.models) + texts_line("sources", family.sources);
    text += errors_text("generation", family.generation) + errors_text("prompts", family.prompts);
    text += fmt::format("memory = {:.4g}\ncache = {:.4g}\nattention = {:.4g}\n", family.memory, family.cache,
                        family.attention);
    if (family.kernel_s > 0) text += fmt::format("kernel_us = {:.4g}\n", family.kernel_s * 1e6);
    if (family.hop_s > 0) text += fmt::format("hop_us = {:.4g}\n", family.hop_s * 1e6);
    text += fmt::format("chunk = {}\n", family.chunk);
    if (family.sums_in_f16) text += "sums_in_f16 = true\n";
    for (const PassProducts& each : family.products) {
        text += "[[pass.products]]\n" + texts_line("types", each.types) + fmt::format("rate = {:.4g}\n", each.rate);
        if (each.unpack > 0) text += fmt::format("unpack = {:.4g}\n", each.unpack);
    }
    for (const PassChip& chip : family.chips) {
        text += fmt::format("[[pass.chip]]\nmachine = {}\ngeneration = {:.4g}\nprompts = {:.4g}\nrows = {}\n",
                            toml_string(chip.machine), chip.generation, chip.prompts, chip.rows);
    }
    return text;
}

/// Vector FLOPs per byte of main memory; empty if the machine's file lacks one of them.
std::optional<double> vector_ridge(const Machine& machine) {
    const Peak* const vector = machine.peak(Unit::vector, Dtype::f32);
    const MemoryLevel* const memory = machine.level("hbm");
    if (vector == nullptr || !vector->rate.value || memory == nullptr || !memory->bandwidth.value) return {};
    return vector->rate.value->value / memory->bandwidth.value->value;
}

}  // namespace

const PassChip* PassFamily::chip(std::string_view machine) const {
    const auto found =
        std::find_if(chips.begin(), chips.end(), [&](const PassChip& each) { return each.machine == machine; });
    return found == chips.end() ? nullptr : &*found;
}

const PassProducts& PassFamily::of(Dtype dtype) const {
    static const PassProducts none;
    const PassProducts* rest = products.empty() ? &none : &products.front();
    for (const PassProducts& each : products) {
        if (each.types.empty()) rest = &each;
        if (std::find(each.types.begin(), each.types.end(), roofline::name(dtype)) != each.types.end()) return each;
    }
    return *rest;
}

double pass_factor(const PassFamily& family, std::string_view machine, bool generates) {
    const auto of = [&](const PassChip& chip) { return generates ? chip.generation : chip.prompts; };
    if (const PassChip* const own = family.chip(machine)) return of(*own);
    double logs = 0;
    for (const PassChip& chip : family.chips) logs += std::log(of(chip));
    return family.chips.empty() ? 1 : std::exp(logs / static_cast<double>(family.chips.size()));
}

double pass_seconds(const PassFamily& family, const PassParts& parts) {
    double multiplied = 0;
    double unpacked = 0;
    for (const auto& [dtype, seconds] : parts.products_s) {
        const PassProducts& products = family.of(dtype);
        multiplied += seconds / (products.rate * parts.cores);
        if (products.unpack > 0) unpacked += seconds / (products.unpack * parts.cores);
    }
    const double read = parts.weights_s / family.memory;
    const double launches = parts.kernels * family.kernel_s;
    const double cache = parts.cache_s / family.cache;
    const auto chips = static_cast<double>(parts.chips);
    if (parts.generates) return together(read, unpacked) + cache + launches + (chips - 1) * family.hop_s;

    const auto chunk = static_cast<double>(family.chunk);
    const double chunks = std::ceil(parts.tokens / chunk);
    const double attention = cache + parts.attention_s / (family.attention * parts.cores);
    const double last_read = parts.last_weights_s.value_or(parts.weights_s) / family.memory;
    // of a chunk that reads its weights in `reading` seconds and has this part of the prompt's tokens
    const auto of_chunk = [&](double reading, double part) {
        return std::max(reading, multiplied * part) + attention * part + launches;
    };
    const double full = std::min(1.0, chunk / parts.tokens);
    const double longest = of_chunk(read, full);
    const double seconds = (chunks - 1) * longest + of_chunk(last_read, 1 - (chunks - 1) * full);
    if (parts.chips <= 1) return seconds;
    // every chip takes a part of the layers: while the last chunk passes, the longest is waited for
    return (seconds + (chips - 1) * longest) / chips + (chunks + chips - 1) * family.hop_s;
}

double gain_of_f16_sums(const Machine& machine) {
    double wide = 0;
    double narrow = 0;
    for (const Peak& peak : machine.peaks) {
        if (peak.unit != Unit::matmul || peak.dtype != Dtype::f16 || !peak.rate.value) continue;
        double& rate = peak.accumulator == Dtype::f16 ? narrow : wide;
        rate = std::max(rate, peak.rate.value->value);
    }
    return wide > 0 && narrow > wide ? narrow / wide : 1;
}

double gain_of_matrix_extension(const Machine& machine) {
    if (machine.kind != "cpu") return 1;
    double whole = 0;
    double half = 0;
    for (const Peak& peak : machine.peaks) {
        if (!peak.rate.value) continue;
        if (peak.dtype == Dtype::f32) whole = std::max(whole, peak.rate.value->value);
        if (peak.unit == Unit::matmul && peak.dtype == Dtype::bf16) half = std::max(half, peak.rate.value->value);
    }
    return whole > 0 && half > 2 * whole ? half / (2 * whole) : 1;
}

std::optional<double> pass_distance(const Machine& a, const Machine& b) {
    if (a.kind != b.kind || (a.kind != "cpu" && a.vendor != b.vendor)) return {};
    double distance = 0;
    if (a.year > 0 && b.year > 0) distance += std::abs(a.year - b.year);
    const auto one = vector_ridge(a);
    const auto other = vector_ridge(b);
    if (one && other) distance += 2 * std::abs(std::log2(*one / *other));
    return distance;
}

bool PassModels::known(std::string_view software) const {
    return std::any_of(families.begin(), families.end(), [&](const PassFamily& family) {
        return !software.empty() && same_library(family.software, software);
    });
}

std::optional<ExpectedPass> PassModels::expected(const Machine& machine, std::string_view software,
                                                 const PassParts& parts) const {
    for (const PassFamily& family : families) {
        const PassChip* const own = same_library(family.software, software) ? family.chip(machine.id) : nullptr;
        if (own == nullptr) continue;
        const double factor = pass_factor(family, machine.id, parts.generates);
        return ExpectedPass{factor * pass_seconds(family, parts), family.errors(parts.generates).held_out, &family, own,
                            false};
    }
    const Machine itself = without_changes(machine);
    ExpectedPass best;
    double nearest = 0;
    for (const PassFamily& family : families) {
        if (!same_library(family.software, software)) continue;
        for (const PassChip& chip : family.chips) {
            const auto other = find_machine(chip.machine);
            const auto distance = other ? pass_distance(itself, *other) : std::nullopt;
            if (!distance || (best.family != nullptr && *distance >= nearest)) continue;
            nearest = *distance;
            best = {0, 0, &family, &chip, true};
        }
    }
    if (best.family == nullptr) return {};
    // chips of one family are at most this far from each other
    constexpr double near = 2;
    const PassErrors& errors = best.family->errors(parts.generates);
    best.error = nearest <= near ? errors.chips : std::max(errors.chips, errors.relatives);
    best.seconds = pass_factor(*best.family, machine.id, parts.generates) * pass_seconds(*best.family, parts);
    return best;
}

Result<PassModels> parse_pass_models(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    PassModels models;
    models.fitted = file.text("fitted");
    for (Reader& table : file.each("pass")) models.families.push_back(read_family(table));
    file.finish();
    ROOFLINE_CHECK(text.status());
    return models;
}

bool holds_pass_models(std::string_view toml) {
    constexpr std::string_view table = "[[pass]]";
    return toml.starts_with(table) || toml.find(fmt::format("\n{}", table)) != std::string_view::npos;
}

std::string pass_models_text(const PassModels& models) {
    std::string text =
        "# Forward-pass models: times of prompts and of generated tokens on chips without timings of single kernels, "
        "see\n"
        "# docs/method/whole-passes.md. `roofline fit` writes this file from tables of llama.cpp's benchmark; the "
        "chips of "
        "each\n# family are kept from the file before.\n";
    if (!models.fitted.empty()) text += fmt::format("fitted = {}\n", toml_string(models.fitted));
    for (const PassFamily& family : models.families) text += family_text(family);
    return text;
}

const PassModels& built_in_passes() {
    // a test reads this file; if it were invalid, such passes would have no expected times
    static const PassModels models = [] {
        auto read = parse_pass_models(embedded_passes(), "passes.toml");
        return read ? std::move(*read) : PassModels{};
    }();
    return models;
}

}  // namespace roofline::core
