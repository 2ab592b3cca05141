#include "report/machine/machine_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "machine/rocprof_columns.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

/// The names of memory levels in ERT, in the order in which it writes them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> ert_levels{
    {{"L1", "l1"}, {"L2", "l2"}, {"L3", "l3"}, {"DRAM", "hbm"}}};
constexpr std::array<std::pair<std::string_view, Dtype>, 3> ert_rates{
    {{"FP64 GFLOPs", Dtype::f64}, {"FP32 GFLOPs", Dtype::f32}, {"FP16 GFLOPs", Dtype::f16}}};

/// Returns the bandwidths and rates of the machine. Their places in the other format are still unset.
std::vector<ExportedFigure> figures_of(const Machine& machine) {
    std::vector<ExportedFigure> figures;
    for (const MemoryLevel& level : machine.memory) {
        if (level.bandwidth.value) figures.push_back({level.id + ".bandwidth", to_text(*level.bandwidth.value), ""});
    }
    for (const Peak& peak : machine.peaks) {
        // A dtype may have several accumulators; only the default one is exported.
        if (!peak.rate.value || machine.peak(peak.unit, peak.dtype) != &peak) continue;
        figures.push_back({fmt::format("{}.{}", name(peak.unit), name(peak.dtype)), to_text(*peak.rate.value), ""});
    }
    for (const NetworkTier& tier : machine.network) {
        const auto& rate = tier.link_bandwidth.value ? tier.link_bandwidth : tier.chip_bandwidth;
        if (rate.value) figures.push_back({tier.id + ".bandwidth", to_text(*rate.value), ""});
    }
    return figures;
}

void put(MachineExport& made, const std::string& path, const std::string& place) {
    for (ExportedFigure& figure : made.figures) {
        if (figure.path == path) figure.place = place;
    }
}

double giga(double value) { return value / 1e9; }

double bandwidth(const Machine& machine, std::string_view level) {
    const MemoryLevel* found = machine.level(level);
    return found != nullptr && found->bandwidth.value ? found->bandwidth.value->value : 0;
}

double rate(const Machine& machine, Unit unit, Dtype dtype) {
    const Peak* peak = machine.peak(unit, dtype);
    return peak != nullptr && peak->rate.value ? peak->rate.value->value : 0;
}

Table table_of(const std::vector<MachineExport>& exports) {
    Table table;
    table.head = {"file", "figure", "value", "written as"};
    table.right = {false, false, true};
    for (const MachineExport& made : exports) {
        for (const ExportedFigure& figure : made.figures) {
            table.rows.push_back(
                {made.file, figure.path, figure.text,
                 figure.place.empty() ? fmt::format("- {} has no field for it", made.format) : figure.place});
        }
    }
    return table;
}

std::string export_json(const Machine& machine, const std::vector<MachineExport>& exports) {
    Json files = Json::array();
    for (const MachineExport& made : exports) {
        Json written = Json::array();
        Json left_out = Json::array();
        for (const ExportedFigure& figure : made.figures) {
            if (figure.place.empty()) {
                left_out.push_back(figure.path);
            } else {
                written.push_back({{"figure", figure.path}, {"as", figure.place}});
            }
        }
        files.push_back({{"file", made.file}, {"format", made.format}, {"written", written}, {"left_out", left_out}});
    }
    const Json root{{"schema", 1}, {"machine", machine.id}, {"exports", files}};
    return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

MachineExport ert_json(const Machine& machine, const std::string& file) {
    MachineExport made{"ERT", file, "", figures_of(machine)};
    Json bytes = Json::array();
    for (const auto& [label, level] : ert_levels) {
        const double value = bandwidth(machine, level);
        if (value <= 0) continue;
        bytes.push_back(Json::array({label, giga(value)}));
        put(made, std::string(level) + ".bandwidth", fmt::format("gbytes {}", label));
    }
    Json flops = Json::array();
    for (const auto& [label, dtype] : ert_rates) {
        const double value = rate(machine, Unit::vector, dtype);
        if (value <= 0) continue;
        flops.push_back(Json::array({label, giga(value)}));
        put(made, fmt::format("vector.{}", name(dtype)), fmt::format("gflops {}", label));
    }
    Json root;
    root["empirical"]["metadata"] = {{"MACHINE", machine.name}};
    root["empirical"]["gbytes"]["data"] = std::move(bytes);
    root["empirical"]["gflops"]["data"] = std::move(flops);
    made.text = root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    return made;
}

MachineExport rocprof_csv(const Machine& machine, const std::string& file) {
    MachineExport made{"rocprof-compute", file, "", figures_of(machine)};
    std::string header = "device";
    std::string row = "0";
    const auto add = [&](std::string_view column, const std::string& path, double value) {
        header += fmt::format(",{0},{0}Low,{0}High", column);
        row += fmt::format(",{0},{0},{0}", giga(value));
        if (value > 0) put(made, path, std::string(column));
    };
    for (const RocprofLevel& each : rocprof_levels) {
        add(each.column, std::string(each.level) + ".bandwidth", bandwidth(machine, each.level));
    }
    for (const RocprofRate& each : rocprof_rates) {
        if (!each.written) continue;
        add(each.column, fmt::format("{}.{}", name(each.unit), name(each.dtype)), rate(machine, each.unit, each.dtype));
    }
    made.text = header + "\n" + row + "\n";
    return made;
}

std::string export_view(const Machine& machine, const std::vector<MachineExport>& exports, Format format) {
    switch (format) {
        case Format::json:
            return export_json(machine, exports);
        case Format::csv:
            return table_csv(table_of(exports));
        case Format::markdown:
            return machine.name + "\n\n" + table_markdown(table_of(exports));
        case Format::text:
            break;
    }
    return machine.name + "\n\n" + table_text(table_of(exports), 2);
}

}  // namespace roofline::core
