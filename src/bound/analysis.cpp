#include "bound/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "bound/compute_bound_size.hpp"
#include "bound/network_pricing.hpp"
#include "bound/padding.hpp"
#include "notation/notation.hpp"
#include "units/text.hpp"

namespace roofline::core {

std::optional<double> Analysis::seconds_of(std::string_view resource) const {
    for (std::size_t i = 0; seconds && i < pricing.resources.size(); ++i) {
        if (pricing.resources[i].id == resource) return (*seconds)[i];
    }
    return std::nullopt;
}

const Resource* Analysis::bound_resource() const {
    return bounds.bound_by && seconds ? &pricing.resources[*bounds.bound_by] : nullptr;
}

namespace {

// With more kernels than this, only the program as a whole gets limits and critical sizes.
constexpr std::size_t max_detailed_kernels = 100;

// Critical sizes solve for each dimension in every term of the work; with more pairs than this they are left out.
constexpr std::size_t max_growth_terms = 200'000;

class Analyser {
public:
    Analyser(const Program& program, const Program& local, const Machine& machine, const System* system,
             const AnalysisOptions& options)
        : program_(program),
          local_(local),
          machine_(machine),
          system_(system),
          with_growth_(options.growth),
          with_footprint_(options.footprint) {
        std::set<std::string> anonymous;
        for (const auto& [dim, size] : program.sizes) {
            if (dim.starts_with('#')) numbers_.emplace(dim, size);
        }
    }

    Result<Analysis> run(std::string title, const Work& work, const std::vector<const KernelWork*>& kernels,
                         bool detailed) {
        Analysis analysis;
        analysis.title = std::move(title);
        analysis.work = work;
        ROOFLINE_TRY(auto pricing, price(work, machine_));
        analysis.pricing = std::move(pricing);
        const std::size_t on_chip = analysis.pricing.resources.size();
        if (system_ != nullptr) {
            ROOFLINE_CHECK(price_network(analysis.pricing, work, *system_));
        }
        analysis.notes = analysis.pricing.notes;
        const auto& resources = analysis.pricing.resources;
        if (std::any_of(resources.begin(), resources.end(), [](const Resource& each) { return each.unsure(); })) {
            analysis.notes.emplace_back(
                "`lower` counts one copy of a token that goes to several experts, because a chip with "
                "several of them needs only one; other times count all copies, and those for uniform routing one for "
                "each "
                "chip, between nodes each node");
        }
        intensities(analysis);
        if (detailed && with_growth_) growth(analysis);
        ROOFLINE_CHECK(numbers(analysis));
        if (analysis.seconds && !work.messages.empty()) {
            const auto network = analysis.seconds->begin() + static_cast<std::ptrdiff_t>(on_chip);
            const auto longest = std::max_element(analysis.seconds->begin(), network);
            analysis.exposed = std::accumulate(network, analysis.seconds->end(), longest == network ? 0.0 : *longest);
        }
        if (analysis.seconds) {
            analysis.padding = padding_of(local_, kernels, machine_, analysis.pricing);
            if (detailed && with_footprint_) footprint(analysis, kernels);
            note_confidence(analysis);
        }
        if (!analysis.work.transcendentals.is_zero()) {
            analysis.notes.emplace_back(
                "transcendentals (exp, tanh, rsqrt ...) are counted but not priced, because no rate for them is "
                "published");
        }
        return analysis;
    }

private:
    void intensities(Analysis& analysis) const {
        const Polynomial flops = with_growth_ ? analysis.work.flops().bind(numbers_) : Polynomial();
        const Resource* compute = analysis.pricing.compute();
        for (const auto& [level, traffic] : analysis.work.memory) {
            const Polynomial bytes = traffic.total();
            if (bytes.is_zero()) continue;
            if (analysis.main_level.empty() || level == "hbm") analysis.main_level = level;
            if (with_growth_) analysis.intensity.emplace(level, make_ratio(flops, bytes.bind(numbers_)));
            const Resource* memory = analysis.pricing.find(level);
            // The rate of the largest part of the compute work represents all of it.
            if (compute != nullptr && memory != nullptr) {
                analysis.ridge.emplace(level, main_term(*compute).rate.value / memory->terms.front().rate.value);
            }
        }
    }

    [[nodiscard]] const Term& main_term(const Resource& compute) const {
        const Term* best = &compute.terms.front();
        double most = -1;
        for (const Term& term : compute.terms) {
            const auto count = term.work.evaluate(program_.sizes);
            if (count && count->to_double() > most) {
                most = count->to_double();
                best = &term;
            }
        }
        return *best;
    }

    // The behaviour as a dimension grows: limits and critical sizes.
    void growth(Analysis& analysis) const {
        std::set<std::string> used;
        std::size_t terms = 0;
        for (const Resource& resource : analysis.pricing.resources) {
            for (const Term& term : resource.terms) {
                used.merge(term.work.dims());
                terms += term.work.terms().size();
            }
        }
        if (used.size() * terms > max_growth_terms) {
            analysis.notes.push_back(
                fmt::format("no critical sizes are given, because the work has too many dimensions ({}) and terms ({})",
                            used.size(), terms));
            return;
        }
        std::vector<std::string> dims;  // in program order
        for (const std::string& dim : program_.dims) {
            if (used.contains(dim)) dims.push_back(dim);
        }
        limits(analysis, dims);
        critical(analysis, dims);
    }

    void limits(Analysis& analysis, const std::vector<std::string>& dims) const {
        const auto found = analysis.intensity.find(analysis.main_level);
        if (found == analysis.intensity.end()) return;
        for (const std::string& dim : dims) {
            if (auto limit = limit_of(found->second, dim)) analysis.limits.emplace_back(dim, std::move(*limit));
        }
    }

    void critical(Analysis& analysis, const std::vector<std::string>& dims) const {
        const Resource* compute = analysis.pricing.compute();
        if (compute == nullptr) return;
        const WeightedSum ours = bound_sum(compute->time());
        for (const Resource& resource : analysis.pricing.resources) {
            if (resource.compute() || resource.work().is_zero()) continue;
            std::vector<WeightedSum> cuts;
            for (std::size_t cut = 0; cut < resource.cuts(); ++cut) cuts.push_back(bound_sum(resource.time(cut)));
            std::swap(cuts.front(), cuts[busiest_cut(resource)]);
            for (const std::string& dim : dims) {
                analysis.critical.push_back(critical_over(ours, cuts, {dim, resource.id, {}, {}}));
            }
        }
    }

    // At another size another cut of a torus may take longest, so compute time has to exceed all of them. Without
    // sizes, or if no single size suffices, the result is that of the first cut.
    [[nodiscard]] CriticalSize critical_over(const WeightedSum& ours, const std::vector<WeightedSum>& cuts,
                                             const CriticalSize& blank) const {
        std::vector<CriticalSize> sizes;
        for (const WeightedSum& theirs : cuts) {
            sizes.push_back(blank);
            sizes.back().crossing = solve_crossing(ours, theirs, blank.dim, program_.sizes);
            sizes.back().limit = solve_crossing_limit(ours, theirs, blank.dim);
            if (!sizes.back().crossing) return sizes.front();
        }
        std::vector<CriticalSize> all = compute_bound_sizes(sizes);
        return all.empty() ? sizes.front() : all.front();
    }

    // The cut of a torus that takes longest at these sizes.
    [[nodiscard]] std::size_t busiest_cut(const Resource& resource) const {
        if (resource.cuts() == 1) return 0;
        const Sizes sizes = comparable_sizes(program_.sizes, program_.dims);
        std::vector<WeightedSum> sums;
        for (std::size_t cut = 0; cut < resource.cuts(); ++cut) sums.push_back(resource.time(cut));
        std::vector<double> seconds(sums.size());
        CompiledSums(sums, {}, sizes).evaluate({}, seconds);
        return static_cast<std::size_t>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
    }

    // Bare numbers are constants, not dimensions that may grow.
    [[nodiscard]] WeightedSum bound_sum(const WeightedSum& sum) const {
        WeightedSum bound;
        for (const auto& [polynomial, weight] : sum) bound.emplace_back(polynomial.bind(numbers_), weight);
        return bound;
    }

    Status numbers(Analysis& analysis) const {
        const Work& work = analysis.work;
        const auto flops = work.flops().evaluate(program_.sizes);
        bool complete = flops.has_value();
        bool overflowed = flops && flops->overflowed();
        for (const auto& [level, traffic] : work.memory) {
            const auto bytes = traffic.total().evaluate(program_.sizes);
            complete = complete && bytes.has_value();
            overflowed = overflowed || (bytes && bytes->overflowed());
        }
        for (const Resource& resource : analysis.pricing.resources) {
            for (const Term& term : resource.terms)
                complete = complete && term.work.evaluate(program_.sizes).has_value();
        }
        if (overflowed)
            return fail("overflow", "the work at these sizes does not fit into 127 bits", "check the sizes");
        if (!complete) return {};
        const CompiledTimes times(analysis.pricing, {}, program_.sizes);
        std::vector<double> seconds(times.places());
        analysis.bounds = times.evaluate({}, seconds);
        const auto least = seconds.begin() + static_cast<std::ptrdiff_t>(times.resources());
        analysis.least_seconds.assign(least, least + static_cast<std::ptrdiff_t>(times.resources()));
        seconds.resize(times.resources());
        analysis.sequential = analysis.bounds.lower;
        if (const Resource* compute = analysis.pricing.compute(); compute != nullptr && analysis.bounds.lower > 0) {
            const auto index = static_cast<std::size_t>(compute - analysis.pricing.resources.data());
            analysis.peak_fraction = seconds[index] / analysis.bounds.lower;
        }
        if (machine_.power.value) analysis.energy_j = (*machine_.power.value * Seconds{analysis.bounds.lower}).value;
        analysis.seconds = std::move(seconds);
        return {};
    }

    void footprint(Analysis& analysis, const std::vector<const KernelWork*>& kernels) const {
        std::map<std::string, std::map<std::string, ValueId>> by_level;
        for (const KernelWork* kernel : kernels) {
            if (kernel->count != Polynomial(1)) return;  // it is not known which tensors belong to one iteration only
            for (const Transfer& transfer : kernel->transfers) {
                const Value& value = local_.values[transfer.value];
                by_level[value.level].emplace(value_name(local_, transfer.value), transfer.value);
            }
        }
        for (const auto& [level, values] : by_level) {
            Footprint footprint;
            for (const auto& [name, id] : values) {
                const auto bytes = bytes_of(local_.local_dims, local_.values[id]).evaluate(program_.sizes);
                if (bytes) footprint.bytes += bytes->to_double();
            }
            const MemoryLevel* memory = machine_.level(level);
            if (memory != nullptr && memory->total_capacity()) footprint.capacity = memory->total_capacity()->value;
            if (level == "host" && machine_.host && machine_.host->memory_capacity.value) {
                footprint.capacity = machine_.host->memory_capacity.value->value;
            }
            if (footprint.capacity && footprint.bytes > *footprint.capacity) {
                analysis.notes.push_back(fmt::format("does not fit: the tensors placed in {} need {}, but it has {}",
                                                     level_label(machine_, level), to_text(Bytes{footprint.bytes}),
                                                     capacity_text(Bytes{*footprint.capacity})));
            }
            analysis.footprint.emplace(level, footprint);
        }
    }

    void note_confidence(Analysis& analysis) const {
        const Resource* resource = analysis.bound_resource();
        if (resource == nullptr) return;
        for (const Term& term : resource->terms) {
            if (term.rate.low_confidence()) analysis.notes.push_back(low_confidence_note(term.rate));
        }
    }

    const Program& program_;  ///< as written
    const Program& local_;    ///< the part of one chip
    const Machine& machine_;
    const System* system_;
    bool with_growth_;
    bool with_footprint_;
    Sizes numbers_;
};

// A kernel of one chip is shown as `program` has it.
std::string kernel_title(const Program& program, const KernelWork& kernel, const LocalDims& local) {
    std::string title;
    for (const Statement* statement : kernel.statements) {
        if (!title.empty()) title += "; ";
        title += statement_text(program, *statement, statement->one_liner ? Types::plain : Types::none, local);
        if (title.size() > 400) return title + " ...";
    }
    return title;
}

}  // namespace

namespace {

Result<ProgramAnalysis> analysed(const Program& program, const Program& local, const Machine& machine,
                                 const System* system, const AnalysisOptions& options) {
    ROOFLINE_TRY(auto work, derive_work(local, options.work));
    ProgramAnalysis result;
    result.work = std::move(work);
    if (result.work.kernels.empty()) {
        return fail("nothing_to_do", "the program computes nothing",
                    "write an operation, for example: bf16[B, D] * bf16[D, F] -> bf16[B, F]");
    }
    Analyser analyser(program, local, machine, system, options);
    std::vector<const KernelWork*> all;
    for (const KernelWork& kernel : result.work.kernels) all.push_back(&kernel);

    const std::string title =
        all.size() == 1 && options.titles ? kernel_title(program, *all.front(), local.local_dims) : std::string();
    ROOFLINE_TRY(auto total, analyser.run(title, result.work.total, all, true));
    result.total = std::move(total);
    if (all.size() > 1 && options.kernels) {
        const bool detailed = all.size() <= max_detailed_kernels;
        result.total.sequential = 0;
        double exposed = 0;
        result.kernels.reserve(all.size());
        for (const KernelWork* kernel : all) {
            std::string own = options.titles ? kernel_title(program, *kernel, local.local_dims) : std::string();
            const bool again = kernel->like < result.kernels.size();
            auto one = again ? Result<Analysis>(result.kernels[kernel->like])
                             : analyser.run({}, kernel->work.times(kernel->count), {kernel}, detailed);
            if (!one) return fail(one.error());
            one->title = std::move(own);
            for (std::size_t i = 0; again && i < one->work.messages.size(); ++i) {
                one->work.messages[i].message = kernel->work.messages[i].message;
            }
            result.total.sequential += one->bounds.lower;
            exposed += one->exposed.value_or(one->bounds.lower);
            result.kernels.push_back(std::move(*one));
        }
        if (result.total.exposed) result.total.exposed = exposed;
    }
    std::vector<std::string>& notes = result.total.notes;
    for (const KernelWork* kernel : all) {
        for (const std::string& note : kernel->notes) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end() && notes.size() < 50) notes.push_back(note);
        }
    }
    return result;
}

}  // namespace

Result<ProgramAnalysis> analyse(const Program& program, const Machine& machine, const AnalysisOptions& options) {
    return analysed(program, program, machine, nullptr, options);
}

Result<ProgramAnalysis> analyse(const Program& program, const Program& local, const System& system,
                                const AnalysisOptions& options) {
    return analysed(program, local, system.machine(), &system, options);
}

CompiledProgram::CompiledProgram(const Program& program, const ProgramAnalysis& analysis,
                                 const std::vector<std::string>& swept) {
    Sizes fixed = program.sizes;
    for (const std::string& dim : swept) fixed.erase(dim);
    const Analysis& total = analysis.total;
    times_ = CompiledTimes(total.pricing, swept, fixed);
    std::vector<WeightedSum> counts;
    for (const KeyedFlops& entry : total.pricing.flops_by()) counts.push_back({{entry.flops, 1.0}});
    terms_ = counts.size();
    for (const auto& [level, traffic] : total.work.memory) counts.push_back({{traffic.read, 1.0}});
    for (const auto& [level, traffic] : total.work.memory) counts.push_back({{traffic.write, 1.0}});
    levels_ = total.work.memory.size();
    counts.push_back({{total.work.transcendentals, 1.0}});
    counts_ = CompiledSums(counts, swept, fixed);
    for (const Analysis& kernel : analysis.kernels) kernel_times_.emplace_back(kernel.pricing, swept, fixed);
}

CompiledProgram::Point CompiledProgram::make_point() const {
    Point point;
    point.seconds.resize(times_.places());
    point.resources = times_.resources();
    point.term_flops.resize(terms_);
    point.read.resize(levels_);
    point.write.resize(levels_);
    std::size_t most = counts_.size();
    for (const CompiledTimes& kernel : kernel_times_) most = std::max(most, kernel.places());
    point.scratch.resize(most);
    return point;
}

Bounds CompiledProgram::price(std::span<const double> sizes, std::span<double> seconds) const {
    return times_.evaluate(sizes, seconds);
}

void CompiledProgram::evaluate(std::span<const double> sizes, Point& point) const {
    point.bounds = price(sizes, point.seconds);
    point.sequential = kernel_times_.empty() ? point.bounds.lower : 0;
    for (const CompiledTimes& kernel : kernel_times_) {
        point.sequential += kernel.evaluate(sizes, std::span(point.scratch).first(kernel.places())).lower;
    }
    counts_.evaluate(sizes, std::span(point.scratch).first(counts_.size()));
    auto next = point.scratch.cbegin();
    for (double& flops : point.term_flops) flops = *next++;
    for (double& bytes : point.read) bytes = *next++;
    for (double& bytes : point.write) bytes = *next++;
    point.transcendentals = *next;
}

}  // namespace roofline::core
