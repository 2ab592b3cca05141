#include "import/tool_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "import/tool_readers.hpp"
#include "machine/plausible.hpp"
#include "text/source.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr const char* known_tools =
    "rocprof-compute's roofline.csv, ERT's roofline.json, and the output of likwid-bench, STREAM and BabelStream are "
    "read";

tl::unexpected<Error> unknown(std::string_view text, const std::string& source) {
    const Source place(text, source);
    return place.fail_at({1, 1}, "unknown_file", "the file is not the output of a supported tool", known_tools);
}

Result<ToolFigures> read_any(std::string_view text, const std::string& source) {
    const std::string_view content = trimmed(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text);
    if (content.empty()) return fail("empty_file", fmt::format("{} is empty", source), known_tools);
    if (content.front() == '{' || content.front() == '[') {
        ROOFLINE_TRY(auto root, parse_json(text, source));
        if (!is_ert(root)) return unknown(text, source);
        return read_ert(root, text, source);
    }
    if (is_likwid_bench(text) || is_stream_text(text)) {
        ROOFLINE_TRY(auto reader, TextReader::open(text, source));
        return is_likwid_bench(text) ? read_likwid_bench(reader) : read_stream_text(reader);
    }
    auto reader = CsvReader::open(text, source);
    if (!reader) return unknown(text, source);
    if (is_rocprof_table(reader->header())) return read_rocprof_table(*reader);
    if (is_babelstream_table(reader->header())) return read_babelstream_table(*reader);
    return unknown(text, source);
}

}  // namespace

std::string implausible(const ToolFigure& figure) {
    const bool rate = std::holds_alternative<ToolRate>(figure.what);
    const Plausible bounds = rate ? plausible<FlopRate> : plausible<Bandwidth>;
    // The units of a tool are fixed: a value below a million FLOP/s or bytes/s must be something else.
    if (figure.value >= 1e6 && figure.value <= bounds.most) return "";
    return fmt::format("{} of {} is out of the range for one chip", figure.name,
                       rate ? to_text(FlopRate{figure.value}) : to_text(Bandwidth{figure.value}));
}

Result<ToolFigures> read_tool_figures(std::string_view text, const std::string& source) {
    ROOFLINE_TRY(auto figures, read_any(text, source));
    const Source place(text, source);
    for (const ToolFigure& figure : figures.figures) {
        if (const std::string wrong = implausible(figure); !wrong.empty()) {
            return place.fail_at(place.span(figure.offset), "out_of_range", wrong,
                                 fmt::format("are the units those of {}?", figures.tool));
        }
    }
    if (figures.figures.empty()) {
        return place.fail_at({1, 1}, "no_figures", fmt::format("this {} output contains no figure", figures.tool),
                             "was the tool interrupted?");
    }
    return figures;
}

}  // namespace roofline::core
