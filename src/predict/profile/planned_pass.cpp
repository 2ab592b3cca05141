#include "predict/profile/planned_pass.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "calibrate/kernel/kernel_kind.hpp"

namespace roofline::core {

namespace {

const Value* result_of(const Program& local, const KernelWork& kernel) {
    return kernel.statements.empty() ? nullptr : &local.values[kernel.statements.back()->result];
}

/// The names of parameters. What an optimizer assigns to one is another value with its name.
std::set<std::string_view> parameters_of(const Program& local) {
    std::set<std::string_view> names;
    for (const Value& value : local.values) {
        if (value.param) names.insert(value.name);
    }
    return names;
}

std::string_view class_of(const Program& local, const KernelWork& kernel,
                          const std::set<std::string_view>& parameters) {
    const bool updates = std::any_of(kernel.transfers.begin(), kernel.transfers.end(), [&](const Transfer& transfer) {
        return transfer.write && parameters.contains(local.values[transfer.value].name);
    });
    const Value* const result = result_of(local, kernel);
    switch (kernel_kind(kernel)) {
        case KernelKind::attention:
        case KernelKind::causal_attention:
        case KernelKind::latent_attention:
        case KernelKind::windowed_attention:
            return "attention";
        case KernelKind::contraction:
        case KernelKind::grouped_contraction:
            return "matmul";
        case KernelKind::normalisation:
            return "norm";
        case KernelKind::softmax:
            return "softmax";
        default:
            break;
    }
    if (updates) return "optimizer";
    if (result != nullptr && (result->part == "embedding" || result->part == "loss")) return result->part;
    return "elementwise";
}

}  // namespace

PlannedPass planned_pass(std::string name, const Prediction& pass) {
    PlannedPass planned;
    planned.name = std::move(name);
    const std::vector<KernelWork>& kernels = pass.analysis.work.kernels;
    const std::set<std::string_view> parameters = parameters_of(*pass.local);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto runs = count(*pass.local, kernels[i].count);
        if (!runs || runs->to_double() <= 0) continue;
        PlannedKernel kernel;
        kernel.kind = class_of(*pass.local, kernels[i], parameters);
        if (const Value* const result = result_of(*pass.local, kernels[i])) kernel.result = result->name;
        kernel.matmuls = matmul_sizes(*pass.local, kernels[i]);
        kernel.count = runs->to_double();
        const double bound =
            i < pass.analysis.kernels.size() ? pass.analysis.kernels[i].bounds.lower : pass.analysis.total.bounds.lower;
        kernel.seconds = expected_of_work(pass, i).value_or(bound);
        if (kernel.seconds > 0) planned.kernels.push_back(std::move(kernel));
    }
    planned.collectives = collectives_in(pass);
    return planned;
}

}  // namespace roofline::core
