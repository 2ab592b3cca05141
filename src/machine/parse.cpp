// Parses the text of a machine file to a Machine. docs/reference/machine-files.md describes every key.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "machine/identity.hpp"
#include "machine/parse_leaf.hpp"
#include "machine/reader.hpp"
#include "machine/toml_file.hpp"

namespace roofline::core {

namespace {

constexpr std::array<std::string_view, 10> level_ids{"hbm",  "l3", "l2",   "cmem", "vmem",
                                                     "smem", "l1", "tmem", "psum", "reg"};
// The first words of `--set` paths: a tier that took one of them could not be addressed.
constexpr std::array<std::string_view, 9> reserved{"matmul", "vector", "passes", "pcie", "dram",
                                                   "price",  "power",  "clock",  "host"};
constexpr std::array<std::string_view, 13> topologies{
    "none", "torus2d",   "torus3d",          "switch", "full_mesh", "partial_mesh", "pair",
    "ring", "pcie_tree", "hybrid_cube_mesh", "mesh2d", "dragonfly", "nic"};
constexpr std::int64_t many = 1'000'000'000;

bool is_name(std::string_view text, std::string_view punctuation) {
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               punctuation.find(c) != std::string_view::npos;
    });
}

void read_identity(Reader& file, Machine& machine) {
    machine.id = file.required_text("id");
    if (!machine.id.empty() && !is_name(machine.id, "-_.")) {
        file.fault("id", "bad_name", fmt::format("{} cannot be an id", in_ticks(machine.id)),
                   "use up to 64 letters, digits, '-', '_' and '.', such as \"tpu-v5e\"");
    }
    machine.name = file.required_text("name");
    machine.vendor = file.text("vendor");
    machine.kind = file.choice("kind", {"chip", "gpu", "tpu", "cpu", "asic", "soc"});
    machine.year = static_cast<int>(file.whole("year", 1940, 2100, 0));
    machine.aliases = file.texts("aliases");
    machine.cores = file.whole("cores", 1, many, 0);
    machine.cores_label = file.text("cores_label");
    machine.notes = file.text("notes");
}

// Reads the passes of a dtype that is split into narrower ones and so has no rate of its own in the file.
void read_passes(Reader& entry, Peak& peak) {
    if (!entry.has("of") && !entry.has("passes")) return;
    const auto of = entry.dtype("of");
    peak.passes = entry.whole("passes", 1, 100, 1);
    peak.of = of.value_or(Dtype::bf16);
    const auto schemes = pass_schemes(peak.dtype, peak.of);
    std::vector<std::string> counts;
    for (const PassScheme& scheme : schemes) counts.push_back(fmt::format("{}", scheme.passes));
    const auto known = [&](const PassScheme& scheme) { return scheme.passes == peak.passes; };
    if (schemes.empty() || !entry.has("of")) {
        entry.fault(entry.has("of") ? "of" : "passes", "bad_value",
                    fmt::format("{} cannot be multiplied in passes over {}", name(peak.dtype),
                                entry.has("of") ? name(peak.of) : "nothing"),
                    "f32, tf32 and f16 can be split into bf16, int32 into int8 or bf16: of = \"bf16\"");
    } else if (std::none_of(schemes.begin(), schemes.end(), known)) {
        entry.fault("passes", "bad_value",
                    fmt::format("{} passes over {} cannot multiply {}", peak.passes, name(peak.of), name(peak.dtype)),
                    fmt::format("the possible numbers of passes are {}", fmt::join(counts, ", ")));
    }
    if (peak.rate.value) {
        entry.fault("value", "bad_value",
                    "the rate of multiplication in passes is derived from the unit that runs them",
                    "remove `value`, or `of` and `passes`");
    }
}

void read_peaks(Reader& file, Unit unit, Machine& machine) {
    for (Reader& entry : file.each(name(unit))) {
        Peak peak;
        peak.unit = unit;
        entry.required_text("dtype");
        const auto dtype = entry.dtype("dtype");
        const auto accumulator = entry.dtype("accumulator");
        peak.dtype = dtype.value_or(Dtype::f32);
        peak.accumulator = accumulator.value_or(unit == Unit::matmul ? info(peak.dtype).accumulator : peak.dtype);
        peak.rate = entry.figure<FlopRate>();
        peak.quoted_sparse = entry.choice("quoted", {"dense", "sparse"}) == "sparse";
        peak.sum_bits = entry.whole("sum_bits", 1, 64, 0);
        if (unit == Unit::matmul) read_passes(entry, peak);
        entry.finish();
        const bool twice = std::any_of(machine.peaks.begin(), machine.peaks.end(), [&](const Peak& other) {
            return other.unit == unit && other.dtype == peak.dtype && other.accumulator == peak.accumulator;
        });
        if (twice && dtype) {
            entry.fault("dtype", "duplicate",
                        fmt::format("[[{}]] already has a rate for {} with {} accumulation", name(unit),
                                    name(peak.dtype), name(peak.accumulator)),
                        "list the other figure under `alternatives`");
        }
        machine.peaks.push_back(std::move(peak));
    }
}

MemoryLevel read_level(Reader& entry) {
    MemoryLevel level;
    entry.required_text("level");
    level.id = entry.choice("level", level_ids);
    level.label = entry.text("label");
    if (level.label.empty()) level.label = level.id;
    level.scope = entry.text("scope");
    if (level.scope.empty()) level.scope = "chip";
    level.instances = entry.whole("instances", 1, many, 1);
    const std::string managed = entry.choice("managed", {"hardware", "software", "compiler"});
    level.managed = managed == "software"   ? Managed::software
                    : managed == "compiler" ? Managed::compiler
                                            : Managed::hardware;
    level.capacity = entry.figure_at<Bytes>("capacity");
    level.block = entry.figure_at<Bytes>("block");
    level.bandwidth = entry.figure_at<Bandwidth>("bandwidth");
    level.measured_bandwidth = entry.figure_at<Bandwidth>("measured_bandwidth");
    entry.finish();
    return level;
}

void read_memory(Reader& file, Machine& machine) {
    for (Reader& entry : file.each("memory")) {
        MemoryLevel level = read_level(entry);
        if (machine.level(level.id) != nullptr && entry.has("level")) {
            entry.fault("level", "duplicate", fmt::format("there are two levels `{}`", level.id),
                        "use one entry with `instances` for several memories of one kind");
        }
        machine.memory.push_back(std::move(level));
    }
    const auto rank = [](const MemoryLevel& level) {
        return std::find(level_ids.begin(), level_ids.end(), level.id) - level_ids.begin();
    };
    std::sort(machine.memory.begin(), machine.memory.end(),
              [&](const MemoryLevel& a, const MemoryLevel& b) { return rank(a) < rank(b); });
}

void read_host(Reader& file, Machine& machine) {
    auto entry = file.inner("host");
    if (!entry) return;
    HostLink host;
    host.kind = entry->text("kind");
    if (host.kind.empty()) host.kind = "PCIe";
    host.bandwidth = entry->figure_at<Bandwidth>("bandwidth");
    host.measured_bandwidth = entry->figure_at<Bandwidth>("measured_bandwidth");
    host.memory_capacity = entry->figure_at<Bytes>("memory_capacity");
    host.memory_bandwidth = entry->figure_at<Bandwidth>("memory_bandwidth");
    entry->finish();
    machine.host = std::move(host);
}

NetworkTier read_tier(Reader& entry, const std::vector<NetworkTier>& inner) {
    NetworkTier tier;
    tier.id = entry.required_text("tier");
    tier.label = entry.text("label");
    if (tier.label.empty()) tier.label = tier.id;
    entry.required_text("topology");
    tier.topology = entry.choice("topology", topologies);
    tier.domain = entry.whole("domain", 1, many, 0);
    tier.links = entry.whole("links", 1, 1'000'000, 0);
    tier.in_network_reduction = entry.flag("in_network_reduction");
    tier.link_bandwidth = entry.figure_at<Bandwidth>("link_bandwidth");
    tier.chip_bandwidth = entry.figure_at<Bandwidth>("chip_bandwidth");
    tier.effective_link_bandwidth = entry.figure_at<Bandwidth>("effective_link_bandwidth");
    tier.hop_latency = entry.figure_at<Seconds>("hop_latency");
    tier.bisection = entry.figure_at<Bandwidth>("bisection");
    tier.allreduce_bandwidth = entry.figure_at<Bandwidth>("allreduce_bandwidth");
    tier.pod_shape = entry.shape("pod_shape");
    tier.host_shape = entry.shape("host_shape");
    tier.max_job = entry.shape("max_job");
    tier.wrap_multiple = entry.whole("wrap_multiple", 1, 1'000'000, 0);
    tier.wrap_needs_blocks = entry.flag("wrap_needs_blocks");
    if (tier.wrap_needs_blocks && tier.wrap_multiple == 0) {
        entry.fault("wrap_needs_blocks", "missing_key",
                    "`wrap_needs_blocks` of [[network]] needs `wrap_multiple`, the side of a block",
                    "wrap_multiple = 4");
    }
    read_leaf(entry, inner, tier);
    // bounds assume that a link of a full mesh is the whole connection between two chips
    if (tier.topology == "full_mesh" && tier.domain > 1 && tier.links > 0 && tier.links != tier.domain - 1) {
        entry.fault("links", "contradiction",
                    fmt::format("a full mesh of {} chips has {} links per chip, one to each other chip", tier.domain,
                                tier.domain - 1),
                    "several ports to the same chip are one link: add their rates up in link_bandwidth");
    }
    tier.parts = entry.whole("parts", 1, many, 1);
    tier.wrap_rule = entry.text("wrap_rule");
    tier.note = entry.text("note");
    entry.finish();
    return tier;
}

void read_network(Reader& file, Machine& machine) {
    for (Reader& entry : file.each("network")) {
        NetworkTier tier = read_tier(entry, machine.network);
        const auto in = [&](std::span<const std::string_view> names) {
            return std::find(names.begin(), names.end(), tier.id) != names.end();
        };
        if (!tier.id.empty() && (!is_name(tier.id, "-") || in(level_ids) || in(reserved))) {
            entry.fault("tier", "bad_name", fmt::format("{} cannot name a tier", in_ticks(tier.id)),
                        "use letters, digits and '-', such as ici, nvlink, xgmi, dcn, ib or ethernet");
        } else if (machine.tier(tier.id) != nullptr) {
            entry.fault("tier", "duplicate", fmt::format("there are two tiers `{}`", tier.id));
        }
        machine.network.push_back(std::move(tier));
    }
}

void read_prices(Reader& file, const Citations& citations, Machine& machine) {
    for (Reader& entry : file.each("price")) {
        PriceQuote quote;
        quote.usd_per_chip_hour = entry.numbers("usd_per_chip_hour");
        if (!entry.has("usd_per_chip_hour")) {
            entry.fault("usd_per_chip_hour", "missing_key", "`usd_per_chip_hour` of [[price]] is missing",
                        "usd_per_chip_hour = 1.2, or a range [3.5, 5.0]");
        }
        quote.kind = entry.text("kind");
        quote.date = entry.text("date");
        quote.source = citations.resolve(entry.required_text("source"));
        quote.confidence = entry.confidence();
        entry.finish();
        if (!quote.usd_per_chip_hour.empty()) machine.prices.push_back(std::move(quote));
    }
}

/// The median of the quotes by the midpoints of their ranges; the lower one of two middle ones.
std::optional<Price> usual_price(const std::vector<PriceQuote>& quotes) {
    if (quotes.empty()) return std::nullopt;
    std::vector<double> midpoints;
    for (const PriceQuote& quote : quotes) {
        midpoints.push_back((quote.usd_per_chip_hour.front() + quote.usd_per_chip_hour.back()) / 2);
    }
    std::sort(midpoints.begin(), midpoints.end());
    return Price{midpoints[(midpoints.size() - 1) / 2] / 3600};
}

/// Unit of a measurement: a rate in FLOP/s or bytes/s, or a time. A bare number would not tell which.
std::string unit_of_measurement(std::string_view text) {
    if (parse_quantity<FlopRate>(text)) return "FLOP/s";
    return parse_quantity<Seconds>(text) ? "s" : "B/s";
}

void read_measured(Reader& file, Machine& machine) {
    auto table = file.inner("measured");
    if (!table) return;
    for (auto& [what, entry] : table->members()) {
        const std::string text = entry.has_text("value") ? entry.text("value") : "";
        const std::string unit = unit_of_measurement(text);
        if (entry.has("value") && text.find_first_not_of("0123456789.eE+- ") == std::string::npos) {
            entry.fault("value", "wrong_type", fmt::format("{} of [measured] needs a unit", in_ticks(what)),
                        "write it like \"794 TFLOP/s\", \"445 GB/s\" or \"90 ns\"");
            continue;
        }
        const ValueReader reader = unit == "FLOP/s" ? value_reader<FlopRate>()
                                   : unit == "s"    ? value_reader<Seconds>()
                                                    : value_reader<Bandwidth>();
        Measurement measurement{what, entry.figure(reader), unit};
        if (!entry.has("basis")) measurement.value.basis = Basis::measured;
        entry.finish();
        machine.measured.push_back(std::move(measurement));
    }
}

Machine read_machine(Reader& file, const Citations& citations) {
    Machine machine;
    read_identity(file, machine);
    if (auto unit = file.inner("matrix_unit")) {
        machine.matrix_unit = MatrixUnit{unit->whole("side", 1, 65536, 0), unit->whole("count_per_core", 1, many, 0)};
        if (!unit->has("side")) unit->fault("side", "missing_key", "`side` of [matrix_unit] is missing", "side = 128");
        unit->finish();
    }
    machine.clock = file.figure_at<Frequency>("clock");
    read_peaks(file, Unit::matmul, machine);
    read_peaks(file, Unit::vector, machine);
    update_pass_rates(machine);
    read_memory(file, machine);
    read_host(file, machine);
    read_network(file, machine);
    machine.power = file.figure_at<Power>("power");
    read_prices(file, citations, machine);
    machine.price = usual_price(machine.prices);
    read_measured(file, machine);
    static_cast<void>(file.inner("sources"));
    static_cast<void>(file.inner("calibration"));  // parse_machine_calibration() reads it
    file.finish();
    return machine;
}

}  // namespace

Machine parse_identity(const TomlInput& toml) {
    TomlFile text(toml, "");
    Reader file = text.root();
    Machine machine;
    read_identity(file, machine);
    return machine;
}

Result<Machine> parse_machine(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin, "texts stand between double quotes; docs/machines.md has an example");
    text.read_sources();
    Reader file = text.root();
    Machine machine = read_machine(file, text.citations());
    ROOFLINE_CHECK(text.status());
    machine.origin = origin;
    return machine;
}

}  // namespace roofline::core
