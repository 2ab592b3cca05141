#include "report/op/op_plot.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/plot/plot.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

std::string title_of(const OpAnswer& answer) {
    const std::string& title = answer.analysis.total.title;
    if (title.empty())
        return fmt::format("{}{} kernels", answer.name.empty() ? "" : answer.name + ", ",
                           answer.analysis.work.kernels.size());
    return fitted(title, 80);
}

// "D = F = 4096" of the dimensions that are not swept.
std::string sizes_text(const OpAnswer& answer, const std::vector<SweepAxis>& axes) {
    std::vector<std::string> sizes;
    for (const std::string& dim : answer.program.dims) {
        const bool swept = std::any_of(axes.begin(), axes.end(), [&](const SweepAxis& axis) {
            return std::find(axis.dims.begin(), axis.dims.end(), dim) != axis.dims.end();
        });
        const auto size = answer.program.sizes.find(dim);
        if (!swept && size != answer.program.sizes.end()) sizes.push_back(fmt::format("{} = {}", dim, size->second));
    }
    return fmt::format("{}", fmt::join(sizes, ", "));
}

// One flat ceiling for each rate; dtypes that share it share its label.
std::vector<PlotCeiling> ceilings_of(const Machine& machine) {
    struct Entry {
        Unit unit;
        double rate;
        std::vector<std::string> dtypes;
        bool low = false;
    };
    std::vector<Entry> entries;
    for (const Peak& peak : machine.peaks) {
        if (!peak.rate.value || machine.peak(peak.unit, peak.dtype) != &peak) continue;
        const double rate = peak.rate.value->value;
        const auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
            return entry.unit == peak.unit && entry.rate == rate;
        });
        if (same != entries.end()) {
            same->dtypes.emplace_back(name(peak.dtype));
            same->low = same->low || peak.rate.low_confidence();
        } else {
            entries.push_back({peak.unit, rate, {std::string(name(peak.dtype))}, peak.rate.low_confidence()});
        }
    }
    std::vector<PlotCeiling> ceilings;
    for (const Entry& entry : entries) {
        ceilings.push_back({fmt::format("{} {}", fmt::join(entry.dtypes, ", "), name(entry.unit)), entry.rate,
                            entry.unit == Unit::vector, entry.low});
    }
    return ceilings;
}

PlotPoint point_of(std::string label, double flops, double bytes, const Bounds& bounds, const Pricing& pricing) {
    const std::string bound = bounds.bound_by ? pricing.resources[*bounds.bound_by].label : "";
    return {std::move(label), bytes > 0 ? flops / bytes : 0, bounds.lower > 0 ? flops / bounds.lower : 0, bound};
}

// Where the main level stands in work.memory.
std::size_t main_index(const Analysis& total) {
    std::size_t index = 0;
    for (const auto& entry : total.work.memory) {
        if (entry.first == total.main_level) return index;
        ++index;
    }
    return 0;
}

double flops_of(const CompiledProgram::Point& point) {
    double flops = 0;
    for (const double term : point.term_flops) flops += term;
    return flops;
}

Result<std::string> roofline_plot(const OpAnswer& answer, const std::vector<SweepAxis>& axes) {
    const Analysis& total = answer.analysis.total;
    if (!total.seconds) return fail("unsized", "a plot needs a size for every dimension", "give them with --dims");
    RooflinePlot plot;
    plot.title = title_of(answer);
    const std::string sizes = sizes_text(answer, axes);
    plot.subtitle = fmt::format("{}, 1 chip{}{}", answer.machine.name, sizes.empty() ? "" : "; ", sizes);
    for (const MemoryLevel& level : answer.machine.memory) {
        if (level.bandwidth.value)
            plot.roofs.push_back(
                {level_label(level.id), level.bandwidth.value->value, level.bandwidth.low_confidence()});
    }
    if (answer.machine.host && answer.machine.host->bandwidth.value) {
        plot.roofs.push_back(
            {"PCIe", answer.machine.host->bandwidth.value->value, answer.machine.host->bandwidth.low_confidence()});
    }
    plot.ceilings = ceilings_of(answer.machine);
    if (axes.empty()) {
        const auto add = [&](const Analysis& analysis, std::string label) {
            const auto flops = count(answer.program, analysis.work.flops());
            const auto traffic = analysis.work.memory.find(total.main_level);
            const auto bytes =
                traffic == analysis.work.memory.end() ? std::nullopt : count(answer.program, traffic->second.total());
            if (flops && bytes)
                plot.points.push_back(point_of(std::move(label), flops->to_double(), bytes->to_double(),
                                               analysis.bounds, analysis.pricing));
        };
        if (answer.analysis.kernels.empty()) {
            add(total, fitted(total.title, 40));
        } else {
            for (const Analysis& kernel : answer.analysis.kernels) add(kernel, fitted(kernel.title, 40));
        }
        return to_svg(plot);
    }
    // Each size of all axes but the last makes a path.
    const SweepAxis& last = axes.back();
    const std::size_t main = main_index(total);
    for_each_point(answer.program, answer.analysis, axes,
                   [&](std::span<const std::int64_t> at, const CompiledProgram::Point& point) {
                       if (at.back() == last.sizes.front()) {
                           std::string label =
                               fmt::format("{} = {}..{}", last.name(), last.sizes.front(), last.sizes.back());
                           if (axes.size() > 1) label = fmt::format("{} = {}", axes.front().name(), at.front());
                           plot.paths.push_back({std::move(label), {}});
                       }
                       plot.paths.back().points.push_back(
                           point_of(fmt::format("{}={}", last.name(), at.back()), flops_of(point),
                                    point.read[main] + point.write[main], point.bounds, total.pricing));
                   });
    return to_svg(plot);
}

Result<std::string> sweep_plot(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes) {
    if (axes.empty()) return fail("bad_request", "a sweep plot needs a sweep", "add --sweep B=1..512");
    const std::size_t curves = answers.size() * (axes.size() > 1 ? axes.front().sizes.size() : 1);
    constexpr std::size_t most_curves = 12;
    if (curves > most_curves)
        return fail("bad_request", fmt::format("the plot would have {} curves; {} are the most", curves, most_curves));
    const SweepAxis& last = axes.back();
    SweepPlot plot;
    plot.title = title_of(answers.front());
    plot.x_label = last.name();
    plot.y_label = "attainable FLOP/s";
    const std::string sizes = sizes_text(answers.front(), axes);
    plot.subtitle = answers.size() == 1
                        ? fmt::format("{}{}{}", answers.front().machine.name, sizes.empty() ? "" : "; ", sizes)
                        : sizes;
    plot.log_x = last.sizes.size() > 2 &&
                 static_cast<double>(last.sizes.back()) > 100.0 * static_cast<double>(last.sizes.front()) &&
                 last.sizes[1] - last.sizes[0] != last.sizes.back() - last.sizes[last.sizes.size() - 2];
    for (const OpAnswer& answer : answers) {
        const Analysis& total = answer.analysis.total;
        const Resource* compute = total.pricing.compute();
        for_each_point(answer.program, answer.analysis, axes,
                       [&](std::span<const std::int64_t> at, const CompiledProgram::Point& point) {
                           if (at.back() == last.sizes.front()) {
                               PlotCurve curve;
                               std::vector<std::string> label;
                               if (answers.size() > 1) label.push_back(answer.machine.name);
                               if (axes.size() > 1)
                                   label.push_back(fmt::format("{} = {}", axes.front().name(), at.front()));
                               curve.label = fmt::format("{}", fmt::join(label, ", "));
                               if (compute != nullptr && compute->terms.size() == 1)
                                   curve.peak = compute->terms.front().rate.value;
                               if (compute != nullptr && last.dims.size() == 1 && !total.main_level.empty()) {
                                   Sizes here = answer.program.sizes;
                                   if (axes.size() > 1) {
                                       for (const std::string& dim : axes.front().dims) here[dim] = at.front();
                                   }
                                   const Resource* memory = total.pricing.find(total.main_level);
                                   const auto crossing =
                                       memory == nullptr
                                           ? std::nullopt
                                           : solve_crossing(compute->time(), memory->time(), last.dims.front(), here);
                                   if (crossing && crossing->state == Crossing::State::crossing) {
                                       curve.critical = crossing->root;
                                       curve.critical_text =
                                           fmt::format("{} {} = {}", crossing->above ? "from" : "up to",
                                                       last.dims.front(), whole_text(*crossing));
                                   }
                               }
                               plot.curves.push_back(std::move(curve));
                           }
                           const double rate = point.bounds.lower > 0 ? flops_of(point) / point.bounds.lower : 0;
                           plot.curves.back().points.emplace_back(static_cast<double>(at.back()), rate);
                       });
    }
    return to_svg(plot);
}

}  // namespace

Result<std::string> op_plot(const std::vector<OpAnswer>& answers, const std::vector<SweepAxis>& axes, bool sweep) {
    if (sweep) return sweep_plot(answers, axes);
    if (answers.size() != 1) {
        return fail("bad_request", "a roofline plot shows one machine",
                    "name one, or compare a sweep with --plot sweep");
    }
    return roofline_plot(answers.front(), axes);
}

}  // namespace roofline
