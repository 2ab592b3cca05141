#include "machine/machine_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "units/text.hpp"

namespace roofline::core {

namespace {

/// The units in which a figure can be written, largest first.
using UnitNames = std::vector<std::pair<double, std::string_view>>;

template <class Q>
UnitNames units_of();
template <>
UnitNames units_of<FlopRate>() {
    return {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1, "FLOP/s"}};
}
template <>
UnitNames units_of<Bandwidth>() {
    return {{1e12, "TB/s"}, {1e9, "GB/s"}, {1, "B/s"}};
}
template <>
UnitNames units_of<Bytes>() {
    constexpr double ki = 1024;
    return {{ki * ki * ki, "GiB"}, {ki * ki, "MiB"}, {ki, "KiB"}, {1, "B"}};
}
template <>
UnitNames units_of<Seconds>() {
    return {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
}
template <>
UnitNames units_of<Frequency>() {
    return {{1e9, "GHz"}, {1e6, "MHz"}, {1, "Hz"}};
}
template <>
UnitNames units_of<Power>() {
    return {{1, "W"}};
}

/// Formats a value such as "819 GB/s" with the largest unit in which few digits are exact, else with all digits in the
/// base unit.
template <class Q>
std::string value_text(double value) {
    for (const auto& [size, unit] : units_of<Q>()) {
        if (value < size) continue;
        const std::string text = fmt::format("{:.7g} {}", value / size, unit);
        const auto read = parse_quantity<Q>(text);
        if (read && read->value == value) return text;
    }
    for (const auto& [size, unit] : units_of<Q>()) {
        if (size == 1) return fmt::format("{} {}", value, unit);
    }
    return fmt::format("{}", value);
}

std::string basis_and_notes(Basis basis, char confidence, const std::string& source, const std::string& note) {
    std::string text;
    if (!source.empty()) text += fmt::format(", source = {}", toml_string(source));
    if (basis != Basis::spec) text += fmt::format(", basis = \"{}\"", name(basis));
    text += fmt::format(", confidence = \"{}\"", confidence);
    if (!note.empty()) text += fmt::format(", note = {}", toml_string(note));
    return text;
}

/// The keys of a figure, separated by ", ".
template <class Q, class Value>
std::string figure_keys(const Figure<Value>& figure) {
    std::string text;
    if (figure.value) text = fmt::format("value = {}", toml_string(value_text<Q>(figure.value->value)));
    const std::string source = figure.what_if ? "what if: set by the user" : figure.source;
    const Basis basis = figure.what_if ? Basis::assumed : figure.basis;
    text += basis_and_notes(basis, figure.confidence, source, figure.note);
    std::vector<std::string> others;
    for (const Alternative& other : figure.alternatives) {
        std::string entry = fmt::format("{{ value = {}, source = {}", toml_string(value_text<Q>(other.value)),
                                        toml_string(other.source));
        if (!other.note.empty()) entry += fmt::format(", note = {}", toml_string(other.note));
        others.push_back(entry + " }");
    }
    if (!others.empty()) text += fmt::format(", alternatives = [{}]", fmt::join(others, ", "));
    return text.starts_with(", ") ? text.substr(2) : text;
}

template <class Q>
bool said(const Figure<Q>& figure) {
    return figure.value || !figure.note.empty() || !figure.source.empty() || !figure.alternatives.empty();
}

/// Builds the lines of a TOML table.
class TomlText {
public:
    void line(const std::string& text) { text_ += text + "\n"; }
    void header(std::string_view table) { text_ += fmt::format("\n{}\n", table); }
    void text(std::string_view key, const std::string& value) {
        if (!value.empty()) line(fmt::format("{} = {}", key, toml_string(value)));
    }
    void whole(std::string_view key, std::int64_t value, std::int64_t unless = 0) {
        if (value != unless) line(fmt::format("{} = {}", key, value));
    }
    void flag(std::string_view key, bool value) {
        if (value) line(fmt::format("{} = true", key));
    }
    void shape(std::string_view key, const std::vector<std::int64_t>& sizes) {
        if (!sizes.empty()) line(fmt::format("{} = [{}]", key, fmt::join(sizes, ", ")));
    }
    template <class Q>
    void figure(std::string_view key, const Figure<Q>& figure) {
        if (said(figure)) line(fmt::format("{} = {{ {} }}", key, figure_keys<Q>(figure)));
    }
    /// Writes a figure whose keys are in the table itself, one line each.
    template <class Q>
    void figure_lines(const Figure<Q>& figure) {
        Figure<Q> rest = figure;
        if (figure.value) text("value", value_text<Q>(figure.value->value));
        rest.value.reset();
        text("source", figure.what_if ? "what if: set by the user" : figure.source);
        const Basis basis = figure.what_if ? Basis::assumed : figure.basis;
        if (basis != Basis::spec) text("basis", std::string(name(basis)));
        text("confidence", std::string(1, figure.confidence));
        text("note", figure.note);
        rest.source.clear();
        rest.note.clear();
        const std::string others = figure_keys<Q>(rest);
        const std::size_t at = others.find("alternatives = ");
        if (at != std::string::npos) line(others.substr(at));
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
};

void write_identity(TomlText& out, const Machine& machine) {
    out.text("id", machine.id);
    out.text("name", machine.name);
    out.text("vendor", machine.vendor);
    if (machine.kind != "chip") out.text("kind", machine.kind);
    out.whole("year", machine.year);
    if (!machine.aliases.empty()) {
        std::vector<std::string> names;
        for (const std::string& alias : machine.aliases) names.push_back(toml_string(alias));
        out.line(fmt::format("aliases = [{}]", fmt::join(names, ", ")));
    }
    out.whole("cores", machine.cores);
    out.text("cores_label", machine.cores_label);
    out.text("notes", machine.notes);
    out.figure("clock", machine.clock);
    out.figure("power", machine.power);
    if (machine.matrix_unit) {
        out.header("[matrix_unit]");
        out.whole("side", machine.matrix_unit->side);
        out.whole("count_per_core", machine.matrix_unit->count_per_core);
    }
}

void write_peaks(TomlText& out, const Machine& machine) {
    for (const Peak& peak : machine.peaks) {
        out.header(fmt::format("[[{}]]", name(peak.unit)));
        out.text("dtype", std::string(name(peak.dtype)));
        const Dtype usual = peak.unit == Unit::matmul ? info(peak.dtype).accumulator : peak.dtype;
        if (peak.accumulator != usual) out.text("accumulator", std::string(name(peak.accumulator)));
        if (peak.quoted_sparse) out.text("quoted", "sparse");
        out.whole("sum_bits", peak.sum_bits);
        if (peak.passes > 0) {
            out.text("of", std::string(name(peak.of)));
            out.whole("passes", peak.passes);
            out.text("source", peak.rate.source);
            continue;
        }
        out.figure_lines(peak.rate);
    }
}

std::string_view managed_name(Managed managed) {
    return managed == Managed::software ? "software" : managed == Managed::compiler ? "compiler" : "hardware";
}

void write_memory(TomlText& out, const Machine& machine) {
    for (const MemoryLevel& level : machine.memory) {
        out.header("[[memory]]");
        out.text("level", level.id);
        if (level.label != level.id) out.text("label", level.label);
        if (level.scope != "chip") out.text("scope", level.scope);
        out.whole("instances", level.instances, 1);
        if (level.managed != Managed::hardware) out.text("managed", std::string(managed_name(level.managed)));
        out.figure("capacity", level.capacity);
        out.figure("block", level.block);
        out.figure("bandwidth", level.bandwidth);
        out.figure("measured_bandwidth", level.measured_bandwidth);
    }
    if (machine.host) {
        out.header("[host]");
        out.text("kind", machine.host->kind);
        out.figure("bandwidth", machine.host->bandwidth);
        out.figure("measured_bandwidth", machine.host->measured_bandwidth);
        out.figure("memory_capacity", machine.host->memory_capacity);
        out.figure("memory_bandwidth", machine.host->memory_bandwidth);
    }
}

void write_tier(TomlText& out, const NetworkTier& tier) {
    out.header("[[network]]");
    out.text("tier", tier.id);
    if (tier.label != tier.id) out.text("label", tier.label);
    out.text("topology", tier.topology);
    out.whole("domain", tier.domain);
    out.whole("links", tier.links);
    out.flag("in_network_reduction", tier.in_network_reduction);
    out.figure("link_bandwidth", tier.link_bandwidth);
    out.figure("chip_bandwidth", tier.chip_bandwidth);
    out.figure("effective_link_bandwidth", tier.effective_link_bandwidth);
    out.figure("hop_latency", tier.hop_latency);
    out.figure("bisection", tier.bisection);
    out.figure("allreduce_bandwidth", tier.allreduce_bandwidth);
    out.shape("pod_shape", tier.pod_shape);
    out.shape("host_shape", tier.host_shape);
    out.shape("max_job", tier.max_job);
    out.whole("wrap_multiple", tier.wrap_multiple);
    out.flag("wrap_needs_blocks", tier.wrap_needs_blocks);
    out.whole("leaf", tier.leaf);
    out.whole("rails", tier.rails, 1);
    if (tier.leaf != 0) {
        const Rational& ratio = tier.oversubscription;
        out.text("oversubscription", fmt::format("{}:{}", static_cast<std::int64_t>(ratio.numerator()),
                                                 static_cast<std::int64_t>(ratio.denominator())));
    }
    out.whole("parts", tier.parts, 1);
    out.text("wrap_rule", tier.wrap_rule);
    out.text("note", tier.note);
}

void write_prices(TomlText& out, const Machine& machine) {
    for (const PriceQuote& quote : machine.prices) {
        out.header("[[price]]");
        out.line(fmt::format("usd_per_chip_hour = [{}]", fmt::join(quote.usd_per_chip_hour, ", ")));
        out.text("kind", quote.kind);
        out.text("date", quote.date);
        out.text("source", quote.source);
        out.text("confidence", std::string(1, quote.confidence));
    }
}

void write_measured(TomlText& out, const Machine& machine) {
    if (machine.measured.empty()) return;
    out.header("[measured]");
    for (const Measurement& each : machine.measured) {
        const std::string keys = each.unit == "FLOP/s" ? figure_keys<FlopRate>(each.value)
                                 : each.unit == "s"    ? figure_keys<Seconds>(each.value)
                                                       : figure_keys<Bandwidth>(each.value);
        // [measured] assumes another default for `basis`, so spec must be written
        const std::string basis = each.value.basis == Basis::spec ? ", basis = \"spec\"" : "";
        out.line(fmt::format("{} = {{ {}{} }}", toml_string(each.what), keys, basis));
    }
}

}  // namespace

std::string toml_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (byte < 0x20 || byte == 0x7f) {
            quoted += ' ';
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

std::string machine_text(const Machine& machine) {
    TomlText out;
    write_identity(out, machine);
    write_peaks(out, machine);
    write_memory(out, machine);
    for (const NetworkTier& tier : machine.network) write_tier(out, tier);
    write_prices(out, machine);
    write_measured(out, machine);
    return out.take();
}

}  // namespace roofline::core
