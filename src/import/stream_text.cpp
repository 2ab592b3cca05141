// Reads the output of STREAM and BabelStream: the rate of each kernel over three arrays.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/ascii.hpp"
#include "import/tool_readers.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr double arrays = 3;

bool is_kernel(std::string_view name) {
    static constexpr std::array<std::string_view, 7> kernels{"copy", "scale", "add", "triad", "mul", "dot", "nstream"};
    return std::find(kernels.begin(), kernels.end(), name) != kernels.end();
}

/// Factor of the unit that a heading names, in bytes per second; 0 if it names none.
double unit_in(std::string_view heading) {
    const std::string text = lowered(heading);
    static constexpr std::array<std::pair<std::string_view, double>, 6> units{{{"mibytes/sec", 1048576},
                                                                               {"gibytes/sec", 1073741824},
                                                                               {"mbytes/sec", 1e6},
                                                                               {"gbytes/sec", 1e9},
                                                                               {"rate mb/s", 1e6},
                                                                               {"rate (mb/s)", 1e6}}};
    for (const auto& [name, bytes] : units) {
        if (text.find(name) != std::string::npos) return bytes;
    }
    return 0;
}

bool is_heading(std::string_view line) { return trimmed(line).starts_with("Function") && unit_in(line) > 0; }

/// The number that follows `key` in the line.
std::optional<double> number_following(std::string_view line, std::string_view key) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = trimmed(line.substr(at + key.size()));
    return number_in(rest.substr(0, rest.find_first_of(" \t")));
}

struct StreamRun {
    double element = 0;      ///< bytes per element
    double array = 0;        ///< elements per array
    double array_bytes = 0;  ///< bytes per array, if the tool prints them
    double total = 0;        ///< bytes of all arrays
    double threads = 0;

    [[nodiscard]] double working_set() const {
        return total > 0 ? total : array_bytes > 0 ? arrays * array_bytes : arrays * array * element;
    }
};

// Bytes in lines such as "Array size: 268.4 MB (=0.3 GB)", "Total size: 805.3 MB".
double bytes_after(std::string_view line, std::string_view key) {
    const auto value = number_following(line, key);
    if (!value) return 0;
    return *value * (line.find(" MiB") != std::string_view::npos  ? 1048576
                     : line.find(" KB") != std::string_view::npos ? 1e3
                                                                  : 1e6);
}

void take_setting(std::string_view line, StreamRun& run) {
    if (const auto bytes = number_following(line, "This system uses")) run.element = *bytes;
    if (const auto size = number_following(line, "Array size =")) run.array = *size;
    if (const auto count = number_following(line, "Number of Threads requested =")) run.threads = *count;
    if (const auto count = number_following(line, "Number of Threads counted =")) run.threads = *count;
    if (const double bytes = bytes_after(line, "Array size:"); bytes > 0) run.array_bytes = bytes;
    if (const double bytes = bytes_after(line, "Total size:"); bytes > 0) run.total = bytes;
}

// The device in lines such as "Using CUDA device NVIDIA H100 80GB HBM3".
std::string device_in(std::string_view line) {
    const std::size_t at = line.find(" device ");
    if (!line.starts_with("Using ") || at == std::string_view::npos) return "";
    return std::string(trimmed(line.substr(at + 8)).substr(0, 100));
}

ToolFigure stream_figure(std::string_view kernel, double rate, std::size_t offset, const StreamRun& run) {
    ToolFigure figure;
    figure.name = kernel;
    figure.value = rate;
    figure.offset = offset;
    const auto threads = static_cast<std::int64_t>(run.threads < 1e9 ? run.threads : 0);
    figure.what = ToolBandwidth{"", run.working_set(), threads};
    if (threads > 0) figure.note = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
    if (run.working_set() > 0) {
        figure.note +=
            fmt::format("{}arrays of {} together", figure.note.empty() ? "" : ", ", to_text(Bytes{run.working_set()}));
    }
    return figure;
}

tl::unexpected<Error> failed_validation(const TextReader& reader) {
    return reader.fail_at(reader.offset(), "failed_run", "the run reports that its results are wrong",
                          "its rates are meaningless: fix it and measure again");
}

}  // namespace

bool is_stream_text(std::string_view text) {
    for (std::size_t at = text.find("Function"); at != std::string_view::npos; at = text.find("Function", at + 1)) {
        if (is_heading(text.substr(at, text.find('\n', at) - at))) return true;
    }
    return false;
}

Result<ToolFigures> read_stream_text(TextReader& reader) {
    ToolFigures figures;
    figures.tool = "STREAM";
    StreamRun run;
    double unit = 0;
    while (reader.next()) {
        const std::string_view line = trimmed(reader.line());
        if (line == "BabelStream") figures.tool = "BabelStream";
        if (line.starts_with("Failed Validation") || line.starts_with("Validation failed"))
            return failed_validation(reader);
        if (is_heading(line)) {
            unit = unit_in(line);
            continue;
        }
        take_setting(line, run);
        if (const std::string device = device_in(line); !device.empty()) figures.device = device;
        const auto words = reader.words();
        if (unit <= 0 || words.size() < 2) continue;
        std::string name = lowered(words[0].text);
        if (name.ends_with(':')) name.pop_back();
        if (!is_kernel(name)) continue;
        const auto rate = number_in(words[1].text);
        if (!rate || *rate <= 0) {
            return reader.fail_at(words[1].offset, "bad_number",
                                  fmt::format("{} is not a rate", in_ticks(words[1].text)));
        }
        figures.figures.push_back(stream_figure(name, *rate * unit, words[1].offset, run));
    }
    return figures;
}

bool is_babelstream_table(const std::vector<std::string>& columns) {
    const auto has = [&](std::string_view name) {
        return std::find(columns.begin(), columns.end(), name) != columns.end();
    };
    return has("function") && has("n_elements") && has("sizeof") &&
           (has("max_mbytes_per_sec") || has("max_mibytes_per_sec"));
}

Result<ToolFigures> read_babelstream_table(CsvReader& reader) {
    ToolFigures figures;
    figures.tool = "BabelStream";
    const auto& columns = reader.header();
    const auto at = [&](std::string_view name) {
        return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
    };
    const bool binary = at("max_mbytes_per_sec") == columns.size();
    const std::size_t rate_at = binary ? at("max_mibytes_per_sec") : at("max_mbytes_per_sec");
    while (true) {
        ROOFLINE_TRY(const auto more, reader.next());
        if (!more) return figures;
        const auto number = [&](std::size_t index) { return number_in(trimmed(reader.record()[index].text)); };
        const CsvField& field = reader.record()[rate_at];
        const auto rate = number(rate_at);
        if (!rate || *rate <= 0) {
            return reader.fail_at(field.offset, "bad_number",
                                  fmt::format("{} is not a rate", in_ticks(trimmed(field.text))));
        }
        StreamRun run;
        run.element = number(at("sizeof")).value_or(0);
        run.array = number(at("n_elements")).value_or(0);
        const std::string name = lowered(trimmed(reader.record()[at("function")].text));
        if (!is_kernel(name)) {
            figures.left_out.push_back(fmt::format("{} (not a kernel of BabelStream)", in_ticks(name)));
            continue;
        }
        figures.figures.push_back(stream_figure(name, *rate * (binary ? 1048576 : 1e6), field.offset, run));
    }
}

}  // namespace roofline::core
