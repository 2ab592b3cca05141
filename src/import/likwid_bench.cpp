// Reads the output of likwid-bench: one or more runs, each with a test's name, threads, working set and rates.
#include <fmt/format.h>

#include "base/ascii.hpp"
#include "import/tool_readers.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// The number after "MByte/s:" and its position.
struct LikwidNumber {
    double value = 0;
    std::size_t offset = 0;
};

struct LikwidRun {
    std::string test;
    double threads = 0;
    double size = 0;  ///< bytes of all threads together
    LikwidNumber flops;
    LikwidNumber bytes;
};

constexpr std::string_view heading = "LIKWID MICRO BENCHMARK";

Result<LikwidNumber> number_after(const TextReader& reader, std::size_t colon) {
    const std::string_view text = trimmed(reader.line().substr(colon + 1));
    const std::string_view digits = text.substr(0, text.find_first_of(" \t"));
    const auto value = number_in(digits);
    if (value && *value >= 0) return LikwidNumber{*value, reader.offset_of(digits)};
    return reader.fail_at(reader.offset(), "bad_number",
                          fmt::format("{} has no number", in_ticks(trimmed(reader.line()))));
}

/// Reads what a line says about the run.
Status take_line(const TextReader& reader, LikwidRun& run) {
    const std::string_view line = trimmed(reader.line());
    if (line.starts_with("Test:")) {
        run.test = trimmed(line.substr(5)).substr(0, 100);
        return {};
    }
    if (line.starts_with("Using ") && line.ends_with(" threads")) {
        run.threads = number_in(trimmed(line.substr(6, line.size() - 14))).value_or(0);
        return {};
    }
    const std::size_t colon = reader.line().find(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view key = trimmed(reader.line().substr(0, colon));
    const bool size = key == "Size (Byte)" || key == "Size";
    if (!size && key != "MFlops/s" && key != "MByte/s") return {};
    ROOFLINE_TRY(auto number, number_after(reader, colon));
    if (size) run.size = number.value;
    if (key == "MFlops/s") run.flops = number;
    if (key == "MByte/s") run.bytes = number;
    return {};
}

void finish(const LikwidRun& run, ToolFigures& figures) {
    if (run.test.empty()) return;
    const bool peak = run.test.starts_with("peakflops");
    const LikwidNumber& number = peak ? run.flops : run.bytes;
    if (number.value <= 0) {
        figures.left_out.push_back(fmt::format("{} (its output is cut off)", run.test));
        return;
    }
    ToolFigure figure;
    figure.name = run.test;
    figure.value = number.value * 1e6;
    figure.offset = number.offset;
    const auto threads = static_cast<std::int64_t>(run.threads < 1e9 ? run.threads : 0);
    figure.note = fmt::format("{} thread{}{}", threads, threads == 1 ? "" : "s",
                              run.size > 0 ? ", " + to_text(Bytes{run.size}) : "");
    // likwid marks single-precision tests with _sp; the others use doubles
    const bool single = run.test.find("_sp") != std::string::npos;
    if (peak) {
        figure.what = ToolRate{Unit::vector, single ? Dtype::f32 : Dtype::f64};
    } else {
        figure.what = ToolBandwidth{"", run.size, threads};
    }
    figures.figures.push_back(std::move(figure));
}

}  // namespace

bool is_likwid_bench(std::string_view text) { return text.find(heading) != std::string_view::npos; }

Result<ToolFigures> read_likwid_bench(TextReader& reader) {
    ToolFigures figures;
    figures.tool = "likwid-bench";
    LikwidRun run;
    bool inside = false;
    while (reader.next()) {
        if (reader.line().find(heading) != std::string_view::npos) {
            finish(run, figures);
            run = {};
            inside = true;
        } else if (inside) {
            ROOFLINE_CHECK(take_line(reader, run));
        }
    }
    finish(run, figures);
    return figures;
}

}  // namespace roofline::core
