#include "report/trace/trace_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/machine/machine_roofs.hpp"
#include "report/page/page_sources.hpp"
#include "report/plot/plot.hpp"
#include "report/source_json.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_lines = 40;
constexpr std::size_t longest_name = 44;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

double total_of(const ProfileComparison& view, std::optional<double> (*what)(const TracedKernel&)) {
    double total = 0;
    for (const TracedKernel& kernel : view.kernels) total += what(kernel).value_or(0);
    return total;
}
double measured_total(const ProfileComparison& view) {
    return total_of(view, [](const TracedKernel& kernel) { return std::optional(kernel.measured_s); });
}
double lower_total(const ProfileComparison& view) {
    return total_of(view, [](const TracedKernel& kernel) { return kernel.lower_s; });
}

template <class Q>
void cell(TableRow& row, const std::optional<double>& value, std::string_view unit) {
    if (value) {
        row.number(to_text(Q{*value}), *value, unit);
    } else {
        row.text("-");
    }
}

// Removes arguments and template arguments, which would fill a line, from a C++ name.
std::string short_name(const std::string& name) {
    std::string_view text = name;
    if (text.starts_with("void ")) text.remove_prefix(5);
    const std::size_t end = text.find_first_of("<(");
    if (end != std::string_view::npos && end > 0) text = text.substr(0, end);
    return fitted(text, longest_name);
}

Table table_of(const ProfileComparison& view, std::size_t most) {
    Table table;
    table.head = {"kernel", "launches", "time", "share", "FLOPs", "bytes", "FLOP/B", "FLOP/s", "bound", "of its roof"};
    table.right = {false, true, true, true, true, true, true, true, false, true};
    const double all = measured_total(view);
    for (std::size_t i = 0; i < std::min(most, view.kernels.size()); ++i) {
        const TracedKernel& kernel = view.kernels[i];
        const auto fraction = kernel.roof_fraction();
        TableRow row(table);
        row.text(short_name(kernel.name), kernel.name).text(std::to_string(kernel.launches));
        row.number(to_text(Seconds{kernel.measured_s}), kernel.measured_s, "s");
        row.number(percent_text(kernel.measured_s / all) + " %", kernel.measured_s / all);
        cell<Flops>(row, kernel.flops, "FLOP");
        cell<Bytes>(row, kernel.bytes, "B");
        row.text(kernel.intensity() ? number_text(*kernel.intensity()) : "-");
        cell<FlopRate>(row, kernel.flop_per_s(), "FLOP/s");
        row.text(kernel.bound_by.empty() ? "-" : kernel.bound_by);
        row.text(fraction ? percent_text(*fraction) + " %" : "-");
    }
    return table;
}

std::string heading(const ProfileComparison& view) {
    return fmt::format("{}: {} kernel{} in {}, {}", view.profile, view.kernels.size(),
                       view.kernels.size() == 1 ? "" : "s", to_text(Seconds{measured_total(view)}), view.machine.name);
}

std::vector<std::string> remarks(const ProfileComparison& view) {
    std::vector<std::string> all;
    const double lower = lower_total(view);
    if (lower > 0) {
        all.push_back(fmt::format("on the roofline all kernels together would take {}, {} % of the measured time",
                                  to_text(Seconds{lower}), percent_text(lower / measured_total(view))));
    }
    if (view.kernels.size() > most_lines) {
        double rest = 0;
        for (std::size_t i = most_lines; i < view.kernels.size(); ++i) rest += view.kernels[i].measured_s;
        all.push_back(fmt::format("{} more kernels took {} together (all of them with --csv)",
                                  view.kernels.size() - most_lines, to_text(Seconds{rest})));
    }
    std::vector<std::string> faster;
    for (const TracedKernel& kernel : view.kernels) {
        const auto fraction = kernel.roof_fraction();
        if (!fraction || !(*fraction > 1.02)) continue;
        faster.push_back(*fraction > 2 ? fmt::format("{} ({} times)", short_name(kernel.name), number_text(*fraction))
                                       : short_name(kernel.name));
    }
    if (!faster.empty()) {
        constexpr std::size_t max_named = 10;
        const std::size_t more = faster.size() - std::min(faster.size(), max_named);
        faster.resize(faster.size() - more);
        all.push_back(fmt::format(
            "{}{} {} faster than {}: the machine is not the one that it ran on, a cache served bytes that were counted "
            "for memory, or the FLOPs are in another dtype",
            fmt::join(faster, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
            faster.size() + more == 1 ? "is" : "are", faster.size() + more == 1 ? "its roof" : "their roofs"));
    }
    std::vector<std::string> doubts;
    for (const TracedKernel& kernel : view.kernels) {
        if (kernel.doubt.empty() || std::find(doubts.begin(), doubts.end(), kernel.doubt) != doubts.end()) continue;
        doubts.push_back(kernel.doubt);
        all.push_back(fmt::format("{}: {}", short_name(kernel.name), kernel.doubt));
    }
    all.insert(all.end(), view.notes.begin(), view.notes.end());
    return all;
}

std::string trace_json(const ProfileComparison& view) {
    Json ops = Json::array();
    for (const TracedKernel& kernel : view.kernels) {
        Json op{{"name", kernel.name}, {"opcode", Json()}, {"count", kernel.launches}};
        op["flops"] = or_null(kernel.flops);
        op["bytes"] = or_null(kernel.bytes);
        op["intensity"] = or_null(kernel.intensity());
        op["lower_s"] = or_null(kernel.lower_s);
        op["expected_s"] = Json();
        op["measured_s"] = kernel.measured_s;
        op["bound_by"] = kernel.bound_by.empty() ? Json() : Json(kernel.bound_by);
        op["source"] = fmt::format("{}:{}", view.profile, kernel.line);
        ops.push_back(std::move(op));
    }
    Json root{{"schema", 1}, {"machine", view.machine.id}, {"profile", view.profile}, {"tool", view.tool}};
    // A table of kernels has none of what a time line has.
    for (const char* key : {"steps", "by_kind", "causes"}) root[key] = Json::array();
    root["ops"] = std::move(ops);
    root["total"] = {{"measured_s", measured_total(view)}, {"lower_s", lower_total(view)}};
    root["notes"] = remarks(view);
    root["sources"] = roof_sources_json(view.machine);
    return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string trace_csv(const ProfileComparison& view) {
    Table table;
    table.head = {"name",      "launches",   "measured_s", "flops",    "hbm_bytes",
                  "intensity", "flop_per_s", "lower_s",    "bound_by", "line"};
    const auto exact = [](const std::optional<double>& value) { return value ? exact_text(*value) : std::string(); };
    for (const TracedKernel& kernel : view.kernels) {
        table.rows.push_back({kernel.name, std::to_string(kernel.launches), exact_text(kernel.measured_s),
                              exact(kernel.flops), exact(kernel.bytes), exact(kernel.intensity()),
                              exact(kernel.flop_per_s()), exact(kernel.lower_s), kernel.bound_by,
                              std::to_string(kernel.line)});
    }
    return table_csv(table);
}

}  // namespace

std::string trace_text(const ProfileComparison& view) {
    std::string out = heading(view) + "\n\n" + table_text(table_of(view, most_lines), 2) + "\n";
    for (const std::string& remark : remarks(view)) out += "  note: " + wrapped(remark, 8, 4, page_width) + "\n";
    return out;
}

std::string trace_view(const ProfileComparison& view, Format format) {
    switch (format) {
        case Format::json:
            return trace_json(view);
        case Format::csv:
            return trace_csv(view);
        case Format::markdown: {
            std::string out = heading(view) + "\n\n" + table_markdown(table_of(view, most_lines)) + "\n";
            for (const std::string& remark : remarks(view)) out += fmt::format("- {}\n", remark);
            return out;
        }
        case Format::text:
            break;
    }
    return trace_text(view);
}

ReportPage trace_page(const ProfileComparison& view) {
    constexpr std::size_t most = 500;
    PageWriter page;
    page.title(fmt::format("Kernels of {} on {}", view.profile, view.machine.name));
    page.question("How close to their roofs are the kernels of this profile?");
    page.headline({"measured", to_text(Seconds{measured_total(view)}), "", exact_number(measured_total(view), "s")});
    if (const double lower = lower_total(view); lower > 0) {
        page.headline({"on the roofline", to_text(Seconds{lower}), "", exact_number(lower, "s")});
    }
    page.headline({"kernels", std::to_string(view.kernels.size())});
    page.section(PagePlace::answer, "Kernels on the roofline");
    page.picture(trace_plot(view));
    page.section(PagePlace::answer, "Kernels");
    page.table(table_of(view, most));
    for (const std::string& remark : remarks(view)) page.note(remark);
    PageSources sources;
    sources.add_roofs(view.machine);
    sources.write(page);
    return page.take();
}

std::string trace_plot(const ProfileComparison& view) {
    RooflinePlot plot;
    plot.title = "Kernels of " + view.profile;
    plot.subtitle = fmt::format("{}; measured; the longest kernels are labelled first", view.machine.name);
    plot.roofs = roofs_of(view.machine);
    plot.ceilings = ceilings_of(view.machine);
    for (const TracedKernel& kernel : view.kernels) {
        const auto intensity = kernel.intensity();
        const auto rate = kernel.flop_per_s();
        if (!intensity || !rate) continue;
        plot.points.push_back({short_name(kernel.name), *intensity, *rate, kernel.bound_by, false});
    }
    return to_svg(plot);
}

}  // namespace roofline::core
