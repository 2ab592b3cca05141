// Functions of an ONNX model, and the graphs of If and Loop.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/onnx/onnx_reader.hpp"

namespace roofline::core {

namespace {

const OnnxGraph* graph_of(const std::vector<OnnxAttribute>& attributes, std::string_view name) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const OnnxAttribute& each) { return each.name == name; });
    return found == attributes.end() ? nullptr : found->graph.get();
}

OnnxValue tuple_of(OnnxScope& scope, const std::vector<OnnxValue>& parts) {
    XlaShape shape;
    for (const OnnxValue& each : parts) shape.parts.push_back(each.shape);
    return scope.hlo.emit("tuple", shape, parts);
}

}  // namespace

Status OnnxModuleReader::call_function(const OnnxFunction& function, const OnnxNode& node, const Attributes& given,
                                       const Inputs& inputs, OnnxScope& scope, int depth) {
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

Result<OnnxModuleReader::Branch> OnnxModuleReader::read_graph(const OnnxGraph& graph, OnnxScope& around, int depth,
                                                              std::uint32_t state, const InGraph& prepare,
                                                              const InGraph& finish_graph) {
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

Status OnnxModuleReader::read_if(const OnnxNode& node, const Attributes& attributes, const Inputs& inputs,
                                 OnnxScope& scope, int depth) {
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

Status OnnxModuleReader::define_parts(const OnnxNode& node, const OnnxValue& tuple, const XlaShape& shape,
                                      std::size_t first, OnnxScope& scope) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].empty() || scope.hlo.problem()) continue;
        const XlaShape& part = shape.parts[first + i];
        ROOFLINE_CHECK(check_type(node, node.outputs[i], part, scope));
        OnnxValue value = scope.hlo.emit("get-tuple-element", part, {tuple}, {{"index", fmt::format("{}", first + i)}});
        ROOFLINE_CHECK(define(scope, node.outputs[i], std::move(value), node.offset));
    }
    return {};
}

// Loop(M, condition, carried...): its body gets the iteration, the condition and what is carried, and returns the
// condition, what is carried, and a part of each result that is stacked.
Status OnnxModuleReader::read_loop(const OnnxNode& node, const Attributes& attributes, const Inputs& inputs,
                                   OnnxScope& scope, int depth) {
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
    OnnxValue iteration;  // which the body may leave without a name
    const auto prepare = [&](OnnxScope& inside) -> Status {
        OnnxValue parameter;
        parameter.at = 0;
        const auto part = [&](std::size_t index, const XlaShape& shape) {
            return inside.hlo.emit("get-tuple-element", shape, {parameter}, {{"index", fmt::format("{}", index)}});
        };
        auto& made = inside.hlo.computation().instructions[0].shape.parts;
        for (const OnnxValue& each : state) made.push_back(each.shape);
        iteration = part(0, array_of(s64, {}));
        ROOFLINE_CHECK(define(inside, body->inputs[0].name, iteration, node.offset));
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
            after.push_back(
                inside.hlo.emit("dynamic-update-slice", stack, {before, inside.hlo.reshape(*value, row), iteration}));
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
std::uint32_t OnnxModuleReader::loop_condition(OnnxScope& scope, const XlaShape& state,
                                               std::optional<OnnxNumber> most) {
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

}  // namespace roofline::core
