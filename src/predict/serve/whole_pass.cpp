#include "predict/serve/whole_pass.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/expected_program.hpp"

namespace roofline::core {

namespace {

/// The type of the largest weight matrix that a kernel reads; empty if it reads none.
std::optional<Dtype> stored_weights(const Prediction& priced, const KernelWork& kernel) {
    std::optional<Dtype> dtype;
    double most = -1;
    for (const Transfer& transfer : kernel.transfers) {
        const Value& value = priced.local->values[transfer.value];
        if (!value.param || value.type.axes.size() < 2 || transfer.write) continue;
        const auto bytes = count(priced.program, transfer.bytes);
        const double size = bytes ? bytes->to_double() : 0;
        if (size <= most) continue;
        most = size;
        dtype = value.type.dtype;
    }
    return dtype;
}

}  // namespace

PassParts pass_parts(const Prediction& priced, const ServingPass& pass, const Plan& plan, bool sums_in_f16) {
    PassParts parts;
    parts.generates = pass.phase == ServingPhase::decode;
    parts.tokens = static_cast<double>(parts.generates ? pass.context : pass.queries);
    parts.chips = plan.pipeline;
    const double gain = (sums_in_f16 ? gain_of_f16_sums(priced.machine) : 1) / gain_of_matrix_extension(priced.machine);
    const std::vector<KernelWork>& kernels = priced.analysis.work.kernels;
    std::vector<CompiledKernel::Runs> runs = priced.runs;
    if (runs.size() != kernels.size()) {
        runs = kernel_runs(priced.program, priced.analysis, chip_traits(priced.machine));
    }
    for (std::size_t i = 0; i < std::min(runs.size(), kernels.size()); ++i) {
        const CompiledKernel::Runs& run = runs[i];
        if (!(run.count > 0)) continue;
        parts.kernels += run.count;
        if (kernels[i].matmuls.empty()) continue;
        // without matrix units the products are work of the vector units
        const double math = run.count * (run.point.math_s > 0 ? run.point.math_s / gain : run.point.vector_s);
        const double memory = run.count * run.point.memory_s;
        if (const auto dtype = stored_weights(priced, kernels[i])) {
            parts.weights_s += memory;
            parts.products_s[*dtype] += math;
        } else {
            parts.cache_s += memory;
            parts.attention_s += math;
        }
    }
    return parts;
}

std::optional<ExpectedPass> expected_whole_pass(const PassModels& models, const std::string& software,
                                                const Prediction& priced, const ServingPass& pass, const Plan& plan,
                                                double cores) {
    if (plan.chips() != plan.pipeline) return {};
    // which family it is does not depend on the parts
    const auto family = models.expected(priced.machine, software, PassParts{});
    if (!family) return {};
    PassParts parts = pass_parts(priced, pass, plan, family->family->sums_in_f16);
    parts.cores = cores;
    return models.expected(priced.machine, software, parts);
}

std::string whole_pass_library(const PassModels& models, const std::string& named,
                               const std::optional<Quantisation>& quantisation) {
    if (!named.empty()) return models.known(named) ? named : "";
    constexpr const char* usual = "llama.cpp";
    return quantisation && !quantisation->types.empty() && models.known(usual) ? usual : "";
}

}  // namespace roofline::core
