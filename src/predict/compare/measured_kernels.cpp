#include "predict/compare/measured_kernels.hpp"

#include <algorithm>
#include <set>

#include "notation/notation.hpp"
#include "predict/expect.hpp"

namespace roofline::core {

namespace {

std::vector<double> numbers(const MeasuredKernel& row) {
    std::vector<double> sizes;
    for (const auto& [dim, size] : row.sizes) sizes.push_back(static_cast<double>(size));
    return sizes;
}

Sizes sizes_of(const MeasuredKernel& row) { return {row.sizes.begin(), row.sizes.end()}; }

/// Bytes of all tensors outside of the kernels, each counted once.
WeightedSum tensor_bytes(const Program& program, const ProgramAnalysis& analysis) {
    std::set<ValueId> values;
    for (const KernelWork& kernel : analysis.work.kernels) {
        for (const Transfer& transfer : kernel.transfers) values.insert(transfer.value);
    }
    WeightedSum sum;
    for (const ValueId value : values) sum.emplace_back(bytes_of(program.local_dims, program.values[value]), 1.0);
    return sum;
}

}  // namespace

Result<MeasuredKernels::Compiled*> MeasuredKernels::compiled(const MeasuredKernel& row) {
    const Result<Program>& program = parsed(row.program);
    if (!program) return fail(program.error());
    const Key key{row.system, row.program, row.software, row.variant, mask_cases(*program, sizes_of(row))};
    auto found = compiled_.find(key);
    constexpr std::size_t most = 10'000;  // tables of real measurements have a few hundred
    if (found == compiled_.end() && compiled_.size() >= most) {
        return fail("too_many_systems", "the table has more than 10000 kinds of rows");
    }
    if (found == compiled_.end()) found = compiled_.emplace(key, compile(row)).first;
    if (!found->second) return fail(found->second.error());
    return found->second->get();
}

const Result<Program>& MeasuredKernels::parsed(const std::string& text) {
    const auto found = programs_.find(text);
    return found != programs_.end() ? found->second : programs_.emplace(text, parse_program(text, "")).first->second;
}

Result<std::unique_ptr<MeasuredKernels::Compiled>> MeasuredKernels::compile(const MeasuredKernel& row) {
    const Result<System>& chip = systems_.chip(row.system);
    if (!chip) return fail(chip.error());
    auto result = std::make_unique<Compiled>();
    const Result<Program>& program = parsed(row.program);
    if (!program) return fail(program.error());
    result->program = *program;
    std::vector<std::string> dims;
    for (const auto& [dim, size] : row.sizes) {
        dims.push_back(dim);
        result->program.sizes[dim] = size;
    }
    result->system = *chip;
    const Machine& machine = result->system.machine();
    ROOFLINE_TRY(auto analysis, analyse(result->program, machine, {}));
    result->analysis = std::move(analysis);
    result->bounds.emplace(result->program, result->analysis, dims);
    result->point = result->bounds->make_point();
    Sizes fixed = result->program.sizes;
    for (const std::string& dim : dims) fixed.erase(dim);
    result->bytes = CompiledSums({tensor_bytes(result->program, result->analysis)}, dims, fixed);
    const Pricing& pricing = result->analysis.total.pricing;
    if (const Resource* memory = pricing.find("hbm")) {
        result->memory = static_cast<std::size_t>(memory - pricing.resources.data());
        result->memory_rate = memory->terms.front().rate.value;
    }
    result->caches = caches_of(machine);
    result->models =
        kernel_models(calibrations_, machine, result->program, result->analysis, row.software, row.variant);
    if (result->models.missing.empty()) {
        result->expected.emplace(result->program, result->analysis, result->system, result->models, dims);
        result->scratch.resize(result->expected->places());
    }
    const std::vector<KernelWork>& kernels = result->analysis.work.kernels;
    result->traffic = program_traffic(result->analysis, dims, fixed);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        result->kernels.emplace_back(result->analysis, i, chip_traits(machine), dims, fixed);
        result->scratch.resize(std::max(result->scratch.size(), result->kernels.back().places()));
        result->keys.push_back(kernel_key(result->program, kernels[i]));
        if (kernels.size() > 1 && kernels[i].matmuls.empty()) continue;
        result->timed.push_back(i);
    }
    const auto other_model = [&](std::size_t i) { return result->keys[i] != result->keys[result->timed.front()]; };
    if (std::any_of(result->timed.begin(), result->timed.end(), other_model)) result->timed.clear();
    return result;
}

std::optional<double> MeasuredKernels::resident_bound(const Compiled& compiled, double bytes) {
    if (!compiled.memory) return std::nullopt;
    return roofline::core::resident_bound(
        compiled.caches, {std::span(compiled.point.seconds).first(compiled.analysis.total.pricing.resources.size()),
                          *compiled.memory, compiled.memory_rate, bytes, compiled.analysis.work.kernels.size()});
}

Result<Comparison> MeasuredKernels::compare(const MeasuredKernel& row) {
    ROOFLINE_TRY(auto found, compiled(row));
    Compiled& program = *found;
    const std::vector<double> sizes = numbers(row);
    program.bounds->evaluate(sizes, program.point);
    Comparison comparison;
    comparison.line = row.line;
    comparison.kind = MeasuredKind::kernel;
    comparison.system = program.system.machine().id;
    comparison.slice = comparison.system;
    comparison.operation = row.operation;
    comparison.shape = row.shape();
    program.bytes.evaluate(sizes, {&comparison.bytes, 1});
    comparison.dtype = row.dtype;
    comparison.software = row.software;
    comparison.variant = row.variant;
    comparison.measured_s = row.time_s;
    comparison.rounding_s = row.rounding_s;
    comparison.prediction.lower_s = program.point.bounds.lower;
    comparison.prediction.resident_s = resident_bound(program, comparison.bytes);
    if (program.expected) {
        const ExpectedProgramTime expected = program.expected->evaluate(sizes, program.scratch);
        // a kernel that is timed repeatedly may find its data in a cache, as its model knows
        const double least_s = comparison.prediction.resident_s.value_or(comparison.prediction.lower_s);
        comparison.prediction.expected_s = std::max(expected.seconds, least_s);
        comparison.prediction.expected_error = expected.error;
    }
    return comparison;
}

Result<KernelSample> MeasuredKernels::sample_of(const MeasuredKernel& row) {
    ROOFLINE_TRY(auto found, compiled(row));
    Compiled& program = *found;
    // Times in steps of 10 us come from a host's clock. They include the host's wait for its device, 100 to 270 us in
    // published tables, which cannot be separated from the kernel.
    constexpr double coarse_s = 2e-6;
    if (row.variant == "wall clock" && row.rounding_s > coarse_s)
        return fail("host_waits", "the times were taken by a host's clock and include its wait for the device");
    if (program.timed.empty())
        return fail("several_kernels", "the time covers several kernels that cannot be separated");
    KernelSample sample;
    sample.machine = program.system.machine().id;
    sample.key = program.keys[program.timed.front()];
    sample.key.software = row.software;
    sample.key.variant = row.variant;
    const std::vector<double> sizes = numbers(row);
    double traffic = 0;
    program.traffic.evaluate(sizes, {&traffic, 1});
    for (std::size_t i = 0; i < program.kernels.size(); ++i) {
        const CompiledKernel::Runs runs = program.kernels[i].evaluate(sizes, traffic, program.scratch);
        if (i == program.timed.front()) {
            sample.timed.point = runs.point;
        } else if (std::find(program.timed.begin(), program.timed.end(), i) != program.timed.end()) {
            sample.timed.more.push_back(runs.point);
        } else {
            sample.others.push_back({program.keys[i], runs.point, runs.count});
            sample.others.back().key.variant = row.variant;
        }
    }
    sample.timed.time_s = row.time_s;
    sample.source = row.source;
    return sample;
}

std::vector<std::pair<std::string, Rate>> MeasuredKernels::rates() const {
    std::vector<std::pair<std::string, Rate>> rates;
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& [key, compiled] : compiled_) {
        if (!compiled) continue;
        const Compiled& program = **compiled;
        for (const Resource& resource : program.analysis.total.pricing.resources) {
            for (const Term& term : resource.terms) {
                const std::string& machine = program.system.machine().id;
                if (seen.emplace(machine, term.rate.path).second) rates.emplace_back(machine, term.rate);
            }
        }
    }
    return rates;
}

}  // namespace roofline::core
