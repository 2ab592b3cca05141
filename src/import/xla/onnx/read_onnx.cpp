#include "import/xla/onnx/read_onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/onnx/onnx_call.hpp"
#include "import/xla/onnx/onnx_model.hpp"
#include "import/xla/proto/hlo_proto_instruction.hpp"
#include "text/protobuf.hpp"

namespace roofline::core {

namespace {

constexpr int deepest_call = 64;
constexpr std::size_t most_nodes = 1'000'000;

/// The values of a graph or of a function's body by name. Those of the graph around a graph can be used in it; they
/// are parts of the tuple that is its computation's parameter.
struct OnnxScope {
    OnnxBuilder& hlo;
    OnnxScope* around = nullptr;   ///< of the graph in which this one stands
    bool own_computation = false;  ///< whether its instructions are in another computation than those of `around`
    std::unordered_map<std::string_view, OnnxValue> values{};
    std::unordered_map<std::string_view, const OnnxType*> types{};
    std::vector<OnnxValue> captured{};                  ///< values of `around`, in the order of the parameter's parts
    std::uint32_t state = 0;                            ///< the parts of the parameter before those
    const std::vector<OnnxAttribute>* given = nullptr;  ///< attributes of the call, in a function
    const std::map<std::string_view, std::int64_t>* opsets = nullptr;
    std::string prefix{};  ///< of scopes: the calls of functions around
};

class OnnxModuleReader {
public:
    OnnxModuleReader(std::shared_ptr<const std::string> bytes, const std::string& name, const DimSizes& sizes)
        : file_(*bytes, name, "ONNX model"), sizes_(sizes) {
        module_.text = std::move(bytes);
        module_.spoken = std::make_shared<std::deque<std::string>>();
        module_.binary = true;
    }

    Result<XlaModule> read() {
        ROOFLINE_TRY(model_, read_onnx_model(file_));
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

private:
    std::string_view shown(std::string_view name) { return readable(name, *module_.spoken); }

    // Where a node stands in messages and in the tree of scopes: exporters write "/layers.0/attn/MatMul".
    OnnxPlace place_of(const OnnxNode& node, const OnnxScope& scope) {
        OnnxPlace place;
        const auto named =
            std::find_if(node.outputs.begin(), node.outputs.end(), [](auto each) { return !each.empty(); });
        std::string_view name = node.name.empty() && named != node.outputs.end() ? *named : node.name;
        if (name.empty()) name = node.type;
        while (name.starts_with('/')) name.remove_prefix(1);
        place.name = shown(name.empty() ? node.type : name);
        place.origin.op_name = scope.prefix.empty()
                                   ? place.name
                                   : module_.spoken->emplace_back(scope.prefix + "/" + std::string(place.name));
        place.offset = node.offset;
        return place;
    }

    tl::unexpected<Error> fail_node(const OnnxNode& node, const std::string& message, std::string hint = {}) {
        std::string_view name = shown(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name);
        return file_.fail_at(node.offset, "bad_onnx",
                             fmt::format("{} {}: {}", shown(node.type), in_ticks(name), message), std::move(hint));
    }

    // Inputs and initializers are parameters; only small initializers of numbers stay known.
    Status bind_inputs(OnnxScope& scope) {
        const OnnxGraph& graph = model_.graph;
        std::set<std::string_view> stored;
        for (const OnnxTensor& each : graph.initializers) stored.insert(each.name);
        std::set<std::string> open;
        std::set<std::string> named;
        std::string shapes;
        const auto size_of = [&](const OnnxType& input, std::size_t axis) -> std::int64_t {
            const OnnxDim& dim = (*input.dims)[axis];
            if (dim.size) return *dim.size;
            const std::string key = dim.name.empty() ? fmt::format("{}.{}", input.name, axis) : std::string(dim.name);
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
                return file_.fail_at(
                    input.offset, "bad_onnx",
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

    Status check_sizes(const std::set<std::string>& open, const std::set<std::string>& named) const {
        for (const auto& [name, size] : sizes_) {
            if (named.contains(name)) continue;
            return fail("unknown_dimension",
                        fmt::format("the model has no dimension {} without a size", in_ticks(name)),
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

    Status check_builder(const OnnxScope& scope, std::size_t offset, std::string_view what, std::string_view name) {
        const auto& problem = scope.hlo.problem();
        if (!problem) return {};
        return file_.fail_at(offset, "bad_onnx", fmt::format("{} {}: {}", what, in_ticks(shown(name)), problem->first),
                             problem->second);
    }

    Status define(OnnxScope& scope, std::string_view name, OnnxValue value, std::size_t offset) {
        if (name.empty()) return {};
        if (scope.values.emplace(name, std::move(value)).second) return {};
        return file_.fail_at(offset, "defined_twice", fmt::format("{} is defined twice", in_ticks(shown(name))));
    }

    // A value of this scope or of one around it. From another computation it comes as a part of the parameter.
    std::optional<OnnxValue> find(OnnxScope& scope, std::string_view name) {
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

    Status read_nodes(const std::vector<OnnxNode>& nodes, OnnxScope& scope, int depth) {
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
            ROOFLINE_CHECK(read_node(node, std::move(inputs), scope, depth));
            if (scope.hlo.problem()) return fail_node(node, scope.hlo.problem()->first, scope.hlo.problem()->second);
        }
        return {};
    }

    Status read_node(const OnnxNode& node, std::vector<std::optional<OnnxValue>> inputs, OnnxScope& scope, int depth) {
        const auto function =
            std::find_if(model_.functions.begin(), model_.functions.end(), [&](const OnnxFunction& f) {
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
        if (write == nullptr) return unknown_node(node, inputs, scope);
        write(call);
        if (call.failed()) return {};
        for (std::size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].empty()) continue;
            auto value = call.output(i);
            if (!value) {
                // An output that an operator has only in training, or for its caller's convenience.
                return fail_node(node, fmt::format("nothing is known of its output {}", i),
                                 "leave it out of the model");
            }
            ROOFLINE_CHECK(check_type(node, node.outputs[i], value->shape, scope));
            ROOFLINE_CHECK(define(scope, node.outputs[i], *std::move(value), node.offset));
        }
        return {};
    }

    static OnnxOperator operator_of(const OnnxNode& node) {
        constexpr OnnxOperator (*files[])(std::string_view) = {
            find_elementwise_operator, find_matmul_operator, find_window_operator,   find_normalisation_operator,
            find_movement_operator,    find_shape_operator,  find_attention_operator};
        if (node.domain == "com.microsoft") {
            if (const OnnxOperator found = find_attention_operator("com.microsoft." + std::string(node.type)))
                return found;
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
    static std::vector<OnnxAttribute> attributes_of(const OnnxNode& node, const OnnxScope& scope) {
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

    Status call_function(const OnnxFunction& function, const OnnxNode& node, const std::vector<OnnxAttribute>& given,
                         const std::vector<std::optional<OnnxValue>>& inputs, OnnxScope& scope, int depth) {
        OnnxScope inside{scope.hlo};
        inside.opsets = &function.opsets;
        inside.prefix = std::string(place_of(node, scope).origin.op_name);
        std::vector<OnnxAttribute> attributes = given;
        attributes.insert(attributes.end(), function.defaults.begin(), function.defaults.end());
        inside.given = &attributes;
        if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
            return fail_node(node, "it has more inputs or outputs than its function");
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (inputs[i]) ROOFLINE_CHECK(define(inside, function.inputs[i], *inputs[i], node.offset));
        }
        ROOFLINE_CHECK(read_nodes(function.nodes, inside, depth + 1));
        for (std::size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].empty()) continue;
            auto value = find(inside, function.outputs[i]);
            if (!value) return fail_node(node, fmt::format("its function does not define its output {}", i));
            ROOFLINE_CHECK(check_type(node, node.outputs[i], value->shape, scope));
            ROOFLINE_CHECK(define(scope, node.outputs[i], *std::move(value), node.offset));
        }
        return {};
    }

    // The size that a file's type gives for a dimension, as far as it is known.
    std::optional<std::int64_t> size_of(const OnnxDim& dim) const {
        if (dim.size) return dim.size;
        const auto found = sizes_.find(dim.name);
        return dim.name.empty() || found == sizes_.end() ? std::nullopt : std::optional(found->second);
    }

    Status check_type(const OnnxNode& node, std::string_view output, const XlaShape& shape, const OnnxScope& scope) {
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
        return fail_node(node, fmt::format("its result {} has the shape {}, and the file says {}",
                                           in_ticks(shown(output)), shape_text(shape), type_text(type)));
    }

    std::string type_text(const OnnxType& type) {
        std::vector<std::string> dims;
        for (const OnnxDim& dim : type.dims.value_or(std::vector<OnnxDim>{})) {
            dims.push_back(dim.size           ? fmt::format("{}", *dim.size)
                           : dim.name.empty() ? "?"
                                              : std::string(shown(dim.name)));
        }
        return fmt::format("{}[{}]", type.element == nullptr ? "?" : type.element->name, fmt::join(dims, ","));
    }

    // Its bytes are known where the file says what it returns.
    Status unknown_node(const OnnxNode& node, const std::vector<std::optional<OnnxValue>>& inputs, OnnxScope& scope) {
        XlaShape all;
        for (const std::string_view output : node.outputs) {
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
        for (const std::string_view output : node.outputs) {
            if (output.empty() || scope.hlo.problem()) continue;
            OnnxValue value = made;
            if (!one) {
                value =
                    scope.hlo.emit("get-tuple-element", all.parts[part], {made}, {{"index", fmt::format("{}", part)}});
            }
            ++part;
            ROOFLINE_CHECK(define(scope, output, std::move(value), node.offset));
        }
        return {};
    }

    // The last instruction of a graph: its output, or a tuple of all of them.
    Status finish(OnnxScope& scope, const std::vector<OnnxType>& outputs, const std::vector<OnnxValue>& before) {
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

    // A graph as a computation whose parameter is a tuple: `state`, then what it uses of the graph around it.
    struct Branch {
        std::uint32_t computation = 0;
        std::vector<OnnxValue> captured;
        std::vector<XlaShape> results;
    };

    template <class Prepare, class Finish>
    Result<Branch> read_graph(const OnnxGraph& graph, OnnxScope& around, int depth, std::uint32_t state,
                              const Prepare& prepare, const Finish& finish_graph) {
        OnnxBuilder hlo(module_);
        hlo.go_to(around.hlo.place());
        OnnxScope scope{hlo};
        scope.around = &around;
        scope.own_computation = true;
        scope.state = state;
        scope.given = around.given;
        scope.opsets = around.opsets;
        scope.prefix = std::string(around.hlo.place().origin.op_name);
        hlo.parameter("state", XlaShape{}, 0);
        ROOFLINE_CHECK(prepare(scope));
        for (const OnnxTensor& each : graph.initializers) {
            if (each.element == nullptr) continue;
            OnnxValue value = each.numbers ? OnnxBuilder::known(array_of(each.element, each.dims), *each.numbers)
                                           : hlo.emit("constant", array_of(each.element, each.dims), {});
            ROOFLINE_CHECK(define(scope, each.name, std::move(value), each.offset));
        }
        for (const auto* list : {&graph.types, &graph.outputs}) {
            for (const OnnxType& type : *list) scope.types.emplace(type.name, &type);
        }
        ROOFLINE_CHECK(read_nodes(graph.nodes, scope, depth + 1));
        ROOFLINE_CHECK(finish_graph(scope));
        if (hlo.problem()) around.hlo.fail_once(hlo.problem()->first, hlo.problem()->second);
        Branch branch;
        XlaComputation& made = hlo.computation();
        for (const OnnxValue& each : scope.captured) made.instructions[0].shape.parts.push_back(each.shape);
        for (const auto operand : made.result().operands) branch.results.push_back(made.instructions[operand].shape);
        made.name = module_.spoken->emplace_back(fmt::format("graph.{}", module_.computations.size()));
        module_.computations.push_back(std::move(made));
        branch.computation = static_cast<std::uint32_t>(module_.computations.size() - 1);
        branch.captured = std::move(scope.captured);
        return branch;
    }

    static const OnnxGraph* graph_of(const std::vector<OnnxAttribute>& attributes, std::string_view name) {
        const auto found = std::find_if(attributes.begin(), attributes.end(),
                                        [&](const OnnxAttribute& each) { return each.name == name; });
        return found == attributes.end() ? nullptr : found->graph.get();
    }

    OnnxValue tuple_of(OnnxScope& scope, const std::vector<OnnxValue>& parts) {
        XlaShape shape;
        for (const OnnxValue& each : parts) shape.parts.push_back(each.shape);
        return scope.hlo.emit("tuple", shape, parts);
    }

    Status read_if(const OnnxNode& node, const std::vector<OnnxAttribute>& attributes,
                   const std::vector<std::optional<OnnxValue>>& inputs, OnnxScope& scope, int depth) {
        const OnnxGraph* const yes = graph_of(attributes, "then_branch");
        const OnnxGraph* const no = graph_of(attributes, "else_branch");
        if (yes == nullptr || no == nullptr || inputs.size() != 1 || !inputs[0]) {
            return fail_node(node, "it needs a condition and two branches");
        }
        std::vector<Branch> branches;
        const bool known = inputs[0]->numbers && inputs[0]->numbers->size() == 1;
        for (const OnnxGraph* each : {yes, no}) {
            // Of a condition that is known only one branch can be taken.
            if (known && (each == yes) != (inputs[0]->numbers->front() != 0)) continue;
            ROOFLINE_TRY(auto branch, read_graph(
                                          *each, scope, depth, 0, [](OnnxScope&) { return Status{}; },
                                          [&](OnnxScope& inside) { return finish(inside, each->outputs, {}); }));
            branches.push_back(std::move(branch));
        }
        if (scope.hlo.problem()) return {};
        const Branch& first = branches.front();
        for (const Branch& each : branches) {
            if (each.results == first.results && each.results.size() >= node.outputs.size()) continue;
            return fail_node(node, "the shapes of what its branches return differ");
        }
        XlaShape shape;
        shape.parts = first.results;
        OnnxValue made;
        if (known) {
            made = scope.hlo.emit("call", shape, {tuple_of(scope, first.captured)}, {}, {first.computation});
        } else {
            const OnnxValue condition = scope.hlo.reshape(*inputs[0], {});
            const OnnxValue true_state = tuple_of(scope, branches[0].captured);
            const OnnxValue false_state = tuple_of(scope, branches[1].captured);
            made = scope.hlo.emit("conditional", shape, {condition, true_state, false_state}, {},
                                  {branches[0].computation, branches[1].computation});
        }
        return define_parts(node, made, shape, 0, scope);
    }

    Status define_parts(const OnnxNode& node, const OnnxValue& tuple, const XlaShape& shape, std::size_t first,
                        OnnxScope& scope) {
        for (std::size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].empty() || scope.hlo.problem()) continue;
            const XlaShape& part = shape.parts[first + i];
            ROOFLINE_CHECK(check_type(node, node.outputs[i], part, scope));
            OnnxValue value =
                scope.hlo.emit("get-tuple-element", part, {tuple}, {{"index", fmt::format("{}", first + i)}});
            ROOFLINE_CHECK(define(scope, node.outputs[i], std::move(value), node.offset));
        }
        return {};
    }

    // Loop(M, condition, carried...): its body gets the iteration, the condition and what is carried, and returns the
    // condition, what is carried, and a part of each result that is stacked.
    Status read_loop(const OnnxNode& node, const std::vector<OnnxAttribute>& attributes,
                     const std::vector<std::optional<OnnxValue>>& inputs, OnnxScope& scope, int depth) {
        const OnnxGraph* const body = graph_of(attributes, "body");
        if (body == nullptr || inputs.size() < 2 || body->inputs.size() != inputs.size() || body->outputs.empty() ||
            body->outputs.size() + 1 < inputs.size() || node.outputs.size() > body->outputs.size() - 1) {
            return fail_node(node, "its inputs and outputs do not fit its body");
        }
        const std::size_t carried = inputs.size() - 2;
        const std::size_t stacked = body->outputs.size() - 1 - carried;
        const bool counted = inputs[0] && inputs[0]->numbers && inputs[0]->numbers->size() == 1;
        const OnnxNumber most = counted ? inputs[0]->numbers->front() : 0;
        if (stacked > 0 && (!counted || most < 0 || most > 1e9L)) {
            return fail_node(node, "how often it runs is not known, and so is the shape of what it stacks");
        }
        const XlaElement* const s64 = find_xla_element("s64");
        const XlaElement* const logical = find_xla_element("pred");
        std::vector<OnnxValue> state = {OnnxBuilder::scalar(s64, 0)};
        for (std::size_t i = 0; i < carried; ++i) {
            if (!inputs[i + 2]) return fail_node(node, fmt::format("its input {} is missing", i + 2));
            state.push_back(*inputs[i + 2]);
            state.back().numbers = inputs[i + 2]->numbers;
        }
        const auto parts = static_cast<std::uint32_t>(1 + carried + stacked);
        bool runs_on = false;
        std::vector<XlaShape> stacks;
        const auto prepare = [&](OnnxScope& inside) -> Status {
            OnnxValue parameter;
            parameter.at = 0;
            const auto part = [&](std::size_t index, const XlaShape& shape) {
                return inside.hlo.emit("get-tuple-element", shape, {parameter}, {{"index", fmt::format("{}", index)}});
            };
            auto& made = inside.hlo.computation().instructions[0].shape.parts;
            for (const OnnxValue& each : state) made.push_back(each.shape);
            ROOFLINE_CHECK(define(inside, body->inputs[0].name, part(0, array_of(s64, {})), node.offset));
            ROOFLINE_CHECK(define(inside, body->inputs[1].name, OnnxBuilder::scalar(logical, 1), node.offset));
            for (std::size_t i = 0; i < carried; ++i) {
                ROOFLINE_CHECK(define(inside, body->inputs[i + 2].name, part(i + 1, state[i + 1].shape), node.offset));
            }
            return {};
        };
        const auto finish_body = [&](OnnxScope& inside) -> Status {
            const auto condition = find(inside, body->outputs[0].name);
            runs_on =
                condition && condition->numbers && condition->numbers->size() == 1 && condition->numbers->front() != 0;
            OnnxValue iteration = *find(inside, body->inputs[0].name);
            std::vector<OnnxValue> after = {inside.hlo.apply("add", {iteration, OnnxBuilder::scalar(s64, 1)})};
            for (std::size_t i = 0; i < carried + stacked; ++i) {
                const auto value = find(inside, body->outputs[i + 1].name);
                if (!value) return fail_node(node, fmt::format("its body does not define its output {}", i + 1));
                if (i < carried) {
                    after.push_back(*value);
                    if (value->shape.dims == state[i + 1].shape.dims) continue;
                    return fail_node(node, fmt::format("{} changes its shape from one iteration to the next",
                                                       in_ticks(shown(body->outputs[i + 1].name))));
                }
                XlaShape stack = value->shape;
                stack.dims.insert(stack.dims.begin(), static_cast<std::int64_t>(most));
                if (!countable(stack)) return fail_node(node, "what it stacks has more elements than can be counted");
                OnnxValue parameter;
                parameter.at = 0;
                inside.hlo.computation().instructions[0].shape.parts.push_back(stack);
                const OnnxValue before =
                    inside.hlo.emit("get-tuple-element", stack, {parameter}, {{"index", fmt::format("{}", i + 1)}});
                OnnxDims row = value->shape.dims;
                row.insert(row.begin(), 1);
                after.push_back(inside.hlo.emit("dynamic-update-slice", stack,
                                                {before, inside.hlo.reshape(*value, row), iteration}));
                stacks.push_back(std::move(stack));
            }
            for (std::size_t i = 0; i < inside.captured.size(); ++i) {
                OnnxValue parameter;
                parameter.at = 0;
                after.push_back(inside.hlo.emit("get-tuple-element", inside.captured[i].shape, {parameter},
                                                {{"index", fmt::format("{}", parts + i)}}));
            }
            return finish(inside, {}, after);
        };
        ROOFLINE_TRY(const Branch made, read_graph(*body, scope, depth, parts, prepare, finish_body));
        if (scope.hlo.problem()) return {};
        for (const XlaShape& stack : stacks) state.push_back(scope.hlo.filled(stack, 0));
        for (const OnnxValue& each : made.captured) state.push_back(each);
        const OnnxValue before = tuple_of(scope, state);
        const std::uint32_t condition =
            loop_condition(scope, before.shape, counted && runs_on ? std::optional(most) : std::nullopt);
        const OnnxValue loop = scope.hlo.emit("while", before.shape, {before}, {}, {condition, made.computation});
        return define_parts(node, loop, before.shape, 1, scope);
    }

    // `i < most`, or nothing that tells how often the loop runs.
    std::uint32_t loop_condition(OnnxScope& scope, const XlaShape& state, std::optional<OnnxNumber> most) {
        OnnxBuilder hlo(module_);
        hlo.go_to(scope.hlo.place());
        const XlaElement* const s64 = find_xla_element("s64");
        const OnnxValue parameter = hlo.parameter("state", state, 0);
        const OnnxValue iteration = hlo.emit("get-tuple-element", array_of(s64, {}), {parameter}, {{"index", "0"}});
        const OnnxValue limit =
            most ? OnnxBuilder::scalar(s64, *most) : hlo.emit("rng-get-and-update-state", array_of(s64, {}), {});
        const OnnxValue goes_on = hlo.apply("lt", {iteration, limit});
        hlo.computation().root = goes_on.at;
        hlo.computation().name = module_.spoken->emplace_back(fmt::format("condition.{}", module_.computations.size()));
        module_.computations.push_back(std::move(hlo.computation()));
        return static_cast<std::uint32_t>(module_.computations.size() - 1);
    }

    ProtoFile file_;
    const DimSizes& sizes_;
    OnnxModel model_;
    XlaModule module_;
    std::size_t nodes_ = 0;
};

}  // namespace

Result<XlaModule> read_onnx(std::string bytes, const std::string& name, const DimSizes& sizes) {
    auto kept = std::make_shared<const std::string>(std::move(bytes));
    return OnnxModuleReader(std::move(kept), name, sizes).read();
}

}  // namespace roofline::core
