// Reads roofline.csv of rocprof-compute: a line per device, and columns for the mean of each figure and the ends of its
// confidence interval.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/ascii.hpp"
#include "import/tool_readers.hpp"
#include "machine/rocprof_columns.hpp"

namespace roofline::core {

namespace {

/// The kinds of figures that a column has, by its name; empty for other columns.
std::vector<std::variant<ToolRate, ToolBandwidth>> meanings(std::string_view column) {
    std::vector<std::variant<ToolRate, ToolBandwidth>> all;
    const std::string name = lowered(column);
    for (const RocprofLevel& each : rocprof_levels) {
        if (lowered(each.column) == name) all.emplace_back(ToolBandwidth{std::string(each.level), 0, 0});
    }
    for (const RocprofRate& each : rocprof_rates) {
        if (lowered(each.column) == name) all.emplace_back(ToolRate{each.unit, each.dtype});
    }
    return all;
}

bool is_bound(std::string_view name) { return name.ends_with("low") || name.ends_with("high"); }

struct DeviceValue {
    double value = 0;
    std::size_t offset = 0;
};

/// Reads a value. Empty: the tool did not measure it (0, N/A, nan).
Result<std::optional<DeviceValue>> value_at(const CsvReader& reader, std::size_t column) {
    const CsvField& field = reader.record()[column];
    const std::string text = lowered(trimmed(field.text));
    if (text.empty() || text == "n/a" || text == "nan" || text == "none") return std::nullopt;
    const auto value = number_in(text);
    if (!value || *value < 0) {
        return reader.fail_at(field.offset, "bad_number",
                              fmt::format("{} is not a number in GB/s or GFLOP/s", in_ticks(trimmed(field.text))),
                              "a figure that was not measured is 0 or N/A");
    }
    if (*value == 0) return std::nullopt;
    return DeviceValue{*value * 1e9, field.offset};
}

std::optional<std::size_t> column_of(const std::vector<std::string>& header, const std::string& wanted) {
    for (std::size_t i = 0; i < header.size(); ++i) {
        if (lowered(header[i]) == wanted) return i;
    }
    return std::nullopt;
}

/// One column over all devices.
struct RocprofColumn {
    std::size_t index = 0;
    std::vector<DeviceValue> values;
    double low = 0;  ///< of the first device
    double high = 0;
};

ToolFigure figure_of(const std::string& name, RocprofColumn& column) {
    auto& values = column.values;
    std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
    const DeviceValue& median = values[(values.size() - 1) / 2];
    ToolFigure figure;
    figure.name = name;
    figure.value = median.value;
    figure.offset = median.offset;
    if (values.size() > 1) {
        figure.low = values.front().value;
        figure.high = values.back().value;
        figure.note = fmt::format("median of {} devices", values.size());
    } else {
        figure.low = column.low;
        figure.high = column.high;
    }
    return figure;
}

Status read_device(const CsvReader& reader, std::vector<RocprofColumn>& columns) {
    for (RocprofColumn& column : columns) {
        ROOFLINE_TRY(auto value, value_at(reader, column.index));
        if (!value) continue;
        if (column.values.empty()) {
            const std::string name = lowered(reader.header()[column.index]);
            for (const auto& [suffix, bound] : {std::pair{"low", &column.low}, std::pair{"high", &column.high}}) {
                const auto at = column_of(reader.header(), name + suffix);
                if (!at) continue;
                ROOFLINE_TRY(auto limit, value_at(reader, *at));
                if (limit) *bound = (limit)->value;
            }
        }
        column.values.push_back(*value);
    }
    return {};
}

}  // namespace

bool is_rocprof_table(const std::vector<std::string>& columns) {
    return (column_of(columns, "device") || column_of(columns, "devid")) &&
           std::any_of(columns.begin(), columns.end(), [](const auto& name) { return !meanings(name).empty(); });
}

Result<ToolFigures> read_rocprof_table(CsvReader& reader) {
    ToolFigures figures;
    figures.tool = "rocprof-compute";
    std::vector<RocprofColumn> columns;
    for (std::size_t i = 0; i < reader.header().size(); ++i) {
        const std::string name = lowered(reader.header()[i]);
        if (!meanings(name).empty()) {
            columns.push_back({i, {}, 0, 0});
        } else if (!is_bound(name) && name != "device" && name != "devid") {
            figures.left_out.push_back(fmt::format("{} (a machine file has no such figure)", reader.header()[i]));
        }
    }
    while (true) {
        ROOFLINE_TRY(const auto more, reader.next());
        if (!more) break;
        ROOFLINE_CHECK(read_device(reader, columns));
    }
    for (RocprofColumn& column : columns) {
        if (column.values.empty()) {
            figures.left_out.push_back(fmt::format("{} (not measured)", reader.header()[column.index]));
            continue;
        }
        ToolFigure figure = figure_of(reader.header()[column.index], column);
        for (auto& what : meanings(figure.name)) {
            figure.what = std::move(what);
            figures.figures.push_back(figure);
        }
    }
    return figures;
}

}  // namespace roofline::core
