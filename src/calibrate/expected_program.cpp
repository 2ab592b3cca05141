#include "calibrate/expected_program.hpp"

#include <algorithm>
#include <tuple>

#include "bound/network_pricing.hpp"

namespace roofline {

namespace {

std::string operand_dtypes(const Program& local, const Op& product) {
    std::vector<Dtype> dtypes{product.arithmetic};
    for (const Operand& input : product.inputs) {
        const Dtype dtype = local.values[input.value].type.dtype;
        if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
    }
    std::string text;
    for (const Dtype dtype : dtypes) text += (text.empty() ? "" : " x ") + std::string(name(dtype));
    return text;
}

/// The dimensions of a program that no sweep passes.
Sizes without(Sizes sizes, const std::vector<std::string>& swept) {
    for (const std::string& dim : swept) sizes.erase(dim);
    return sizes;
}

const Analysis& analysis_of(const ProgramAnalysis& analysis, std::size_t kernel) {
    return analysis.kernels.empty() ? analysis.total : analysis.kernels[kernel];
}

}  // namespace

KernelKey kernel_key(const Program& local, const KernelWork& kernel) {
    KernelKey key;
    const auto products = std::count_if(kernel.matmuls.begin(), kernel.matmuls.end(),
                                        [](const MatmulShape& shape) { return shape.unit == Unit::matmul; });
    bool softmax = false;
    const Op* first = nullptr;
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            softmax = softmax || (op.kind == OpKind::apply && op.function == "softmax");
            if (op.kind == OpKind::contract && first == nullptr) first = &op;
        }
    }
    key.kind = products >= 2 && softmax ? "attention" : products > 0 ? "contraction" : "elementwise";
    if (products > 0 && first != nullptr) key.dtype = operand_dtypes(local, *first);
    return key;
}

const CalibratedKernel* choose_kernel(const Calibration& calibration, const KernelKey& key,
                                      const std::string& software) {
    const auto rank = [&](const CalibratedKernel& law) {
        const bool asked = !software.empty() && same_library(law.key.software, software);
        return std::tuple(law.key.dtype == key.dtype, asked, asked && is_version(law.key.software, software),
                          law.key.variant.empty());
    };
    const CalibratedKernel* best = nullptr;
    for (const CalibratedKernel& law : calibration.kernels) {
        if (law.key.kind != key.kind || (law.key.dtype != key.dtype && !law.key.dtype.empty())) continue;
        bool better = best == nullptr || rank(law) > rank(*best);
        if (best != nullptr && rank(law) == rank(*best)) {
            better = same_library(law.key.software, best->key.software) && law.key.software != best->key.software
                         ? older(best->key.software, law.key.software)
                         : law.fit.rows > best->fit.rows;
        }
        if (better) best = &law;
    }
    return best;
}

CompiledKernel::CompiledKernel(const Analysis& analysis, const KernelWork& kernel,
                               const std::vector<std::string>& swept, const Sizes& fixed)
    : times_(analysis.pricing, swept, fixed) {
    std::vector<WeightedSum> sums{{{kernel.count, 1.0}}};
    for (const MatmulShape& shape : kernel.matmuls) {
        if (shape.unit == Unit::matmul) sums.push_back({{elements(shape.k), 1.0}});
    }
    counts_ = CompiledSums(sums, swept, fixed);
    for (const Resource& resource : analysis.pricing.resources) parts_.push_back(part_of(resource, kernel));
}

double KernelPoint::* CompiledKernel::part_of(const Resource& resource, const KernelWork& kernel) {
    if (resource.id == "math") return &KernelPoint::math_s;
    if (resource.id == "vector") return &KernelPoint::vector_s;
    if (resource.id == "hbm") return &KernelPoint::memory_s;
    return kernel.work.memory.contains(resource.id) ? &KernelPoint::other_s : nullptr;
}

CompiledKernel::Runs CompiledKernel::evaluate(std::span<const double> sizes, std::span<double> scratch) const {
    const std::span<double> counts = scratch.first(counts_.size());
    const std::span<double> seconds = scratch.subspan(counts.size(), times_.places());
    counts_.evaluate(sizes, counts);
    times_.evaluate(sizes, seconds);
    Runs runs;
    runs.count = counts.front();
    if (!(runs.count > 0)) return runs;
    for (const double depth : counts.subspan(1)) runs.point.depth = std::max(runs.point.depth, depth);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] != nullptr) runs.point.*parts_[i] += seconds[i] / runs.count;
    }
    return runs;
}

std::vector<CompiledKernel::Runs> kernel_runs(const Program& program, const ProgramAnalysis& analysis) {
    std::vector<CompiledKernel::Runs> runs;
    if (!analysis.total.seconds) return runs;
    for (std::size_t i = 0; i < analysis.work.kernels.size(); ++i) {
        const CompiledKernel compiled(analysis_of(analysis, i), analysis.work.kernels[i], {}, program.sizes);
        std::vector<double> scratch(compiled.places());
        runs.push_back(compiled.evaluate({}, scratch));
    }
    return runs;
}

CompiledExpected::CompiledExpected(const Program& program, const ProgramAnalysis& analysis, const System& system,
                                   const ProgramLaws& laws, const std::vector<std::string>& swept) {
    const Sizes fixed = without(program.sizes, swept);
    for (std::size_t i = 0; i < laws.kernels.size(); ++i) {
        if (laws.kernels[i] == nullptr) continue;
        const KernelFit& fit = laws.kernels[i]->fit;
        kernels_.push_back({CompiledKernel(analysis_of(analysis, i), analysis.work.kernels[i], swept, fixed), fit.law,
                            fit.error_held_out});
        places_ = std::max(places_, kernels_.back().compiled.places());
    }
    // constants are fractions of what really crosses the wires, whatever approximation the bounds are asked with
    System wires = system;
    wires.collectives = {};
    std::vector<WeightedSum> sums;
    for (std::size_t i = 0; i < laws.messages.size(); ++i) {
        const MessageWork& each = analysis.total.work.messages[i];
        const auto load = load_of(each.message, wires);
        if (!laws.messages[i] || !load) continue;
        constexpr double many = 1e18;
        const auto point = collective_point(*load, wires, 1);
        const auto latency = time_of(*load, wires, 0);
        const auto transfer = time_of(*load, wires, many);
        if (!point || !latency || !transfer) continue;
        message_laws_.push_back({*laws.messages[i], *point, transfer->lower_s / many, latency->lower_s});
        sums.push_back({{each.message.bytes, 1.0}});
        sums.push_back({{each.count, 1.0}});
    }
    messages_ = CompiledSums(sums, swept, fixed);
    places_ = std::max(places_, messages_.size());
}

ExpectedProgramTime CompiledExpected::evaluate(std::span<const double> sizes, std::span<double> scratch) const {
    ExpectedProgramTime total;
    const auto add = [&](double seconds, double error) {
        total.seconds += seconds;
        total.error += seconds * error;
    };
    for (const Kernel& kernel : kernels_) {
        const auto runs = kernel.compiled.evaluate(sizes, scratch);
        if (runs.count > 0) add(runs.count * seconds_of(kernel.law, runs.point), kernel.error);
    }
    messages_.evaluate(sizes, scratch.first(messages_.size()));
    for (std::size_t i = 0; i < message_laws_.size(); ++i) {
        const MessageLaw& each = message_laws_[i];
        const double bytes = scratch[2 * i];
        if (!(bytes > 0)) continue;
        CollectivePoint point = each.of_byte;
        for (double* const part : {&point.buffer_bytes, &point.wire_s, &point.buffer_s}) *part *= bytes;
        const double lower = std::max(bytes * each.lower_of_byte_s, each.latency_s);
        add(scratch[2 * i + 1] * std::max(seconds_of(each.expected, point), lower), each.expected.error);
    }
    if (total.seconds > 0) total.error /= total.seconds;
    return total;
}

}  // namespace roofline
