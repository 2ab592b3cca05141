#include "report/op/expected_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "units/text.hpp"

namespace roofline {

namespace {

std::string us(double seconds) { return to_text(Seconds{seconds}); }

/// "14 us + 6 steps x 0.82 us + 373 us of wire / 0.74".
std::string segment_text(const LawSegment& segment, StepCount steps, const CollectivePoint& point) {
    const auto n = static_cast<double>(point.members);
    const double more = steps == StepCount::linear ? n - 2 : std::log2(n) - 1;
    std::vector<std::string> terms;
    if (segment.base_s > 0) terms.push_back(us(segment.base_s));
    if (segment.step_s > 0 && more > 0) terms.push_back(fmt::format("{} x {}", number_text(more), us(segment.step_s)));
    if (segment.link > 0) terms.push_back(fmt::format("{} of wire / {}", us(point.wire_s), number_text(segment.link)));
    if (segment.buffer > 0) {
        terms.push_back(fmt::format("{} of buffer / {}", us(point.buffer_s), number_text(segment.buffer)));
    }
    if (segment.one_shot > 0) {
        terms.push_back(fmt::format("{} x {} of buffer / {}", point.members - 1, us(point.buffer_s),
                                    number_text(segment.one_shot)));
    }
    return fmt::format("{}", fmt::join(terms, " + "));
}

std::string law_text(const CalibratedLaw& law, const std::string& machine) {
    return fmt::format("{}{} on {}, {} rows of {} ({} members, buffers of {} to {})",
                       law.key.software.empty() ? "unnamed software" : law.key.software,
                       law.key.variant.empty() ? "" : " " + law.key.variant, machine, grouped(law.rows),
                       fmt::join(law.sources, ", "), fmt::join(law.members, ", "), to_text(Bytes{law.least_bytes}),
                       to_text(Bytes{law.most_bytes}));
}

/// "((10 us of math / 0.8)^3.5 + (9 us of HBM / 0.9)^3.5)^(1/3.5)"
std::string norm_text(const KernelLaw& law, const KernelPoint& point) {
    struct Part {
        const char* name;
        double seconds;
        double fraction;
    };
    const Part parts[] = {{"math", point.math_s, law.math},
                          {"vector", point.vector_s, law.vector},
                          {"HBM", point.memory_s, law.memory},
                          {"other levels", point.other_s, 1}};
    std::vector<std::string> terms;
    for (const Part& part : parts) {
        if (!(part.seconds > 0)) continue;
        terms.push_back(fmt::format("{} of {}", us(part.seconds), part.name));
        if (part.fraction < 1) terms.back() += fmt::format(" / {}", number_text(part.fraction));
    }
    if (terms.size() < 2) return terms.empty() ? "" : terms.front();
    if (std::isinf(law.p)) return fmt::format("the longer of {}", fmt::join(terms, " and "));
    if (law.p == 1) return fmt::format("{}", fmt::join(terms, " + "));
    const std::string p = number_text(law.p);
    for (std::string& term : terms) term = fmt::format("({})^{}", term, p);
    return fmt::format("({})^(1/{})", fmt::join(terms, " + "), p);
}

std::string kernel_text(const KernelLaw& law, const KernelPoint& point) {
    std::vector<std::string> terms;
    if (law.fixed_s > 0) terms.push_back(us(law.fixed_s));
    if (law.ramp_s > 0 && point.depth > 0) {
        terms.push_back(fmt::format("{} x {}", number_text(point.depth), us(law.ramp_s)));
    }
    if (std::string norm = norm_text(law, point); !norm.empty()) terms.push_back(std::move(norm));
    return fmt::format("{}", fmt::join(terms, " + "));
}

std::string errors_text(const CalibratedLaw& law) {
    std::string text = fmt::format("off by {} % where fitted, {} % at sizes held out", percent_text(law.errors.fitted),
                                   percent_text(law.errors.sizes));
    if (law.errors.members)
        text += fmt::format(", {} % at numbers of members held out", percent_text(*law.errors.members));
    return text;
}

}  // namespace

CollectiveBandwidth collective_bandwidth(CollectiveKind kind, std::int64_t members, double bytes, double seconds) {
    if (!(seconds > 0) || members < 1) return {};
    const auto n = static_cast<double>(members);
    const bool part = kind == CollectiveKind::all_to_all || kind == CollectiveKind::permute;
    CollectiveBandwidth bandwidth;
    bandwidth.algorithm = (part ? bytes / n : bytes) / seconds;
    const double share = kind == CollectiveKind::permute ? 1 : (n - 1) / n;
    bandwidth.bus = bandwidth.algorithm * share * (kind == CollectiveKind::all_reduce ? 2 : 1);
    return bandwidth;
}

std::string calibration_name(const ExpectedTime& expected) {
    const LawKey& key = expected.laws.front()->key;
    std::string name = key.software.empty() ? "measured" : key.software;
    if (!key.variant.empty()) name += " " + key.variant;
    if (expected.carried) name += fmt::format(", carried over from {}", fmt::join(expected.machines, ", "));
    return name;
}

std::vector<std::string> kernel_derivation(const OpAnswer& answer, std::size_t kernel) {
    if (kernel >= answer.runs.size() || answer.laws.kernels[kernel] == nullptr) return {};
    const CalibratedKernel& law = *answer.laws.kernels[kernel];
    const KernelFit& fit = law.fit;
    const KernelPoint& point = answer.runs[kernel].point;
    const double seconds = seconds_of(fit.law, point);
    std::string of = law.key.kind;
    if (!law.key.dtype.empty()) of += " in " + law.key.dtype;
    if (!law.key.software.empty()) of += " with " + law.key.software;
    if (!law.key.variant.empty()) of += " " + law.key.variant;
    return {fmt::format("expected {} with an error of {} %", us(seconds), percent_text(fit.error_held_out)),
            fmt::format("{} on {}, {} rows of {} ({} to {})", of, answer.machine.name, grouped(fit.rows),
                        law.sources.empty() ? "unnamed sources" : fmt::format("{}", fmt::join(law.sources, ", ")),
                        us(fit.least_s), us(fit.most_s)),
            fmt::format("{} = {}; off by {} % where fitted, {} % on rows held out; their lower bound by {} %",
                        kernel_text(fit.law, point), us(seconds), percent_text(fit.error_fitted),
                        percent_text(fit.error_held_out), percent_text(fit.error_of_bound))};
}

std::vector<std::string> expected_derivation(const OpAnswer& answer, std::size_t message) {
    std::vector<std::string> lines;
    const auto& expected = answer.laws.messages[message];
    if (!expected) return lines;
    System system = answer.system;
    system.collectives = {};
    const Message& asked = answer.analysis.total.work.messages[message].message;
    const auto load = load_of(asked, system);
    const auto bytes = count(answer.program, asked.bytes);
    const auto point = load && bytes ? collective_point(*load, system, bytes->to_double()) : std::nullopt;
    if (!point) return lines;
    lines.push_back(
        fmt::format("expected {} with an error of {} %", us(expected->seconds), percent_text(expected->error)));
    for (std::size_t i = 0; i < expected->laws.size(); ++i) {
        const CalibratedLaw& law = *expected->laws[i];
        const LawCurve& curve = curve_for(law.law, point->members);
        lines.push_back(law_text(law, expected->machines[i]));
        lines.push_back(fmt::format("{} = {}; {}", segment_text(cheapest(curve, *point), curve.steps, *point),
                                    us(seconds_of(law.law, *point)), errors_text(law)));
    }
    if (expected->laws.size() > 1) {
        lines.emplace_back("the geometric mean of these, one vote for each link rate");
    }
    return lines;
}

}  // namespace roofline
