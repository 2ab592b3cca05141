#include "import/xla/onnx/read_onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/onnx/onnx_reader.hpp"
#include "import/xla/proto/hlo_proto_instruction.hpp"

namespace roofline::core {

namespace {

constexpr int deepest_call = 64;
constexpr std::size_t most_nodes = 1'000'000;

OnnxOperator operator_of(const OnnxNode& node) {
    constexpr OnnxOperator (*files[])(std::string_view) = {
        find_elementwise_operator, find_matmul_operator, find_window_operator, find_normalisation_operator,
        find_movement_operator,    find_image_operator,  find_shape_operator,  find_attention_operator};
    if (node.domain == "com.microsoft") {
        if (const OnnxOperator found = find_attention_operator("com.microsoft." + std::string(node.type))) return found;
        if (node.type == "Attention") return nullptr;
    } else if (!node.domain.empty()) {
        return nullptr;
    }
    for (const auto& find_in : files) {
        if (const OnnxOperator found = find_in(node.type)) return found;
    }
    return nullptr;
}

// Those of a function's body may be those of its call.
std::vector<OnnxAttribute> attributes_of(const OnnxNode& node, const OnnxScope& scope) {
    std::vector<OnnxAttribute> made;
    for (const OnnxAttribute& each : node.attributes) {
        if (each.refers.empty()) {
            made.push_back(each);
            continue;
        }
        if (scope.given == nullptr) continue;
        const auto given = std::find_if(scope.given->begin(), scope.given->end(),
                                        [&](const OnnxAttribute& other) { return other.name == each.refers; });
        if (given == scope.given->end()) continue;
        made.push_back(*given);
        made.back().name = each.name;
    }
    return made;
}

}  // namespace

OnnxModuleReader::OnnxModuleReader(std::shared_ptr<const std::string> bytes, const std::string& name,
                                   const DimSizes& sizes)
    : file_(*bytes, name, "ONNX model"), sizes_(sizes) {
    module_.text = std::move(bytes);
    module_.spoken = std::make_shared<std::deque<std::string>>();
    module_.binary = true;
}

Result<XlaModule> OnnxModuleReader::read() {
    ROOFLINE_TRY(model_, read_onnx_model(file_));
    // Before, Add and its like named the axis along which they stretch their second operand.
    constexpr std::int64_t oldest_opset = 7;
    const auto opset = model_.opsets.find("");
    if (opset != model_.opsets.end() && opset->second < oldest_opset) {
        return file_.fail_at(0, "unsupported",
                             fmt::format("the model has opset {}, and 7 is the oldest that is read", opset->second),
                             "convert it: onnx.version_converter.convert_version(model, 17)");
    }
    module_.name = std::string(readable(model_.graph.name, *module_.spoken));
    OnnxBuilder hlo(module_);
    OnnxScope scope{hlo};
    scope.opsets = &model_.opsets;
    ROOFLINE_CHECK(bind_inputs(scope));
    ROOFLINE_CHECK(read_nodes(model_.graph.nodes, scope, 0));
    ROOFLINE_CHECK(finish(scope, model_.graph.outputs, {}));
    hlo.computation().name = "main";
    module_.computations.push_back(std::move(hlo.computation()));
    module_.entry = static_cast<std::uint32_t>(module_.computations.size() - 1);
    if (put_callees_first(module_)) return file_.fail_at(0, "cycle", "a computation calls itself");
    return std::move(module_);
}

std::string_view OnnxModuleReader::shown(std::string_view name) { return readable(name, *module_.spoken); }

// Where a node stands in messages and in the tree of scopes: exporters write "/layers.0/attn/MatMul".
OnnxPlace OnnxModuleReader::place_of(const OnnxNode& node, const OnnxScope& scope) {
    OnnxPlace place;
    const auto named = std::find_if(node.outputs.begin(), node.outputs.end(), [](auto each) { return !each.empty(); });
    std::string_view name = node.name.empty() && named != node.outputs.end() ? *named : node.name;
    if (name.empty()) name = node.type;
    while (name.starts_with('/')) name.remove_prefix(1);
    place.name = shown(name.empty() ? node.type : name);
    place.origin.op_name =
        scope.prefix.empty() ? place.name : module_.spoken->emplace_back(scope.prefix + "/" + std::string(place.name));
    place.offset = node.offset;
    return place;
}

tl::unexpected<Error> OnnxModuleReader::fail_node(const OnnxNode& node, const std::string& message, std::string hint) {
    std::string_view name = shown(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name);
    return file_.fail_at(node.offset, "bad_onnx", fmt::format("{} {}: {}", shown(node.type), in_ticks(name), message),
                         std::move(hint));
}

// Inputs and initializers are parameters; only small initializers of numbers stay known.
Status OnnxModuleReader::bind_inputs(OnnxScope& scope) {
    const OnnxGraph& graph = model_.graph;
    std::set<std::string_view> stored;
    for (const OnnxTensor& each : graph.initializers) stored.insert(each.name);
    std::set<std::string> open;
    std::set<std::string> named;
    const auto size_of = [&](const OnnxType& input, std::size_t axis) -> std::int64_t {
        const OnnxDim& dim = (*input.dims)[axis];
        if (dim.size) return *dim.size;
        const std::string key =
            dim.name.empty() ? fmt::format("{}.{}", shown(input.name), axis) : std::string(shown(dim.name));
        named.insert(key);
        const auto found = sizes_.find(key);
        if (found != sizes_.end()) return found->second;
        open.insert(key);
        return 1;
    };
    std::int64_t number = 0;
    std::vector<std::pair<const OnnxType*, XlaShape>> inputs;
    for (const OnnxType& input : graph.inputs) {
        if (stored.contains(input.name)) continue;  // its default
        const std::string_view name = shown(input.name);
        if (!input.is_tensor || input.element == nullptr || !input.dims) {
            return file_.fail_at(input.offset, "bad_onnx",
                                 fmt::format("the input {} is no tensor of numbers with a known rank", in_ticks(name)));
        }
        OnnxDims dims;
        for (std::size_t d = 0; d < input.dims->size(); ++d) dims.push_back(size_of(input, d));
        inputs.emplace_back(&input, array_of(input.element, std::move(dims)));
    }
    ROOFLINE_CHECK(check_sizes(open, named));
    for (auto& [input, shape] : inputs) {
        scope.hlo.go_to({shown(input->name), {}, input->offset});
        ROOFLINE_CHECK(
            define(scope, input->name, scope.hlo.parameter(shown(input->name), shape, number++), input->offset));
        ROOFLINE_CHECK(check_builder(scope, input->offset, "input", input->name));
    }
    for (const OnnxTensor& each : graph.initializers) {
        if (each.element == nullptr) continue;  // text
        scope.hlo.go_to({shown(each.name), {}, each.offset});
        OnnxValue value =
            each.numbers && (each.element->kind != XlaElement::Kind::floating || each.numbers->size() == 1)
                ? OnnxBuilder::known(array_of(each.element, each.dims), *each.numbers)
                : scope.hlo.parameter(shown(each.name), array_of(each.element, each.dims), number++);
        // Factors of a Resize are real numbers, and small.
        constexpr std::size_t few = 8;
        if (each.numbers && each.numbers->size() <= few) value.numbers = each.numbers;
        ROOFLINE_CHECK(define(scope, each.name, std::move(value), each.offset));
        ROOFLINE_CHECK(check_builder(scope, each.offset, "initializer", each.name));
    }
    for (const auto* list : {&graph.types, &graph.outputs}) {
        for (const OnnxType& type : *list) scope.types.emplace(type.name, &type);
    }
    return {};
}

Status OnnxModuleReader::check_sizes(const std::set<std::string>& open, const std::set<std::string>& named) const {
    for (const auto& [name, size] : sizes_) {
        if (named.contains(name)) continue;
        return fail("unknown_dimension", fmt::format("the model has no dimension {} without a size", in_ticks(name)),
                    did_you_mean(name, {named.begin(), named.end()},
                                 named.empty() ? "all its inputs have fixed sizes"
                                               : fmt::format("it has: {}", fmt::join(named, ", "))));
    }
    if (open.empty()) return {};
    std::vector<std::string> examples;
    for (const std::string& each : open) examples.push_back(each + "=1");
    return fail("unbound_dimension",
                fmt::format("the model's inputs have dimensions without a size: {}", fmt::join(open, ", ")),
                fmt::format("give them: --dims {}", fmt::join(examples, ",")));
}

Status OnnxModuleReader::check_builder(const OnnxScope& scope, std::size_t offset, std::string_view what,
                                       std::string_view name) {
    const auto& problem = scope.hlo.problem();
    if (!problem) return {};
    return file_.fail_at(offset, "bad_onnx", fmt::format("{} {}: {}", what, in_ticks(shown(name)), problem->first),
                         problem->second);
}

Status OnnxModuleReader::define(OnnxScope& scope, std::string_view name, OnnxValue value, std::size_t offset) {
    if (name.empty()) return {};
    if (scope.values.emplace(name, std::move(value)).second) return {};
    return file_.fail_at(offset, "defined_twice", fmt::format("{} is defined twice", in_ticks(shown(name))));
}

// A value of this scope or of one around it. From another computation it comes as a part of the parameter.
std::optional<OnnxValue> OnnxModuleReader::find(OnnxScope& scope, std::string_view name) {
    const auto found = scope.values.find(name);
    if (found != scope.values.end()) return found->second;
    if (scope.around == nullptr) return std::nullopt;
    auto outer = find(*scope.around, name);
    if (!outer || !scope.own_computation) return outer;
    if (outer->at == OnnxValue::nowhere) return outer;  // numbers are known everywhere
    const auto part = scope.state + static_cast<std::uint32_t>(scope.captured.size());
    scope.captured.push_back(*outer);
    OnnxValue parameter;
    parameter.at = 0;
    OnnxValue value =
        scope.hlo.emit("get-tuple-element", outer->shape, {parameter}, {{"index", fmt::format("{}", part)}});
    value.numbers = outer->numbers;
    scope.values.emplace(name, value);
    return value;
}

Status OnnxModuleReader::read_nodes(const std::vector<OnnxNode>& nodes, OnnxScope& scope, int depth) {
    if (depth > deepest_call) return file_.fail_at(0, "too_deep", "graphs and functions are nested too deeply");
    for (const OnnxNode& node : nodes) {
        if (++nodes_ > most_nodes) {
            return fail_node(node, "the model has more than a million nodes once its functions are inlined");
        }
        std::vector<std::optional<OnnxValue>> inputs;
        for (const std::string_view name : node.inputs) {
            inputs.emplace_back();
            if (name.empty()) continue;
            scope.hlo.go_to(place_of(node, scope));
            inputs.back() = find(scope, name);
            if (inputs.back()) continue;
            return file_.fail_at(node.offset, "undefined",
                                 fmt::format("{} {}: its input {} is not defined before it", shown(node.type),
                                             in_ticks(shown(node.name)), in_ticks(shown(name))));
        }
        ROOFLINE_CHECK(read_node(node, inputs, scope, depth));
        if (scope.hlo.problem()) return fail_node(node, scope.hlo.problem()->first, scope.hlo.problem()->second);
    }
    return {};
}

Status OnnxModuleReader::read_node(const OnnxNode& node, const Inputs& inputs, OnnxScope& scope, int depth) {
    const auto function = std::find_if(model_.functions.begin(), model_.functions.end(), [&](const OnnxFunction& f) {
        return f.name == node.type && f.domain == node.domain && f.overload == node.overload;
    });
    const std::vector<OnnxAttribute> attributes = attributes_of(node, scope);
    if (function != model_.functions.end()) return call_function(*function, node, attributes, inputs, scope, depth);
    scope.hlo.go_to(place_of(node, scope));
    if (node.domain.empty() && node.type == "If") return read_if(node, attributes, inputs, scope, depth);
    if (node.domain.empty() && node.type == "Loop") return read_loop(node, attributes, inputs, scope, depth);
    const auto opset = scope.opsets->find(node.domain);
    OnnxCall call(node, attributes, scope.hlo, inputs, opset == scope.opsets->end() ? 1 : opset->second);
    const OnnxOperator write = operator_of(node);
    if (write == nullptr) return unknown_node(node, inputs, scope, 0);
    write(call);
    if (call.failed()) return {};
    if (call.unknown()) return unknown_node(node, inputs, scope, 0);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].empty()) continue;
        auto value = call.output(i);
        // What an operator returns in training, or for its caller's convenience, is another kernel.
        if (!value) return unknown_node(node, inputs, scope, i);
        ROOFLINE_CHECK(check_type(node, node.outputs[i], value->shape, scope));
        ROOFLINE_CHECK(define(scope, node.outputs[i], *std::move(value), node.offset));
    }
    return {};
}

// The size that a file's type gives for a dimension, as far as it is known.
std::optional<std::int64_t> OnnxModuleReader::size_of(const OnnxDim& dim) const {
    if (dim.size) return dim.size;
    const auto found = sizes_.find(dim.name);
    return dim.name.empty() || found == sizes_.end() ? std::nullopt : std::optional(found->second);
}

Status OnnxModuleReader::check_type(const OnnxNode& node, std::string_view output, const XlaShape& shape,
                                    const OnnxScope& scope) {
    const auto found = scope.types.find(output);
    if (found == scope.types.end() || !found->second->is_tensor || shape.is_tuple()) return {};
    const OnnxType& type = *found->second;
    bool same = type.element == nullptr || type.element == shape.element;
    if (type.dims) {
        same = same && type.dims->size() == shape.dims.size();
        for (std::size_t d = 0; same && d < shape.dims.size(); ++d) {
            same = size_of((*type.dims)[d]).value_or(shape.dims[d]) == shape.dims[d];
        }
    }
    if (same) return {};
    return fail_node(node, fmt::format("its result {} has the shape {}, and the file says {}", in_ticks(shown(output)),
                                       shape_text(shape), type_text(type)));
}

std::string OnnxModuleReader::type_text(const OnnxType& type) {
    std::vector<std::string> dims;
    for (const OnnxDim& dim : type.dims.value_or(std::vector<OnnxDim>{})) {
        dims.push_back(dim.size ? fmt::format("{}", *dim.size) : dim.name.empty() ? "?" : std::string(shown(dim.name)));
    }
    return fmt::format("{}[{}]", type.element == nullptr ? "?" : type.element->name, fmt::join(dims, ","));
}

// Its bytes are known where the file says what it returns.
Status OnnxModuleReader::unknown_node(const OnnxNode& node, const Inputs& inputs, OnnxScope& scope, std::size_t first) {
    XlaShape all;
    for (std::size_t i = first; i < node.outputs.size(); ++i) {
        const std::string_view output = node.outputs[i];
        if (output.empty()) continue;
        const auto found = scope.types.find(output);
        XlaShape shape;
        if (found != scope.types.end() && found->second->element != nullptr && found->second->dims) {
            shape.element = found->second->element;
            for (const OnnxDim& dim : *found->second->dims) {
                if (const auto size = size_of(dim)) shape.dims.push_back(*size);
            }
        }
        if (shape.element == nullptr || shape.dims.size() != found->second->dims->size()) {
            return fail_node(node,
                             fmt::format("the operator is not known, and the file does not say what shape its "
                                         "result {} has",
                                         in_ticks(shown(output))),
                             "write shapes into the file: onnx.shape_inference.infer_shapes(model), or "
                             "python -m onnxruntime.tools.symbolic_shape_infer");
        }
        all.parts.push_back(std::move(shape));
    }
    std::vector<OnnxValue> operands;
    for (const auto& each : inputs) {
        if (each) operands.push_back(*each);
    }
    const std::string target =
        std::string(shown(node.domain)) + (node.domain.empty() ? "" : ".") + std::string(shown(node.type));
    const bool one = all.parts.size() == 1;
    const OnnxValue made = scope.hlo.unknown(target, one ? all.parts[0] : all, operands);
    std::size_t part = 0;
    for (std::size_t i = first; i < node.outputs.size(); ++i) {
        const std::string_view output = node.outputs[i];
        if (output.empty() || scope.hlo.problem()) continue;
        OnnxValue value = made;
        if (!one) {
            value = scope.hlo.emit("get-tuple-element", all.parts[part], {made}, {{"index", fmt::format("{}", part)}});
        }
        ++part;
        ROOFLINE_CHECK(define(scope, output, std::move(value), node.offset));
    }
    return {};
}

// The last instruction of a graph: its output, or a tuple of all of them.
Status OnnxModuleReader::finish(OnnxScope& scope, const std::vector<OnnxType>& outputs,
                                const std::vector<OnnxValue>& before) {
    std::vector<OnnxValue> results = before;
    for (const OnnxType& output : outputs) {
        auto value = find(scope, output.name);
        if (!value) {
            return file_.fail_at(output.offset, "undefined",
                                 fmt::format("the output {} is not defined", in_ticks(shown(output.name))));
        }
        results.push_back(*std::move(value));
    }
    XlaShape shape;
    for (const OnnxValue& each : results) shape.parts.push_back(each.shape);
    OnnxPlace place = scope.hlo.place();
    place.name = "outputs";
    place.origin = {};
    scope.hlo.go_to(place);
    const OnnxValue tuple = scope.hlo.emit("tuple", shape, results);
    scope.hlo.computation().root = tuple.at;
    return {};
}

Result<XlaModule> read_onnx(std::string bytes, const std::string& name, const DimSizes& sizes) {
    auto kept = std::make_shared<const std::string>(std::move(bytes));
    return OnnxModuleReader(std::move(kept), name, sizes).read();
}

}  // namespace roofline::core
