#include "report/op/op_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/machine/machine_roofs.hpp"
#include "report/op/op_mesh_plot.hpp"
#include "report/op/op_timeline.hpp"
#include "report/plot/plot.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

std::string plot_title(const Prediction& answer) {
    const std::string& title = answer.analysis.total.title;
    if (title.empty())
        return fmt::format("{}{} kernels", answer.name.empty() ? "" : answer.name + ", ",
                           answer.analysis.work.kernels.size());
    return fitted(title, 80);
}

std::string sizes_text(const Prediction& answer, const std::vector<SweepAxis>& axes) {
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

namespace {

PlotPoint point_of(std::string label, double flops, double bytes, const Bounds& bounds, const Pricing& pricing) {
    const std::string bound = bounds.bound_by ? pricing.resources[*bounds.bound_by].label : "";
    return {std::move(label), bytes > 0 ? flops / bytes : 0, bounds.lower > 0 ? flops / bounds.lower : 0, bound};
}

// Returns the bytes that cross the main memory.
double main_bytes(const Analysis& total, const CompiledProgram::Point& point) {
    std::size_t index = 0;
    for (const auto& entry : total.work.memory) {
        if (entry.first == total.main_level) return point.read[index] + point.write[index];
        ++index;
    }
    return 0;
}

// Whether a resource is a network tier with traffic. Its roof is that of a memory level, over the bytes of the busiest
// link.
bool has_tier_traffic(const Prediction& answer, const Resource& resource) {
    return !resource.terms.empty() && answer.system.slice.has_network(resource.id);
}

PlotRoof tier_roof(const Resource& resource) {
    const Rate& rate = resource.terms.front().rate;
    return {resource.label + ", one way", rate.value, rate.low_confidence()};
}

// Returns the bytes over the busiest link, at its rate: on a torus, those of the slowest cut.
double busiest_bytes(const Prediction& answer, const Resource& resource) {
    double most = 0;
    for (std::size_t cut = 0; cut < resource.cuts(); ++cut) {
        double seconds = 0;
        for (const auto& [work, weight] : resource.time(cut)) {
            const auto amount = count(answer.program, work);
            if (amount) seconds += amount->to_double() * weight;
        }
        most = std::max(most, seconds);
    }
    return most * resource.terms.front().rate.value;
}

// Adds a kernel's point for the main memory, and one more for each network tier that it uses.
void add_points(const Prediction& answer, const Analysis& kernel, const KernelWork& work,
                std::vector<PlotPoint>& points) {
    const auto flops = count(answer.program, kernel.work.flops());
    if (!flops) return;
    const bool alone = answer.analysis.kernels.empty();  // a program of one kernel, which the heading names
    const std::string label = fitted(kernel.title, 40);
    const std::string name = value_name(answer.program, work.statements.back()->result);
    const auto traffic = kernel.work.memory.find(answer.analysis.total.main_level);
    const auto bytes =
        traffic == kernel.work.memory.end() ? std::nullopt : count(answer.program, traffic->second.total());
    if (bytes) {
        points.push_back(point_of(label, flops->to_double(), bytes->to_double(), kernel.bounds, kernel.pricing));
    }
    for (const Resource& resource : kernel.pricing.resources) {
        if (!has_tier_traffic(answer, resource)) continue;
        if (alone && bytes)
            points.front().label = "over " + level_label(answer.machine, answer.analysis.total.main_level);
        PlotPoint point = point_of(fmt::format("{}over {}", alone ? "" : name + " ", resource.label),
                                   flops->to_double(), busiest_bytes(answer, resource), kernel.bounds, kernel.pricing);
        point.beside = bytes && !bytes->is_zero();
        points.push_back(std::move(point));
    }
}

double flops_of(const CompiledProgram::Point& point) {
    double flops = 0;
    for (const double term : point.term_flops) flops += term;
    return flops;
}

/// Returns the measured point of the same operation.
PlotPoint measured_point(const PlotPoint& predicted, double flops, double seconds, const std::string& label) {
    PlotPoint point = predicted;
    point.label = label;
    point.flop_per_s = seconds > 0 ? flops / seconds : 0;
    point.bound_by = "";
    return point;
}

/// Whether the program computes in this unit and dtype.
bool computes_in(const Pricing& pricing, const Peak& peak) {
    return std::any_of(pricing.resources.begin(), pricing.resources.end(), [&](const Resource& resource) {
        const std::string key = fmt::format("{}/{}", name(peak.unit), name(peak.dtype));
        return std::any_of(resource.terms.begin(), resource.terms.end(),
                           [&](const Term& term) { return term.key == key; });
    });
}

/// Returns the machine without the rates that the program does not use. If it uses none of a kind, all of them stay, so
/// that the plot has a roof.
Machine used_parts(const Prediction& answer) {
    Machine used = answer.machine;
    const Pricing& pricing = answer.analysis.total.pricing;
    std::erase_if(used.peaks, [&](const Peak& peak) { return !computes_in(pricing, peak); });
    std::erase_if(used.memory, [&](const MemoryLevel& level) { return pricing.find(level.id) == nullptr; });
    if (used.peaks.empty()) used.peaks = answer.machine.peaks;
    if (used.memory.empty()) used.memory = answer.machine.memory;
    return used;
}

/// Errors: there are more curves than distinguishable colours.
Status check_curves(std::size_t curves) {
    constexpr std::size_t most = 8;
    if (curves <= most) return {};
    return fail("bad_request", fmt::format("the plot would have {} curves, but the limit is {}", curves, most),
                "name fewer machines, or fewer sizes of the first axis");
}

Result<std::string> roofline_plot(const Prediction& answer, const std::vector<SweepAxis>& axes, bool all_roofs,
                                  const std::vector<double>& measured_s) {
    const Analysis& total = answer.analysis.total;
    RooflinePlot plot;
    plot.title = plot_title(answer);
    const std::string sizes = sizes_text(answer, axes);
    const std::int64_t chips = answer.system.slice.chips();
    plot.subtitle = fmt::format(
        "{}, {}{}{}", answer.machine.name,
        chips == 1 ? "1 chip" : fmt::format("one of {} = {} chips", answer.system.slice.shape_text(), chips),
        sizes.empty() ? "" : "; ", sizes);
    const Machine shown = all_roofs ? answer.machine : used_parts(answer);
    plot.roofs = roofs_of(shown);
    const auto& resources = total.pricing.resources;
    const bool network = std::any_of(resources.begin(), resources.end(),
                                     [&](const Resource& resource) { return has_tier_traffic(answer, resource); });
    // The roof of the host link would clutter a plot of network roofs, so it is drawn there only if the program uses
    // it.
    const bool host = (all_roofs && !network) || total.pricing.find("pcie") != nullptr;
    if (host && answer.machine.host && answer.machine.host->bandwidth.value) {
        plot.roofs.push_back(
            {"PCIe", answer.machine.host->bandwidth.value->value, answer.machine.host->bandwidth.low_confidence()});
    }
    for (const Resource& resource : resources) {
        if (has_tier_traffic(answer, resource)) plot.roofs.push_back(tier_roof(resource));
    }
    plot.ceilings = ceilings_of(shown);
    if (axes.empty()) {
        const auto& kernels = answer.analysis.kernels;
        for (std::size_t i = 0; i < answer.analysis.work.kernels.size(); ++i) {
            const Analysis& kernel = kernels.empty() ? total : kernels[i];
            const std::size_t first = plot.points.size();
            add_points(answer, kernel, answer.analysis.work.kernels[i], plot.points);
            const auto flops = count(answer.program, kernel.work.flops());
            if (plot.points.size() == first || !flops) continue;
            const auto beside = [&](double seconds, const std::string& what) {
                PlotPoint point = measured_point(plot.points[first], flops->to_double(), seconds, what);
                point.beside = true;
                plot.points.insert(plot.points.begin() + static_cast<std::ptrdiff_t>(first) + 1, std::move(point));
            };
            if (i < measured_s.size()) beside(measured_s[i], "measured");
            // The expected time of a program with one kernel is that of the kernel.
            if (answer.expected_s && answer.analysis.work.kernels.size() == 1) beside(*answer.expected_s, "expected");
        }
        return to_svg(plot);
    }
    // Each size of all axes but the last makes a path.
    const std::vector<SweepAxis> grid = grid_axes(axes);
    const SweepAxis& last = grid.back();
    const std::size_t paths = grid.size() > 1 ? grid.front().sizes.size() : 1;
    if (const Status few = check_curves(paths); !few) return fail(few.error());
    const bool with_expected = paths <= 3;  // more paths would cover one another; the sweep plot shows them
    std::vector<PlotPath> measured;
    std::vector<PlotPath> expected;
    std::size_t index = 0;
    for_each_point(
        answer, axes,
        [&](std::span<const std::int64_t> at, const CompiledProgram::Point& point, const Prediction& here,
            std::optional<double> expected_s) {
            if (at[grid.size() - 1] == last.sizes.front()) {
                const auto called = [&](std::string what) {
                    return grid.size() > 1 ? fmt::format("{}, {} = {}", what, grid.front().name(), at.front()) : what;
                };
                measured.push_back({called("measured"), {}});
                expected.push_back({called("expected"), {}});
                std::string label = fmt::format("{} = {}..{}", last.name(), last.sizes.front(), last.sizes.back());
                if (grid.size() > 1) label = fmt::format("{} = {}", grid.front().name(), at.front());
                plot.paths.push_back({std::move(label), {}});
            }
            plot.paths.back().points.push_back(point_of(fmt::format("{}={}", last.name(), at[grid.size() - 1]),
                                                        flops_of(point), main_bytes(here.analysis.total, point),
                                                        point.bounds, here.analysis.total.pricing));
            const PlotPoint& predicted = plot.paths.back().points.back();
            if (expected_s && with_expected) {
                expected.back().points.push_back(
                    measured_point(predicted, flops_of(point), *expected_s, predicted.label));
            }
            if (index < measured_s.size()) {
                measured.back().points.push_back(
                    measured_point(predicted, flops_of(point), measured_s[index], predicted.label));
            }
            ++index;
        });
    for (PlotPath& path : expected) {
        if (!path.points.empty()) plot.paths.push_back(std::move(path));
    }
    if (!measured_s.empty()) plot.paths.insert(plot.paths.end(), measured.begin(), measured.end());
    return to_svg(plot);
}

Result<std::string> sweep_plot(std::span<const Prediction> answers, const std::vector<SweepAxis>& axes,
                               const std::vector<double>& measured_s) {
    if (axes.empty()) return fail("bad_request", "a sweep plot needs a sweep", "add --sweep B=1..512");
    const std::vector<SweepAxis> grid = grid_axes(axes);
    const std::size_t curves = answers.size() * (grid.size() > 1 ? grid.front().sizes.size() : 1);
    if (const Status few = check_curves(curves); !few) return fail(few.error());
    const SweepAxis& last = grid.back();
    SweepPlot plot;
    plot.title = plot_title(answers.front());
    plot.x_label = last.name();
    plot.y_label = measured_s.empty() ? "attainable FLOP/s" : "FLOP/s";
    const std::string sizes = sizes_text(answers.front(), axes);
    plot.subtitle = answers.size() == 1
                        ? fmt::format("{}{}{}", answers.front().machine.name, sizes.empty() ? "" : "; ", sizes)
                        : sizes;
    plot.log_x = last.sizes.size() > 2 &&
                 static_cast<double>(last.sizes.back()) > 100.0 * static_cast<double>(last.sizes.front()) &&
                 last.sizes[1] - last.sizes[0] != last.sizes.back() - last.sizes[last.sizes.size() - 2];
    const bool any_expected =
        std::any_of(answers.begin(), answers.end(), [](const Prediction& each) { return each.expected_s.has_value(); });
    std::vector<PlotCurve> measured;
    std::vector<PlotCurve> expected;  // after all bounds, so that the colours of the bounds do not depend on them
    for (const Prediction& answer : answers) {
        const Analysis& total = answer.analysis.total;
        const Resource* compute = total.pricing.compute();
        std::size_t index = 0;
        for_each_point(answer, axes,
                       [&](std::span<const std::int64_t> at, const CompiledProgram::Point& point, const Prediction&,
                           std::optional<double> expected_s) {
                           if (at[grid.size() - 1] == last.sizes.front()) {
                               PlotCurve curve;
                               std::vector<std::string> label;
                               if (answers.size() > 1) label.push_back(answer.machine.name);
                               if (grid.size() > 1)
                                   label.push_back(fmt::format("{} = {}", grid.front().name(), at.front()));
                               const std::string name = fmt::format("{}", fmt::join(label, ", "));
                               const bool calibrated = answer.expected_s.has_value();
                               const auto called = [&](std::string_view what) {
                                   return name.empty() ? std::string(what) : fmt::format("{}, {}", name, what);
                               };
                               const bool near_others = any_expected || !measured_s.empty();
                               curve.label = near_others ? called("bound") : name;
                               curve.family = name;
                               curve.kind = near_others ? "bound" : "";
                               if (!measured_s.empty()) {
                                   PlotCurve beside;
                                   beside.family = name;
                                   beside.kind = "measured";
                                   beside.label = called("measured");
                                   measured.push_back(std::move(beside));
                               }
                               if (compute != nullptr && compute->terms.size() == 1)
                                   curve.peak = compute->terms.front().rate.value;
                               if (calibrated) {
                                   expected.push_back({called("expected"), {}, curve.peak, {}, {}, name, "expected"});
                               }
                               // A crossing is solved for one dimension, with all others at their sizes.
                               const bool alone = last.dims.size() == 1 && grid.size() == axes.size();
                               if (compute != nullptr && alone && !total.main_level.empty()) {
                                   Sizes here = answer.program.sizes;
                                   if (grid.size() > 1) {
                                       for (const std::string& dim : grid.front().dims) here[dim] = at.front();
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
                           plot.curves.back().points.emplace_back(static_cast<double>(at[grid.size() - 1]), rate);
                           if (index < measured_s.size() && measured_s[index] > 0) {
                               measured.back().points.emplace_back(static_cast<double>(at[grid.size() - 1]),
                                                                   flops_of(point) / measured_s[index]);
                           }
                           ++index;
                           if (expected_s)
                               expected.back().points.emplace_back(static_cast<double>(at[grid.size() - 1]),
                                                                   flops_of(point) / *expected_s);
                       });
    }
    plot.curves.insert(plot.curves.end(), measured.begin(), measured.end());
    std::move(expected.begin(), expected.end(), std::back_inserter(plot.curves));
    return to_svg(plot);
}

}  // namespace

Result<std::string> op_plot(std::span<const Prediction> answers, const std::vector<SweepAxis>& axes, PlotKind kind,
                            bool all_roofs, const std::vector<double>& measured_s) {
    if (kind == PlotKind::sweep) return sweep_plot(answers, axes, measured_s);
    if (kind != PlotKind::roofline && !axes.empty()) {
        return fail("bad_request",
                    fmt::format("a {} shows one size of each dimension, not a sweep",
                                kind == PlotKind::mesh ? "picture of the mesh" : "time line"),
                    "remove --sweep, or use --plot sweep");
    }
    if (answers.size() != 1) {
        return kind == PlotKind::roofline
                   ? fail("bad_request", "a roofline plot shows one machine",
                          "name one, or compare a sweep with --plot sweep")
                   : fail("bad_request",
                          fmt::format("a {} shows one machine",
                                      kind == PlotKind::mesh ? "picture of the mesh" : "time line"),
                          "name one with --on");
    }
    const Prediction& answer = answers.front();
    if (kind == PlotKind::mesh) return op_mesh_plot(answer);
    if (!answer.analysis.total.seconds) {
        return fail("unsized", "a plot needs a size for every dimension", "give them with --dims");
    }
    return kind == PlotKind::timeline ? op_timeline(answer) : roofline_plot(answer, axes, all_roofs, measured_s);
}

}  // namespace roofline::core
