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

/// The kernels of a pass that processes all of its tokens at once.
PassParts parts_at_once(const Prediction& priced, double gain) {
    PassParts parts;
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

}  // namespace

Result<PassParts> pass_parts(const Prediction& priced, const ServingPass& pass, const Plan& plan,
                             const PassFamily& family, const PassPricer& price) {
    const double gain =
        (family.sums_in_f16 ? gain_of_f16_sums(priced.machine) : 1) / gain_of_matrix_extension(priced.machine);
    PassParts parts = parts_at_once(priced, gain);
    parts.generates = pass.phase == ServingPhase::decode;
    parts.tokens = static_cast<double>(parts.generates ? pass.context : pass.queries);
    parts.chips = plan.pipeline;
    if (parts.generates || pass.queries <= family.chunk) return parts;
    const auto weights_of_chunk = [&](std::int64_t tokens) -> Result<double> {
        ROOFLINE_TRY(const auto chunk, price({pass.batch, tokens, tokens}));
        return parts_at_once(chunk, gain).weights_s;
    };
    ROOFLINE_TRY(parts.weights_s, weights_of_chunk(family.chunk));
    const std::int64_t rest = pass.queries % family.chunk;
    if (rest > 0) {
        ROOFLINE_TRY(parts.last_weights_s, weights_of_chunk(rest));
    }
    return parts;
}

std::optional<ExpectedPass> whole_pass_family(const PassModels& models, const std::string& software,
                                              const Machine& machine, const Plan& plan) {
    if (plan.chips() != plan.pipeline) return {};
    // which family it is does not depend on the parts
    return models.expected(machine, software, PassParts{});
}

Result<std::optional<ExpectedPass>> expected_whole_pass(const PassModels& models, const std::string& software,
                                                        const Prediction& priced, const ServingPass& pass,
                                                        const Plan& plan, const PassPricer& price) {
    const auto family = whole_pass_family(models, software, priced.machine, plan);
    if (!family) return std::optional<ExpectedPass>{};
    ROOFLINE_TRY(const auto parts, pass_parts(priced, pass, plan, *family->family, price));
    return models.expected(priced.machine, software, parts);
}

std::string whole_pass_library(const PassModels& models, const std::string& named,
                               const std::optional<Quantisation>& quantisation) {
    if (!named.empty()) return models.known(named) ? named : "";
    constexpr const char* usual = "llama.cpp";
    return quantisation && !quantisation->types.empty() && models.known(usual) ? usual : "";
}

}  // namespace roofline::core
