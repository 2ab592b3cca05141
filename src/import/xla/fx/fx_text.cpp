#include "import/xla/fx/fx_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "import/xla/fx/fx_call.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

using Named = std::vector<std::pair<std::string_view, FxValue>>;

struct OtherName {
    std::string_view name;
    std::string_view op;
};

// Names of methods, operators and functions for operations of ATen.
constexpr OtherName operation_names[] = {{"absolute", "abs"},
                                         {"convert_element_type", "_to_copy"},
                                         {"divide", "div"},
                                         {"greater", "gt"},
                                         {"greater_equal", "ge"},
                                         {"iadd", "add"},
                                         {"imul", "mul"},
                                         {"invert", "bitwise_not"},
                                         {"isub", "sub"},
                                         {"itruediv", "div"},
                                         {"less", "lt"},
                                         {"less_equal", "le"},
                                         {"lshift", "bitwise_left_shift"},
                                         {"mod", "remainder"},
                                         {"multiply", "mul"},
                                         {"negative", "neg"},
                                         {"not", "bitwise_not"},
                                         {"not_equal", "ne"},
                                         {"permute_copy", "permute"},
                                         {"rshift", "bitwise_right_shift"},
                                         {"slice_copy", "slice"},
                                         {"special_erf", "erf"},
                                         {"special_expit", "sigmoid"},
                                         {"subtract", "sub"},
                                         {"transpose_copy", "transpose"},
                                         {"view_copy", "view"}};

constexpr std::string_view no_class =
    "the file does not say its class; record it with roofline.torch_graph, or give its node a \"class\"";

/// The name of an operation without its namespace and overload.
struct Target {
    std::string_view op;
    std::string_view overload;
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// "aten.add_.Tensor", "torch.nn.functional.gelu", "operator.add", "<built-in function add>". Nothing for operations of
// others, which may have the name of one of PyTorch's.
std::optional<Target> target_of(const FxNode& node) {
    std::string_view text = node.target;
    Target target;
    constexpr std::string_view operators = "<built-in function ";
    constexpr std::string_view functions = "<built-in method ";
    if (node.op == "call_method") {
        target.op = text;
    } else if (text.starts_with(operators) && text.ends_with('>')) {
        target.op = text.substr(operators.size(), text.size() - operators.size() - 1);
    } else if (text.starts_with(functions)) {
        text.remove_prefix(functions.size());
        target.op = text.substr(0, text.find(' '));
    } else {
        const std::size_t dot = text.find('.');
        const std::string_view space = text.substr(0, dot);
        if (dot == std::string_view::npos) return std::nullopt;
        if (is_one_of(space, {"torch", "operator", "_operator", "math"})) {
            if (text.starts_with("torch.ops.")) return std::nullopt;
            target.op = text.substr(text.rfind('.') + 1);
        } else if (is_one_of(space,
                             {"aten", "prims", "_c10d_functional", "c10d_functional", "_c10d_functional_autograd"})) {
            target.op = text.substr(dot + 1);
            const std::size_t second = std::min(target.op.find('.'), target.op.size());
            target.overload = target.op.substr(std::min(second + 1, target.op.size()));
            target.op = target.op.substr(0, second);
        } else {
            return std::nullopt;
        }
    }
    if (target.op.ends_with('_') && !target.op.ends_with("__")) target.op.remove_suffix(1);  // in place
    for (const OtherName& other : operation_names) {
        if (other.name == target.op) target.op = other.op;
    }
    return target;
}

XlaShape shape_of(const FxType& type) {
    XlaShape shape;
    if (type.kind == FxType::Kind::tensor) return type.shape;
    if (type.kind == FxType::Kind::number) {
        shape.element = find_xla_element("token");
        return shape;
    }
    for (const FxType& each : type.items) shape.parts.push_back(shape_of(each));
    return shape;
}

// What is known without computing: numbers, and lists of them. Nothing if there is a tensor in it.
std::optional<FxValue> constant_of(const FxType& type) {
    if (type.kind == FxType::Kind::number) return FxValue::of_number(type.number);
    if (type.kind != FxType::Kind::list || type.items.empty()) return std::nullopt;
    std::vector<FxValue> items;
    for (const FxType& each : type.items) {
        const auto one = constant_of(each);
        if (!one) return std::nullopt;
        items.push_back(*one);
    }
    return FxValue::of_list(std::move(items));
}

class FxReader {
public:
    FxReader(std::shared_ptr<const std::string> text, const std::string& name)
        : text_(std::move(text)), source_(*text_, name), name_(name) {}

    Result<XlaModule> read() {
        ROOFLINE_TRY(auto graph, read_fx_graph(*text_, name_));
        return make(std::move(graph));
    }

    Result<XlaModule> make(FxGraph graph) {
        graph_ = std::move(graph);
        values_.reserve(graph_.nodes.size());
        for (const FxNode& node : graph_.nodes) {
            if (node.op == "output") {
                FxValue result = node.args.empty() ? FxValue{} : value_of(node.args.front());
                return to_.take(result, graph_.devices, text_);
            }
            to_.begin(node);
            FxValue made = value_of_node(node);
            if (handed_on_ > most_handed_on) {
                return source_.fail_at(source_.span(node.offset), "too_large",
                                       "the graph hands on more than 20 million values");
            }
            sizes_.push_back(size_of(made));
            to_.finish(made);
            values_.push_back(std::move(made));
        }
        return source_.fail_at(source_.span(graph_.nodes.back().offset), "bad_graph", "the graph has no output",
                               "it may be cut off: record it again");
    }

private:
    static std::size_t size_of(const FxValue& value) {
        std::size_t size = 1;
        for (const FxValue& each : value.items) size += size_of(each);
        return size;
    }

    // Lists are copied where they are used; beyond the limit nothing is.
    [[nodiscard]] FxValue value_of(const FxArgument& argument) {
        switch (argument.kind) {
            case FxArgument::Kind::flag:
            case FxArgument::Kind::number:
                return FxValue::of_number(argument.number);
            case FxArgument::Kind::text:
                return {FxValue::Kind::text, 0, 0, argument.text, {}};
            case FxArgument::Kind::node:
                handed_on_ += sizes_[argument.node];
                return handed_on_ > most_handed_on ? FxValue{} : values_[argument.node];
            case FxArgument::Kind::list:
            case FxArgument::Kind::slice: {
                FxValue list;
                list.kind = argument.kind == FxArgument::Kind::list ? FxValue::Kind::list : FxValue::Kind::slice;
                for (const FxArgument& each : argument.items) list.items.push_back(value_of(each));
                return list;
            }
            case FxArgument::Kind::none:
                break;
        }
        return {};
    }

    FxValue value_of_node(const FxNode& node) {
        if (node.op == "placeholder" || node.op == "get_attr") {
            if (node.type.kind == FxType::Kind::tensor) return FxValue::of(to_.parameter(node.type.shape));
            return constant_of(node.type).value_or(FxValue{});
        }
        if (auto constant = constant_of(node.type)) return std::move(*constant);
        std::vector<FxValue> args;
        for (const FxArgument& each : node.args) args.push_back(value_of(each));
        Named kwargs;
        for (const auto& [key, each] : node.kwargs) kwargs.emplace_back(key, value_of(each));
        if (node.op == "call_module") {
            if (auto made = called_fx_module(to_, graph_, node, args, kwargs)) return std::move(*made);
            return unknown(node, args, kwargs);
        }
        const auto target = target_of(node);
        if (!target) return unknown(node, args, kwargs);
        if (auto made = call(node.type, *target, args, kwargs)) return std::move(*made);
        return unknown(node, args, kwargs);
    }

    std::optional<FxValue> call(const FxType& type, Target target, const std::vector<FxValue>& args,
                                const Named& kwargs) {
        constexpr std::string_view each_of = "_foreach_";
        if (target.op.starts_with(each_of)) {
            target.op.remove_prefix(each_of.size());
            return call_each(type, target, args, kwargs);
        }
        const FxRule rule = find_fx_rule(target.op);
        if (rule == nullptr) return std::nullopt;
        FxCall made{to_, graph_, target.op, target.overload, args, kwargs, type};
        return rule(made);
    }

    // One call for each element of the lists.
    std::optional<FxValue> call_each(const FxType& type, const Target& target, const std::vector<FxValue>& args,
                                     const Named& kwargs) {
        if (args.empty() || !args.front().is(FxValue::Kind::list)) return std::nullopt;
        const std::size_t count = args.front().items.size();
        std::vector<FxValue> results;
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<FxValue> own;
            for (const FxValue& each : args) {
                const bool list = each.is(FxValue::Kind::list) && each.items.size() == count;
                own.push_back(list ? each.items[i] : each);
            }
            FxType of_one;
            if (type.kind == FxType::Kind::list && i < type.items.size()) {
                of_one = type.items[i];
            } else if (own.front().is(FxValue::Kind::array)) {  // in place
                of_one.kind = FxType::Kind::tensor;
                of_one.shape = to_.shape(own.front().instruction);
            }
            auto made = call(of_one, target, own, kwargs);
            if (!made) return std::nullopt;
            results.push_back(std::move(*made));
        }
        return FxValue::of_list(std::move(results));
    }

    FxValue unknown(const FxNode& node, const std::vector<FxValue>& args, const Named& kwargs) {
        const FxCall given{to_, graph_, "", "", args, kwargs, node.type};
        std::vector<std::uint32_t> operands = given.arrays();
        std::string opcode = node.target;
        std::vector<XlaAttribute> attributes;
        if (node.op == "call_module") {
            opcode = node.kind.empty() ? fmt::format("module {}", node.target) : node.kind;
            if (node.kind.empty()) attributes.push_back({"unknown_because", no_class});
            for (const auto& [key, type] : node.parameters) {
                if (type.kind == FxType::Kind::tensor) operands.push_back(to_.parameter(type.shape));
            }
        } else if (node.op == "call_method") {
            opcode = fmt::format("method {}", node.target);
        }
        // No operation of HLO has a dot or a blank in its name.
        if (opcode.find_first_of(". ") == std::string::npos) opcode = fmt::format("function {}", opcode);
        const std::uint32_t made =
            to_.add(to_.keep(std::move(opcode)), shape_of(node.type), std::move(operands), std::move(attributes));
        return results_of(made, node.type);
    }

    FxValue results_of(std::uint32_t made, const FxType& type) {
        if (type.kind == FxType::Kind::tensor) return FxValue::of(made);
        if (type.kind == FxType::Kind::number) return FxValue::of_number(type.number);
        if (type.kind == FxType::Kind::none) return {};
        FxValue parts = to_.parts_of(made);
        for (std::size_t i = 0; i < type.items.size(); ++i) {
            parts.items[i] = results_of(parts.items[i].instruction, type.items[i]);
        }
        return parts;
    }

    std::shared_ptr<const std::string> text_;
    Source source_;
    const std::string& name_;
    FxGraph graph_;
    FxBuilder to_;
    static constexpr std::size_t most_handed_on = 20'000'000;
    std::vector<FxValue> values_;     ///< of the nodes
    std::vector<std::size_t> sizes_;  ///< numbers of values in them
    std::size_t handed_on_ = 0;       ///< values that arguments had so far
};

}  // namespace

bool is_fx_graph(std::string_view text) {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    return start != std::string_view::npos && text[start] == '{';
}

Result<XlaModule> read_fx_text(std::string text, const std::string& name) {
    return FxReader(std::make_shared<const std::string>(std::move(text)), name).read();
}

Result<XlaModule> make_fx_module(FxGraph graph, const std::string& name) {
    return FxReader(std::make_shared<const std::string>(), name).make(std::move(graph));
}

}  // namespace roofline::core
