#include "import/xprof_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "import/ncu_csv.hpp"
#include "import/op_profile.hpp"
#include "text/json.hpp"
#include "text/source.hpp"
#include "text/text_reader.hpp"

namespace roofline::core {

namespace {

enum class Xprof : std::uint8_t { step, operation, category, occurrences, time, self_time, flop_rate, hbm_rate, rate };
constexpr std::size_t xprof_columns = 9;

/// A column by the id that JSON has and the labels of CSV.
struct XprofColumn {
    std::string_view name;
    Xprof column;
};
constexpr XprofColumn xprof_names[] = {
    {"step", Xprof::step},
    {"Step", Xprof::step},
    {"operation", Xprof::operation},
    {"Operation", Xprof::operation},
    {"hlo_op_name", Xprof::operation},
    {"HLO op name", Xprof::operation},
    {"category", Xprof::category},
    {"Category", Xprof::category},
    {"HLO op category", Xprof::category},
    {"occurrences", Xprof::occurrences},
    {"# Occurrences", Xprof::occurrences},
    {"#Occurrences", Xprof::occurrences},
    {"total_time", Xprof::time},
    {"Total Time (us)", Xprof::time},
    {"Total time (us)", Xprof::time},
    {"total_self_time", Xprof::self_time},
    {"Total self time (us)", Xprof::self_time},
    {"model_flop_rate", Xprof::flop_rate},
    {"Model FLOP Rate (GFLOP/s)", Xprof::flop_rate},
    {"Model GFLOP/s", Xprof::flop_rate},
    {"hbm_bw", Xprof::hbm_rate},
    {"HBM BW (GiB/s)", Xprof::hbm_rate},
    {"measured_memory_bw", Xprof::rate},
    {"Memory BW (GiB/s)", Xprof::rate},
    {"Measured memory BW (GiB/s)", Xprof::rate},
};

/// Where each column stands; by Xprof.
using XprofPlaces = std::array<std::optional<std::size_t>, xprof_columns>;

XprofPlaces places_of(const std::vector<std::string>& names) {
    XprofPlaces places;
    for (std::size_t i = 0; i < names.size(); ++i) {
        for (const XprofColumn& known : xprof_names) {
            auto& place = places[static_cast<std::size_t>(known.column)];
            if (known.name == names[i] && !place) place = i;
        }
    }
    return places;
}

bool complete(const XprofPlaces& places) {
    const auto has = [&](Xprof column) { return places[static_cast<std::size_t>(column)].has_value(); };
    return has(Xprof::operation) && has(Xprof::category) && has(Xprof::time) && has(Xprof::flop_rate) &&
           (has(Xprof::hbm_rate) || has(Xprof::rate));
}

/// The cells of a row; a number that is not there is 0.
struct XprofRow {
    std::string step;
    std::string operation;
    std::string category;
    double occurrences = 0;
    double time_us = 0;
    double self_time_us = 0;
    double flop_rate = 0;  ///< GFLOP/s
    double hbm_rate = 0;   ///< GiB/s
    double rate = 0;
    int line = 0;
};

bool on_matrix_units(std::string_view category) {
    const std::string name = lowered(category);
    constexpr std::string_view words[] = {"convolution", "dot", "matmul", "gemm", "einsum", "conv"};
    return std::any_of(std::begin(words), std::end(words),
                       [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::optional<ProfiledKernel> kernel_of(const XprofRow& row, bool has_hbm) {
    constexpr double microsecond = 1e-6;
    constexpr double giga = 1e9;
    constexpr double gibi = 1024.0 * 1024 * 1024;
    if (row.category == "Program" || (!row.step.empty() && row.step != "Total")) return std::nullopt;
    // Time of the operations inside of it is theirs: a loop has none of its own.
    if (!(row.self_time_us > 0)) return std::nullopt;
    ProfiledKernel kernel;
    kernel.name = row.operation;
    kernel.launches = std::max<std::int64_t>(1, std::llround(std::min(row.occurrences, 1e15)));
    kernel.line = row.line;
    kernel.time_s = row.self_time_us * microsecond;
    const double seconds = row.time_us * microsecond;
    const double flops = row.flop_rate * giga * seconds;
    const double bytes = (has_hbm ? row.hbm_rate : row.rate) * gibi * seconds;
    constexpr double least = 1;
    if (bytes >= least) kernel.bytes["hbm"] = bytes;
    if (flops > 0) kernel.flops.push_back(xprof_flops(row.category, flops));
    return kernel;
}

class XprofCollector {
public:
    explicit XprofCollector(bool has_hbm) : has_hbm_(has_hbm) {}

    void add(const XprofRow& row) {
        auto kernel = kernel_of(row, has_hbm_);
        if (!kernel) return;
        matrix_ = matrix_ || std::any_of(kernel->flops.begin(), kernel->flops.end(),
                                         [](const KernelFlops& each) { return each.unit == Unit::matmul; });
        kernels_.add(std::move(*kernel));
    }

    KernelProfile take() {
        KernelProfile profile;
        profile.tool = "xprof";
        profile.kernels = kernels_.take();
        if (matrix_) profile.notes.emplace_back(xprof_dtype_note);
        return profile;
    }

private:
    bool has_hbm_;
    bool matrix_ = false;
    KernelCollector kernels_;
};

bool has_hbm(const XprofPlaces& places) { return places[static_cast<std::size_t>(Xprof::hbm_rate)].has_value(); }

/// A tool of xprof by a member of its object, or by the id of one of its columns.
struct XprofTool {
    std::string_view key;
    std::string_view name;
};
constexpr XprofTool members_of_tools[] = {
    {"hloModule", "memory_viewer"},
    {"heapSizes", "memory_viewer"},
    {"podStatsSequence", "pod_viewer"},
    {"memoryProfilePerAllocator", "memory_profile"},
};
constexpr XprofTool columns_of_tools[] = {
    {"stepnum", "input_pipeline"},
    {"infeedPercentAverage", "input_pipeline"},
    {"selfTimePercent", "overview_page"},
    {"registers_per_thread", "kernel_stats"},
    {"host_or_device", "framework_op_stats"},
};

std::string_view tool_with(const XprofTool* begin, const XprofTool* end, const FileValue& table) {
    const auto* const found =
        std::find_if(begin, end, [&](const XprofTool& each) { return table.find(each.key) != nullptr; });
    return found == end ? std::string_view() : found->name;
}

class XprofJson {
public:
    XprofJson(std::string_view text, const std::string& name) : source_(text, name) {}

    Result<KernelProfile> read(const FileValue& root) {
        const FileValue* const table = root.is(FileValue::Kind::list) ? find_table(root.items) : &root;
        const FileValue* const rows = table == nullptr ? nullptr : table->find("rows");
        if (rows == nullptr || !rows->is(FileValue::Kind::list)) return no_table(root);
        places_ = places_of(names_of(*table));
        if (!complete(places_)) return no_table(*table);
        XprofCollector kernels(has_hbm(places_));
        for (const FileValue& row : rows->items) {
            ROOFLINE_TRY(const XprofRow cells, read_row(row));
            kernels.add(cells);
        }
        return kernels.take();
    }

private:
    [[nodiscard]] tl::unexpected<Error> no_table(const FileValue& at) const {
        if (const std::string_view tool = other_tool(at); !tool.empty()) {
            return source_.fail_at(
                source_.span(at.offset), "unknown_table",
                fmt::format("this is {} of xprof, which has no operations with their times and FLOPs", tool),
                tool == "memory_viewer" ? "roofline hlo reads the module itself, with its memory; for times export "
                                          "hlo_stats, roofline_model or op_profile"
                                        : "export hlo_stats, roofline_model or op_profile of the same profile");
        }
        return source_.fail_at(source_.span(at.offset), "unknown_table", "this is no table of operations of xprof",
                               "roofline_model and hlo_stats have operations with their times and rates");
    }

    /// Which other tool of xprof it is; "" if that is not known.
    static std::string_view other_tool(const FileValue& root) {
        const std::string_view by_member = tool_with(std::begin(members_of_tools), std::end(members_of_tools), root);
        if (!by_member.empty()) return by_member;
        const auto in_columns = [](const FileValue& table) {
            for (const std::string& column : names_of(table)) {
                for (const XprofTool& tool : columns_of_tools) {
                    if (tool.key == column) return tool.name;
                }
            }
            return std::string_view();
        };
        for (const FileValue& table : root.items) {
            if (const std::string_view tool = in_columns(table); !tool.empty()) return tool;
        }
        return in_columns(root);
    }

    static std::vector<std::string> names_of(const FileValue& table) {
        std::vector<std::string> names;
        const FileValue* const columns = table.find("cols");
        if (columns == nullptr) return names;
        for (const FileValue& column : columns->items) {
            const FileValue* const id = column.find("id");
            names.push_back(id == nullptr ? "" : id->text);
        }
        return names;
    }

    static const FileValue* find_table(const std::vector<FileValue>& tables) {
        const auto found = std::find_if(tables.begin(), tables.end(),
                                        [](const FileValue& each) { return complete(places_of(names_of(each))); });
        return found == tables.end() ? nullptr : &*found;
    }

    // A cell is {"v": value}, or null.
    [[nodiscard]] const FileValue* cell(const FileValue& row, Xprof column) const {
        const auto place = places_[static_cast<std::size_t>(column)];
        const FileValue* const cells = row.find("c");
        if (!place || cells == nullptr || *place >= cells->items.size()) return nullptr;
        return cells->items[*place].find("v");
    }

    Result<XprofRow> read_row(const FileValue& row) const {
        XprofRow made;
        made.line = 1;
        const auto text = [&](Xprof column) {
            const FileValue* const value = cell(row, column);
            return value == nullptr ? std::string() : value->text;
        };
        made.step = text(Xprof::step);
        made.operation = text(Xprof::operation);
        made.category = text(Xprof::category);
        const std::pair<Xprof, double*> numbers[] = {
            {Xprof::occurrences, &made.occurrences}, {Xprof::time, &made.time_us},
            {Xprof::self_time, &made.self_time_us},  {Xprof::flop_rate, &made.flop_rate},
            {Xprof::hbm_rate, &made.hbm_rate},       {Xprof::rate, &made.rate}};
        for (const auto& [column, into] : numbers) {
            const FileValue* const value = cell(row, column);
            if (value == nullptr || value->is_null()) continue;
            if (!value->is_number() || !(value->real >= 0) || std::isinf(value->real)) {
                return source_.fail_at(source_.span(value->offset), "bad_number", "this is no number of at least zero");
            }
            *into = value->real;
        }
        if (!places_[static_cast<std::size_t>(Xprof::self_time)]) made.self_time_us = made.time_us;
        return made;
    }

    Source source_;
    XprofPlaces places_;
};

}  // namespace

bool is_xprof_json(std::string_view beginning) {
    constexpr std::string_view marks[] = {
        "\"cols\"",      "\"byCategory",  "\"byProgram",          "\"byProvenance",
        "\"hloModule\"", "\"heapSizes\"", "\"podStatsSequence\"", "\"memoryProfilePerAllocator\""};
    return beginning.find("\"traceEvents\"") == std::string_view::npos &&
           std::any_of(std::begin(marks), std::end(marks),
                       [&](std::string_view mark) { return beginning.find(mark) != std::string_view::npos; });
}

KernelFlops xprof_flops(std::string_view category, double flops) {
    const bool matrix = on_matrix_units(category);
    return {matrix ? Unit::matmul : Unit::vector, matrix ? Dtype::bf16 : Dtype::f32, flops};
}

bool is_xprof_table(const std::vector<std::string>& columns) { return complete(places_of(columns)); }

Result<KernelProfile> read_xprof_json(std::string_view text, const std::string& source) {
    ROOFLINE_TRY(const FileValue root, parse_json(text, source));
    if (is_op_profile(root)) return read_op_profile(root, text, source);
    return XprofJson(text, source).read(root);
}

Result<KernelProfile> read_xprof_table(CsvReader& reader) {
    const XprofPlaces places = places_of(reader.header());
    XprofCollector kernels(has_hbm(places));
    while (true) {
        ROOFLINE_TRY(const auto more, reader.next());
        if (!more) break;
        const auto field = [&](Xprof column) -> const CsvField* {
            const auto place = places[static_cast<std::size_t>(column)];
            return place ? &reader.record()[*place] : nullptr;
        };
        const auto text = [&](Xprof column) {
            return field(column) == nullptr ? std::string() : std::string(trimmed(field(column)->text));
        };
        XprofRow row;
        row.line = reader.line();
        row.step = text(Xprof::step);
        row.operation = text(Xprof::operation);
        row.category = text(Xprof::category);
        const std::pair<Xprof, double*> numbers[] = {
            {Xprof::occurrences, &row.occurrences}, {Xprof::time, &row.time_us},
            {Xprof::self_time, &row.self_time_us},  {Xprof::flop_rate, &row.flop_rate},
            {Xprof::hbm_rate, &row.hbm_rate},       {Xprof::rate, &row.rate}};
        for (const auto& [column, into] : numbers) {
            if (field(column) == nullptr || trimmed(field(column)->text).empty()) continue;
            const auto value = number_in(trimmed(field(column)->text));
            if (!value || !(*value >= 0)) {
                return reader.fail_at(field(column)->offset, "bad_number", "this is no number of at least zero");
            }
            *into = *value;
        }
        if (!places[static_cast<std::size_t>(Xprof::self_time)]) row.self_time_us = row.time_us;
        kernels.add(row);
    }
    return kernels.take();
}

}  // namespace roofline::core
