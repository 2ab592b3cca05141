#include "import/profile/result_shapes.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "import/profile/result_rules.hpp"
#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

/// Names of backends for operations of ATen, and where their arguments stand there; "-" is none, "f" false,
/// "t" true.
struct BackendName {
    std::string_view name;
    std::string_view op;
    std::string_view order{};
};
constexpr BackendName backends[] = {
    {"_convolution", "convolution"},
    {"cudnn_convolution", "convolution", "01-324f-5"},
    {"miopen_convolution", "convolution", "012435f-6"},
    {"convolution_overrideable", "convolution"},
    {"cudnn_batch_norm", "native_batch_norm"},
    {"miopen_batch_norm", "native_batch_norm"},
    {"cudnn_batch_norm_backward", "native_batch_norm_backward", "1023456t"},
    {"miopen_batch_norm_backward", "native_batch_norm_backward", "1023456t"},
};

}  // namespace

Status put_results(ResultQuestion& question) {
    std::string_view op = question.op;
    if (op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
    for (const BackendName& backend : backends) {
        if (backend.name != op) continue;
        op = backend.op;
        question.node.target = fmt::format("aten.{}", op);
        if (backend.order.empty()) break;
        std::vector<FxArgument> args;
        for (const char place : backend.order) {
            FxArgument argument;
            const auto index = static_cast<std::size_t>(place - '0');
            if (place == 'f' || place == 't') {
                argument.kind = FxArgument::Kind::flag;
                argument.number = place == 't' ? 1 : 0;
            } else if (place != '-' && index < question.node.args.size()) {
                argument = question.node.args[index];
            }
            args.push_back(std::move(argument));
        }
        question.node.args = std::move(args);
        break;
    }
    const bool in_place = op.size() < question.op.size() && question.op.substr(0, op.size()) == op;
    question.op = op;
    const CallTypes call(question);
    MaybeType type;
    const ResultRule* const rule = find_result_rule(op);
    // Before 2.1 PyTorch did not record what a list of tensors has.
    if ((op.starts_with("_foreach_") || op == "cat") && (call.args().empty() || call.args().front().items.empty())) {
        return fail("no_shapes", "the shapes of its list of tensors were not recorded",
                    "record with a PyTorch of 2.1 or later, with record_shapes=True");
    }
    if (op.starts_with("_foreach_")) {
        type.emplace();
        type->kind = FxType::Kind::list;
        for (const FxArgument& item : call.args().front().items) {
            if (const FxType* each = call.tensor_of(item)) type->items.push_back(*each);
        }
    } else if (rule != nullptr) {
        if (rule->needs_values && !question.has_values) {
            return fail("no_values", fmt::format("aten::{} needs the values of its scalar inputs", op),
                        "record with a PyTorch of 2.1 or later, with record_shapes=True");
        }
        type = in_place ? type_like(call, 0) : rule->rule(call);
    } else if (fx_elementwise_rule(op) != nullptr) {
        type = in_place ? type_like(call, 0) : broadcast_type(call);
    } else {
        return fail("no_rule", fmt::format("aten::{} is not known here", op));
    }
    if (!type) return fail("bad_inputs", fmt::format("the inputs of aten::{} do not fit it", op));
    question.node.type = std::move(*type);
    return {};
}

}  // namespace roofline::core
