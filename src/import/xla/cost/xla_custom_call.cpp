#include "import/xla/cost/xla_custom_call.hpp"

#include <string>
#include <utility>

#include "import/xla/cost/xla_backend_config.hpp"
#include "import/xla/cost/xla_convolution.hpp"

namespace roofline::core {

namespace {

// The first result alone: what follows it in a tuple is workspace.
void count_first_result(const XlaInstruction& at, XlaCost& cost) {
    const double output = leaf_bytes(first_array(at.shape));
    cost.bytes += output - cost.output_bytes;
    cost.output_bytes = output;
}

std::optional<XlaCost> stated_cost(const XlaCostScope& scope, const XlaInstruction& at) {
    if (!at.attribute("backend_config")) return std::nullopt;
    const std::string config = plain_config(at);
    const std::size_t from = config.find("cost_estimate");
    if (from == std::string::npos) return std::nullopt;
    const std::string_view estimate = std::string_view(config).substr(from);
    const auto flops = config_number(estimate, "flops");
    const auto bytes = config_number(estimate, "bytes_accessed");
    if (!flops && !bytes) return std::nullopt;
    XlaCost cost = whole_cost(scope, at);
    cost.flops = flops.value_or(0);
    cost.transcendentals = config_number(estimate, "transcendentals").value_or(0);
    cost.bytes = bytes.value_or(cost.bytes);
    return cost;
}

}  // namespace

std::string_view custom_call_target(const XlaInstruction& at) {
    std::string_view target = at.attribute("custom_call_target").value_or("");
    if (target.size() >= 2 && target.front() == '"' && target.back() == '"') {
        target = target.substr(1, target.size() - 2);
    }
    return target;
}

bool is_cublas_product(const XlaInstruction& at) {
    const std::string_view target = custom_call_target(at);
    return target.starts_with("__cublas$gemm") || target.starts_with("__cublas$lt$matmul");
}

bool is_cudnn_convolution(const XlaInstruction& at) { return custom_call_target(at).starts_with("__cudnn$conv"); }

Result<double> product_flops(const XlaInstruction& at, const XlaShape& lhs, const XlaShape& result,
                             const std::vector<std::int64_t>& contracted) {
    double flops = 2 * count_of(result);
    for (const std::int64_t dim : contracted) {
        ROOFLINE_TRY(const std::int64_t size, dim_of(at, lhs, dim));
        flops *= static_cast<double>(size);
    }
    return flops;
}

Result<std::optional<XlaCost>> known_custom_call(const XlaCostScope& scope, const XlaInstruction& at) {
    if (is_cublas_product(at)) {
        ROOFLINE_CHECK(need_operands(at, 2));
        const auto contracted = config_numbers(plain_config(at), "lhs_contracting_dimensions");
        if (!contracted) return fail_in(at, "needs lhs_contracting_dimensions in its backend_config");
        XlaCost cost = whole_cost(scope, at);
        ROOFLINE_TRY(cost.flops, product_flops(at, scope.operand(at, 0), first_array(at.shape), *contracted));
        count_first_result(at, cost);
        return cost;
    }
    if (is_cudnn_convolution(at)) {
        ROOFLINE_CHECK(need_operands(at, 2));
        XlaCost cost = whole_cost(scope, at);
        ROOFLINE_TRY(cost.flops,
                     convolution_flops(at, scope.operand(at, 0), scope.operand(at, 1), first_array(at.shape)));
        count_first_result(at, cost);
        return cost;
    }
    return stated_cost(scope, at);
}

Result<XlaCost> custom_call_cost(const XlaCostScope& scope, const XlaInstruction& at) {
    if (scope.gpu() || scope.options.price_custom_calls) {
        ROOFLINE_TRY(auto known, known_custom_call(scope, at));
        if (known) return std::move(*known);
    }
    XlaCost cost;
    const double unknown = scope.options.unknown;
    cost.known = false;
    cost.flops = unknown;
    cost.bytes = unknown;
    cost.output_bytes = unknown;
    cost.seconds = unknown;
    cost.operands.assign(at.operands.size(), {unknown, 1});
    return cost;
}

}  // namespace roofline::core
