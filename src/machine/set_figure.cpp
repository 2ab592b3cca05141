// Applies what-ifs, which replace one figure of a machine for one answer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/ascii.hpp"
#include "machine/machine.hpp"
#include "machine/plausible.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// Parses the factor in "*2".
Result<double> factor_of(std::string_view text) {
    const std::string number(trimmed(text.substr(1)));
    char* end = nullptr;
    const double factor = std::strtod(number.c_str(), &end);
    if (number.empty() || end != number.c_str() + number.size() || !std::isfinite(factor) || factor <= 0) {
        return fail("bad_value", fmt::format("{} is not a factor", in_ticks(text)), "write it like *2 or *0.5");
    }
    return factor;
}

bool link_is_unit(const NetworkTier& tier) { return tier.topology.starts_with("torus") || tier.topology == "ring"; }

class WhatIf {
public:
    WhatIf(Machine& machine, std::string path, std::string_view value)
        : machine_(machine), path_(std::move(path)), value_(value) {}

    Status run() {
        if (path_ == "price") return price();
        if (path_ == "power") return set(machine_.power, path_);
        if (path_ == "clock") return clock();
        const std::size_t dot = path_.find('.');
        const std::string owner = path_.substr(0, dot);
        const std::string what = dot == std::string::npos ? "" : path_.substr(dot + 1);
        if (owner == "matmul") return rate(Unit::matmul, what);
        if (owner == "passes") return passes(what);
        if (owner == "vector") return rate(Unit::vector, what);
        if (owner == "pcie" || owner == "dram") return host(owner, what);
        for (MemoryLevel& level : machine_.memory) {
            if (level.id == owner && what == "bandwidth") return set(level.bandwidth, path_);
            if (level.id == owner && what == "capacity") return set(level.capacity, path_);
        }
        for (NetworkTier& tier : machine_.network) {
            if (tier.id == owner && what == "bandwidth") return link(tier);
            if (tier.id == owner && what == "latency") return set(tier.hop_latency, path_);
        }
        return unknown();
    }

private:
    template <class Q>
    Result<Q> wanted(const std::optional<Q>& before) {
        Q after;
        if (value_.starts_with('*')) {
            ROOFLINE_TRY(const auto factor, factor_of(value_));
            if (!before) {
                return fail("no_figure", fmt::format("{} has no figure for {} to multiply", machine_.name, path_),
                            fmt::format("set an absolute value: {}={}", path_, plausible<Q>.example));
            }
            after = *before * factor;
        } else {
            ROOFLINE_TRY(after, parse_quantity<Q>(value_));
        }
        if (!(after.value >= plausible<Q>.least && after.value <= plausible<Q>.most)) {
            return fail("out_of_range",
                        fmt::format("{} is out of the range for {} of one chip", in_ticks(value_), path_),
                        fmt::format("write it like {}={}", path_, plausible<Q>.example));
        }
        return after;
    }

    template <class Q>
    void replace(Figure<Q>& figure, Q after, const std::string& path) {
        machine_.changes.push_back({path, figure.value ? to_text(*figure.value) : "none", to_text(after), after.value,
                                    std::string(plausible<Q>.unit)});
        figure = {};
        figure.value = after;
        figure.basis = Basis::assumed;
        figure.source = "set for this answer";
        figure.what_if = true;
    }

    template <class Q>
    Status set(Figure<Q>& figure, const std::string& path) {
        ROOFLINE_TRY(const auto after, wanted(figure.value));
        replace(figure, after, path);
        return {};
    }

    Status price() {
        ROOFLINE_TRY(const auto after, wanted(machine_.price));
        machine_.changes.push_back({path_, machine_.price ? to_text(*machine_.price) : "none", to_text(after),
                                    after.value, std::string(plausible<Price>.unit)});
        machine_.price = after;
        return {};
    }

    /// Scales compute rates with the clock; memory and links have their own clocks.
    Status clock() {
        const std::optional<Frequency> before = machine_.clock.value;
        if (!before) {
            return fail("no_figure",
                        fmt::format("the clock of {} is unknown, so its rates cannot be scaled", machine_.name),
                        "set the rates directly: matmul.bf16=*0.8");
        }
        ROOFLINE_CHECK(set(machine_.clock, path_));
        const double ratio = machine_.clock.value->value / before->value;
        for (Peak& peak : machine_.peaks) {
            if (!peak.rate.value || peak.passes > 0) continue;
            const FlopRate after = *peak.rate.value * ratio;
            replace(peak.rate, after, fmt::format("{}.{}", name(peak.unit), name(peak.dtype)));
        }
        update_pass_rates(machine_);
        return {};
    }

    Status rate(Unit unit, const std::string& what) {
        const auto dtype = find_dtype(what);
        if (!dtype) return unknown();
        const Dtype arithmetic = info(*dtype).arithmetic;
        path_ = fmt::format("{}.{}", name(unit), name(arithmetic));
        const Peak* known = machine_.peak(unit, arithmetic);
        if (known != nullptr) {
            Peak& peak = machine_.peaks[static_cast<std::size_t>(known - machine_.peaks.data())];
            ROOFLINE_CHECK(set(peak.rate, path_));
            peak.passes = 0;
            update_pass_rates(machine_);
            return {};
        }
        Peak peak{unit, arithmetic, unit == Unit::matmul ? info(arithmetic).accumulator : arithmetic, {}, false};
        ROOFLINE_CHECK(set(peak.rate, path_));
        machine_.peaks.push_back(std::move(peak));
        return {};
    }

    /// Sets the number of passes over a narrower unit; each possible number gives a certain precision.
    Status passes(const std::string& what) {
        const auto dtype = find_dtype(what);
        if (!dtype) return unknown();
        const Dtype arithmetic = info(*dtype).arithmetic;
        path_ = fmt::format("passes.{}", name(arithmetic));
        const auto peak = std::find_if(machine_.peaks.begin(), machine_.peaks.end(),
                                       [&](const Peak& each) { return each.passes > 0 && each.dtype == arithmetic; });
        if (peak == machine_.peaks.end()) {
            return fail("unknown_path",
                        fmt::format("{} does not multiply {} in passes", machine_.name, name(arithmetic)),
                        "docs/reference/machine-files.md says which machine files do");
        }
        std::vector<std::string> choices;
        for (const PassScheme& scheme : pass_schemes(arithmetic, peak->of)) {
            const std::string count = fmt::format("{}", scheme.passes);
            if (count == value_) {
                machine_.changes.push_back(
                    {path_, fmt::format("{}", peak->passes), count, static_cast<double>(scheme.passes), ""});
                peak->passes = scheme.passes;
                update_pass_rates(machine_);
                peak->rate.what_if = true;
                return {};
            }
            choices.push_back(fmt::format("{} ({})", count, scheme.precision));
        }
        return fail("bad_value",
                    fmt::format("{} is not a possible number of passes for {}", in_ticks(value_), name(arithmetic)),
                    fmt::format("choose {}", fmt::join(choices, " or ")));
    }

    Status host(const std::string& owner, const std::string& what) {
        HostLink link = machine_.host.value_or(HostLink{
            .kind = "PCIe", .bandwidth = {}, .measured_bandwidth = {}, .memory_capacity = {}, .memory_bandwidth = {}});
        Status status = owner == "pcie" && what == "bandwidth"   ? set(link.bandwidth, path_)
                        : owner == "dram" && what == "bandwidth" ? set(link.memory_bandwidth, path_)
                        : owner == "dram" && what == "capacity"  ? set(link.memory_capacity, path_)
                                                                 : unknown();
        if (status) machine_.host = std::move(link);
        return status;
    }

    /// Sets the rate of one link of a torus, or the injection bandwidth of one chip elsewhere; the other of the two
    /// changes in proportion.
    Status link(NetworkTier& tier) {
        Figure<Bandwidth>& unit = link_is_unit(tier) ? tier.link_bandwidth : tier.chip_bandwidth;
        Figure<Bandwidth>& other = link_is_unit(tier) ? tier.chip_bandwidth : tier.link_bandwidth;
        const std::optional<Bandwidth> before = unit.value;
        ROOFLINE_CHECK(set(unit, path_));
        const double ratio = before ? unit.value->value / before->value : 1;
        for (Figure<Bandwidth>* figure :
             {&other, &tier.effective_link_bandwidth, &tier.bisection, &tier.allreduce_bandwidth}) {
            if (!figure->value) continue;
            const Bandwidth after = *figure->value * ratio;
            *figure = {};
            figure->value = after;
            figure->basis = Basis::assumed;
            figure->source = "follows from " + path_;
            figure->what_if = true;
        }
        return {};
    }

    tl::unexpected<Error> unknown() const {
        std::vector<std::string> paths{"price", "power", "clock", "pcie.bandwidth", "dram.bandwidth", "dram.capacity"};
        std::string own;
        const auto add = [&](const std::string& owner, std::string_view what) {
            paths.push_back(fmt::format("{}.{}", owner, what));
            own += fmt::format("{}{}", own.empty() ? "" : ", ", paths.back());
        };
        for (const MemoryLevel& level : machine_.memory) add(level.id, "bandwidth"), add(level.id, "capacity");
        for (const NetworkTier& tier : machine_.network) add(tier.id, "bandwidth"), add(tier.id, "latency");
        for (const Dtype dtype : {Dtype::bf16, Dtype::f32}) own += fmt::format(", matmul.{0}, vector.{0}", name(dtype));
        for (const Peak& peak : machine_.peaks) {
            if (peak.passes > 0) add("passes", name(peak.dtype));
        }
        for (const std::string& dtype : dtype_names()) {
            paths.push_back("matmul." + dtype);
            paths.push_back("vector." + dtype);
        }
        return fail("unknown_path", fmt::format("{} has no figure {}", machine_.name, in_ticks(path_)),
                    did_you_mean(path_, paths, "among others: " + own));
    }

    Machine& machine_;
    std::string path_;
    std::string_view value_;
};

}  // namespace

Status set_figure(Machine& machine, std::string_view assignment) {
    const std::size_t equals = assignment.find('=');
    const std::string path(trimmed(assignment.substr(0, equals)));
    if (equals == std::string_view::npos || path.empty() || trimmed(assignment.substr(equals + 1)).empty()) {
        return fail("bad_assignment", fmt::format("{} is not PATH=VALUE", in_ticks(assignment)),
                    "write it like hbm.bandwidth=3TB/s, matmul.bf16=*2 or price=2");
    }
    return WhatIf(machine, path, trimmed(assignment.substr(equals + 1))).run();
}

Result<Change> changed_figure(const Machine& machine, std::string_view assignment) {
    Machine other = machine;
    const std::size_t before = other.changes.size();
    ROOFLINE_CHECK(set_figure(other, assignment));
    return other.changes[before];
}

std::string figure_assignment(std::string_view path, double number, std::string_view unit) {
    return fmt::format("{}={}{}", path, number, unit);
}

}  // namespace roofline::core
