// Called modules as calls of the operations that they make.
#include <algorithm>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

/// A class of torch.nn: its operation, and the arguments after the input, by the names of its parameters, buffers and
/// settings.
struct FxClass {
    std::string_view name;
    std::string_view op;
    std::string_view arguments{};
};

constexpr FxClass classes[] = {
    {"AdaptiveAvgPool1d", "adaptive_avg_pool1d"},
    {"AdaptiveAvgPool2d", "adaptive_avg_pool2d"},
    {"AdaptiveAvgPool3d", "adaptive_avg_pool3d"},
    {"AvgPool1d", "avg_pool1d"},
    {"AvgPool2d", "avg_pool2d"},
    {"AvgPool3d", "avg_pool3d"},
    {"BatchNorm1d", "batch_norm", "weight bias running_mean running_var"},
    {"BatchNorm2d", "batch_norm", "weight bias running_mean running_var"},
    {"BatchNorm3d", "batch_norm", "weight bias running_mean running_var"},
    {"Conv1d", "conv1d", "weight bias"},
    {"Conv2d", "conv2d", "weight bias"},
    {"Conv3d", "conv3d", "weight bias"},
    {"ConvTranspose1d", "conv_transpose1d", "weight bias"},
    {"ConvTranspose2d", "conv_transpose2d", "weight bias"},
    {"ConvTranspose3d", "conv_transpose3d", "weight bias"},
    {"CrossEntropyLoss", "cross_entropy_loss"},
    {"Dropout", "dropout"},
    {"Dropout1d", "dropout"},
    {"Dropout2d", "dropout"},
    {"ELU", "elu"},
    {"Embedding", "embedding", "weight"},
    {"Flatten", "flatten"},
    {"GELU", "gelu"},
    {"GroupNorm", "group_norm", "num_groups weight bias"},
    {"Hardsigmoid", "hardsigmoid"},
    {"Hardswish", "hardswish"},
    {"Hardtanh", "hardtanh"},
    {"Identity", "identity"},
    {"InstanceNorm1d", "instance_norm", "weight bias"},
    {"InstanceNorm2d", "instance_norm", "weight bias"},
    {"LayerNorm", "layer_norm", "normalized_shape weight bias"},
    {"LeakyReLU", "leaky_relu"},
    {"Linear", "linear", "weight bias"},
    {"LogSigmoid", "logsigmoid"},
    {"LogSoftmax", "log_softmax"},
    {"MSELoss", "mse_loss"},
    {"MaxPool1d", "max_pool1d"},
    {"MaxPool2d", "max_pool2d"},
    {"MaxPool3d", "max_pool3d"},
    {"Mish", "mish"},
    {"NLLLoss", "nll_loss"},
    {"RMSNorm", "rms_norm", "normalized_shape weight"},
    {"ReLU", "relu"},
    {"ReLU6", "relu6"},
    {"SiLU", "silu"},
    {"Sigmoid", "sigmoid"},
    {"Softmax", "softmax"},
    {"Softplus", "softplus"},
    {"Tanh", "tanh"},
    {"Unflatten", "unflatten"},
};

FxValue value_of_setting(const FxArgument& setting) {
    switch (setting.kind) {
        case FxArgument::Kind::flag:
        case FxArgument::Kind::number:
            return FxValue::of_number(setting.number);
        case FxArgument::Kind::text:
            return {FxValue::Kind::text, 0, 0, setting.text, {}};
        case FxArgument::Kind::list: {
            std::vector<FxValue> items;
            for (const FxArgument& each : setting.items) items.push_back(value_of_setting(each));
            return FxValue::of_list(std::move(items));
        }
        default:
            return {};
    }
}

// A class of torch.nn, with or without its module: a class of the same name elsewhere is another one.
const FxClass* find_class(std::string_view kind) {
    std::string_view name = kind;
    if (const std::size_t dot = kind.rfind('.'); dot != std::string_view::npos) {
        if (!kind.starts_with("torch.nn.")) return nullptr;
        name = kind.substr(dot + 1);
    }
    const auto* const found =
        std::find_if(std::begin(classes), std::end(classes), [&](const FxClass& each) { return each.name == name; });
    return found == std::end(classes) ? nullptr : found;
}

}  // namespace

std::optional<FxValue> called_fx_module(FxBuilder& to, const FxGraph& graph, const FxNode& node,
                                        std::vector<FxValue> args,
                                        std::vector<std::pair<std::string_view, FxValue>> kwargs) {
    const FxClass* known = find_class(node.kind);
    if (known == nullptr) return std::nullopt;
    if (known->op == "identity") {
        const bool array = !args.empty() && args.front().is(FxValue::Kind::array);
        return array ? std::optional(args.front()) : std::nullopt;
    }
    const auto parameter = [&](std::string_view name) -> FxValue {
        for (const auto& [key, type] : node.parameters) {
            if (key == name && type.kind == FxType::Kind::tensor) return FxValue::of(to.parameter(type.shape));
        }
        for (const auto& [key, setting] : node.settings) {
            if (key == name) return value_of_setting(setting);
        }
        return {};
    };
    std::string_view rest = known->arguments;
    while (!rest.empty()) {
        const std::size_t blank = std::min(rest.find(' '), rest.size());
        args.push_back(parameter(rest.substr(0, blank)));
        rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    // The weight of a linear layer follows from its input and its result.
    if (known->op == "linear" && node.parameters.empty() && !args.empty() && args[0].is(FxValue::Kind::array) &&
        node.type.kind == FxType::Kind::tensor && !node.type.shape.dims.empty() &&
        !to.dims(args[0].instruction).empty()) {
        XlaShape weight =
            to.shape_like(args[0].instruction, {node.type.shape.dims.back(), to.dims(args[0].instruction).back()});
        if (countable(weight)) args[1] = FxValue::of(to.parameter(weight));
    }
    for (const auto& [key, setting] : node.settings) kwargs.emplace_back(key, value_of_setting(setting));
    FxCall call{to, graph, known->op, "", std::move(args), std::move(kwargs), node.type};
    const FxRule rule = find_fx_rule(known->op);
    return rule == nullptr ? std::nullopt : rule(call);
}

}  // namespace roofline::core
