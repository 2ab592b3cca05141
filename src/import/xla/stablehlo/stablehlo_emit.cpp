#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/stablehlo/stablehlo_reader.hpp"

namespace roofline::core {

namespace {

// Operations of Shardy write their axes, or the sharding they make, before or after the operand without a key.
std::string_view key_of_group(std::string_view name) {
    if (name == "sdy.reshard") return "sharding";
    if (name == "sdy.all_to_all") return "params";
    return name.starts_with("sdy.") ? "axes" : "";
}

// `dense<5> : tensor<i32>`: what stands inside of the brackets.
std::string_view literal_of(std::string_view value) {
    if (!value.starts_with("dense<")) return value;
    const std::size_t end =
        value.ends_with('>') && value.rfind("> : ") == std::string_view::npos ? value.size() - 1 : value.rfind("> : ");
    return value.substr(6, std::min(end, value.size()) - 6);
}

// Before layouts are assigned, XLA gives the result of a transpose the layout in which no element moves, and counts no
// bytes for it.
void leave_in_place(XlaInstruction& transpose, const XlaShape& from) {
    const std::vector<std::int64_t> dims = transpose.numbers("dimensions");
    const std::size_t rank = from.dims.size();
    if (dims.size() != rank || transpose.shape.dims.size() != rank) return;
    std::vector<int> place(rank, -1);  // of each dimension of the operand in the result
    for (std::size_t dim = 0; dim < rank; ++dim) {
        if (dims[dim] < 0 || static_cast<std::size_t>(dims[dim]) >= rank) return;
        place[static_cast<std::size_t>(dims[dim])] = static_cast<int>(dim);
    }
    std::vector<int> order;
    for (std::size_t i = 0; i < rank; ++i) {
        const int minor = from.minor_to_major.size() == rank ? from.minor_to_major[i] : static_cast<int>(rank - 1 - i);
        order.push_back(place[static_cast<std::size_t>(minor)]);
    }
    transpose.shape.put_layout(order);
}

std::string frontend_list(std::string_view list) { return fmt::format("{{{}}}", list); }

}  // namespace

XlaShape StablehloReader::shape_of(std::vector<XlaShape> types, bool tuple) {
    if (types.size() == 1 && !tuple) return std::move(types.front());
    XlaShape shape;
    shape.parts = std::move(types);
    return shape;
}

// The name of an operation's instruction. A tuple whose parts have names of their own has one that no value can have.
std::string_view StablehloReader::name_of(const StablehloOp& op, bool tuple) {
    if (op.results.empty()) {
        const std::string_view word = op.opcode == nullptr ? op.name : op.opcode->opcode;
        return notation_.keep(fmt::format("{}#{}", word, ++unnamed_));
    }
    const bool parts_are_numbered = op.results.size() == 1 && op.results.front().count > 1;
    return tuple && !parts_are_numbered ? other_name(op, "") : op.results.front().name;
}

std::string_view StablehloReader::other_name(const StablehloOp& op, std::string_view suffix) {
    const std::string_view name = op.results.empty() ? op.name : op.results.front().name;
    if (op.results.empty()) return notation_.keep(fmt::format("{}#{}{}", name, ++unnamed_, suffix));
    return notation_.keep(fmt::format("{}#{}", name, suffix));
}

Status StablehloReader::define_results(const StablehloOp& op, StablehloRegion& region, std::uint32_t instruction,
                                       bool parts) {
    std::uint32_t first = 0;
    for (const StablehloOp::Result& result : op.results) {
        const bool defined = parts ? region.define_parts(result.name, instruction, first, result.count)
                                   : region.define(result.name, instruction);
        if (!defined) {
            return scanner_.fail_at(op.offset, "defined_twice",
                                    fmt::format("the value {} is defined twice", in_ticks(result.name)));
        }
        first += result.count;
    }
    return {};
}

void StablehloReader::add_call(StablehloRegion& region, std::uint32_t instruction, std::string_view callee,
                               std::size_t offset) {
    open_calls_[&region].push_back({0, instruction, callee, offset});
}

// The functions that calls, composites and custom calls name.
void StablehloReader::add_calls(const StablehloOp& op, StablehloRegion& region, std::uint32_t instruction) {
    if (op.opcode == nullptr) return;
    std::string_view list;
    if (op.opcode->kind == StablehloKind::call) {
        list = op.attribute("callee");
        if (!op.symbol.empty()) add_call(region, instruction, op.symbol, op.offset);
    } else if (op.opcode->kind == StablehloKind::composite) {
        list = op.attribute("decomposition");
    } else if (op.opcode->kind == StablehloKind::custom_call) {
        list = op.attribute("called_computations");
    }
    MlirScanner names(list, {});
    for (std::size_t at = list.find('@'); at != std::string_view::npos; at = list.find('@', names.at())) {
        names.go_to(at);
        const auto name = names.take_symbol();
        if (!name) return;
        add_call(region, instruction, *name, op.offset);
    }
}

std::uint32_t StablehloReader::add_computation(StablehloRegion& region, std::string_view name) {
    region.computation.name = name;
    const auto index = static_cast<std::uint32_t>(module_.computations.size());
    const auto calls = open_calls_.find(&region);
    if (calls != open_calls_.end()) {
        for (Call call : calls->second) {
            call.computation = index;
            calls_.push_back(call);
        }
        open_calls_.erase(calls);
    }
    starts_.push_back(region.offset);
    module_.computations.push_back(std::move(region.computation));
    return index;
}

// The computation of `applies stablehlo.add`; all that apply the same share one.
std::uint32_t StablehloReader::applied(std::string_view opcode, const XlaElement& element) {
    std::string name = fmt::format("{}.{}", opcode, element.name);
    const auto known = applied_.find(name);
    if (known != applied_.end()) return known->second;
    StablehloRegion region(shared_, Arguments::apart, nullptr);
    XlaInstruction result;
    result.shape.element = &element;
    result.operands = {region.add_argument("lhs", result.shape, 0), region.add_argument("rhs", result.shape, 0)};
    result.name = "result";
    result.opcode = opcode;
    region.computation.root = region.add(std::move(result));
    const std::uint32_t index = add_computation(region, notation_.keep(name));
    applied_.emplace(std::move(name), index);
    return index;
}

// Makes a region with separate arguments a computation; what it uses from outside become operands of `op`.
Result<std::uint32_t> StablehloReader::close_region(StablehloOp& op, StablehloRegion& region) {
    if (!region.ended && op.opcode != nullptr) {
        return scanner_.fail_at(region.offset, "bad_stablehlo", "this region returns nothing");
    }
    region.number_arguments(region.captured());
    region.set_results(region.returned, false);
    op.operands.insert(op.operands.end(), region.captured().begin(), region.captured().end());
    op.captured += static_cast<std::uint32_t>(region.captured().size());
    return add_computation(region, notation_.keep(fmt::format("region_{}", regions_++)));
}

Status StablehloReader::return_values(StablehloOp& op, StablehloRegion& region) const {
    if (!op.results.empty()) return scanner_.fail_at(op.offset, "bad_stablehlo", "a return has no result");
    region.returned = std::move(op.operands);
    region.ended = true;
    return {};
}

std::uint32_t StablehloReader::add_tuple(const StablehloOp& op, StablehloRegion& region,
                                         const std::vector<std::uint32_t>& parts, std::string_view suffix) {
    XlaInstruction tuple;
    tuple.name = other_name(op, suffix);
    tuple.opcode = "tuple";
    tuple.operands = parts;
    for (const std::uint32_t part : parts) tuple.shape.parts.push_back(region.at(part).shape);
    tuple.origin = op.origin;
    tuple.offset = op.offset;
    return region.add(std::move(tuple));
}

Status StablehloReader::add_instruction(StablehloOp& op, StablehloRegion& region, XlaInstruction instruction) {
    // A while gives a tuple even of one variable.
    const bool loop = op.opcode != nullptr && op.opcode->kind == StablehloKind::loop;
    const bool parts = loop || op.result_count > 1;
    instruction.origin = op.origin;
    instruction.offset = op.offset;
    if (!countable(instruction.shape)) {
        return scanner_.fail_at(op.offset, "too_large", "these results have more bits than 63 bits can count");
    }
    const std::uint32_t index = region.add(std::move(instruction));
    add_calls(op, region, index);
    return define_results(op, region, index, parts);
}

// The location after an operation, and the instructions that the operation becomes.
Status StablehloReader::finish(StablehloOp& op, StablehloRegion& region) {
    ROOFLINE_CHECK(locations_.take(scanner_, op.origin));
    return emit(op, region);
}

Status StablehloReader::emit(StablehloOp& op, StablehloRegion& region) {
    const StablehloKind kind = op.opcode == nullptr ? StablehloKind::plain : op.opcode->kind;
    if (kind == StablehloKind::returns) return return_values(op, region);
    ROOFLINE_CHECK(check_types(op));
    if (kind == StablehloKind::barrier && op.types.size() > 1) return emit_barrier(op, region);
    if (kind == StablehloKind::broadcast_in_dim) drop_ones(op, region);
    XlaInstruction instruction;
    instruction.name = name_of(op, op.result_count != 1);
    instruction.opcode = op.opcode == nullptr ? op.name : op.opcode->opcode;
    instruction.shape = op.types.size() == 1 ? std::move(op.types.front()) : shape_of(op.types, false);
    translate_attributes(op, region, notation_, instruction);
    if (op.opcode == nullptr) {
        const std::string_view key = key_of_group(op.name);
        for (const std::string_view group : op.groups) instruction.attributes.push_back({key, group});
        for (const std::string_view word : op.words) instruction.attributes.push_back({word, {}});
    }
    if (instruction.opcode == "transpose" && op.operands.size() == 1) {
        leave_in_place(instruction, region.at(op.operands.front()).shape);
    }
    if (kind == StablehloKind::constant) {
        instruction.literal = literal_of(op.groups.empty() ? op.attribute("value") : op.groups.front());
    }
    if (kind == StablehloKind::constraint) {
        const std::string_view sharding = op.groups.empty() ? op.attribute("sharding") : op.groups.front();
        std::string list;
        notation_.add_frontend(list, "xla.sdy.sharding", sharding_of_value(sharding));
        instruction.attributes.push_back({"custom_call_target", "\"Sharding\""});
        instruction.attributes.push_back({"frontend_attributes", notation_.keep(frontend_list(list))});
    }
    if (op.captured > 0) instruction.attributes.push_back({"captured", notation_.number(op.captured)});
    instruction.operands = op.operands;
    instruction.called = op.called;
    return add_instruction(op, region, std::move(instruction));
}

// HLO cannot make a dimension of size 1 larger: a reshape drops it before, as XLA writes it.
void StablehloReader::drop_ones(StablehloOp& op, StablehloRegion& region) {
    const auto entry = std::find_if(op.attributes.begin(), op.attributes.end(), [](const XlaAttribute& attribute) {
        return attribute.key == "dims" || attribute.key == "broadcast_dimensions";
    });
    if (entry == op.attributes.end() || op.operands.size() != 1 || op.types.size() != 1) return;
    const auto numbers = mlir_numbers(entry->value);
    const XlaShape& from = region.at(op.operands.front()).shape;
    const std::vector<std::int64_t>& to = op.types.front().dims;
    if (!numbers || numbers->values.size() != from.dims.size()) return;
    XlaInstruction reshape;
    std::vector<std::int64_t> kept;
    reshape.shape.element = from.element;
    for (std::size_t dim = 0; dim < from.dims.size(); ++dim) {
        const std::int64_t target = numbers->values[dim];
        if (target < 0 || static_cast<std::size_t>(target) >= to.size()) return;
        if (from.dims[dim] == 1 && to[static_cast<std::size_t>(target)] != 1) continue;
        reshape.shape.dims.push_back(from.dims[dim]);
        kept.push_back(target);
    }
    if (kept.size() == from.dims.size()) return;
    reshape.name = other_name(op, "operand");
    reshape.opcode = "reshape";
    reshape.operands = op.operands;
    reshape.origin = op.origin;
    reshape.offset = op.offset;
    op.operands = {region.add(std::move(reshape))};
    entry->value = notation_.keep(fmt::format("[{}]", fmt::join(kept, ", ")));
}

// HLO's barrier takes and gives one tuple.
Status StablehloReader::emit_barrier(StablehloOp& op, StablehloRegion& region) {
    const std::uint32_t tuple = add_tuple(op, region, op.operands, "operands");
    XlaInstruction instruction;
    instruction.name = name_of(op, true);
    instruction.opcode = op.opcode->opcode;
    instruction.shape = shape_of(op.types, true);
    instruction.operands = {tuple};
    translate_attributes(op, region, notation_, instruction);
    return add_instruction(op, region, std::move(instruction));
}

// All variables are one tuple, and with them what condition and body use from outside, which the body hands on.
Status StablehloReader::emit_while(StablehloOp& op, StablehloRegion& region, StablehloRegion& condition,
                                   StablehloRegion& body) {
    ROOFLINE_CHECK(locations_.take(scanner_, op.origin));
    ROOFLINE_CHECK(check_types(op));
    const std::size_t count = op.operands.size();
    if (op.types.size() != count || condition.arguments() != count || body.arguments() != count ||
        body.returned.size() != count || condition.returned.size() != 1) {
        return scanner_.fail_at(op.offset, "bad_stablehlo",
                                "operands, results, arguments of both regions and values that the body returns must be "
                                "equally many, and the condition returns one value");
    }
    std::vector<std::uint32_t> all = condition.captured();
    std::unordered_set<std::uint32_t> seen(all.begin(), all.end());
    for (const std::uint32_t outside : body.captured()) {
        if (seen.insert(outside).second) all.push_back(outside);
    }
    condition.number_arguments(all);
    condition.set_results(condition.returned, false);
    for (const std::uint32_t outside : all) body.returned.push_back(body.argument_for(outside));
    body.number_arguments(all);
    body.set_results(body.returned, true);
    op.called = {add_computation(condition, notation_.keep(fmt::format("condition_{}", regions_))),
                 add_computation(body, notation_.keep(fmt::format("body_{}", regions_)))};
    ++regions_;

    std::vector<XlaShape> types = op.types;
    for (const std::uint32_t outside : all) {
        op.operands.push_back(outside);
        types.push_back(region.at(outside).shape);
    }
    XlaInstruction instruction;
    instruction.operands = {add_tuple(op, region, op.operands, "operands")};
    instruction.name = name_of(op, true);
    instruction.opcode = op.opcode->opcode;
    instruction.shape = shape_of(std::move(types), true);
    instruction.called = op.called;
    translate_attributes(op, region, notation_, instruction);
    return add_instruction(op, region, std::move(instruction));
}

// Each branch gets what it uses from outside as one tuple.
Status StablehloReader::emit_branches(StablehloOp& op, StablehloRegion& region,
                                      std::vector<std::unique_ptr<StablehloRegion>>& branches) {
    ROOFLINE_CHECK(locations_.take(scanner_, op.origin));
    ROOFLINE_CHECK(check_types(op));
    if (op.operands.size() != 1) {
        return scanner_.fail_at(op.offset, "bad_stablehlo", "a case needs one operand: the number of its branch");
    }
    for (std::size_t number = 0; number < branches.size(); ++number) {
        StablehloRegion& branch = *branches[number];
        if (branch.returned.size() != op.types.size() || branch.arguments() != 0) {
            return scanner_.fail_at(branch.offset, "bad_stablehlo",
                                    "each branch must return as many values as there are results, without arguments");
        }
        branch.number_arguments(branch.captured());
        branch.set_results(branch.returned, false);
        op.operands.push_back(add_tuple(op, region, branch.captured(), fmt::format("branch{}", number)));
        op.called.push_back(add_computation(branch, notation_.keep(fmt::format("region_{}", regions_++))));
    }
    XlaInstruction instruction;
    instruction.name = name_of(op, op.types.size() != 1);
    instruction.opcode = op.opcode->opcode;
    instruction.shape = shape_of(op.types, false);
    instruction.operands = op.operands;
    instruction.called = op.called;
    translate_attributes(op, region, notation_, instruction);
    return add_instruction(op, region, std::move(instruction));
}

// As XLA writes it: arguments are cut to local shapes, the body is called, and its results are put together again.
Status StablehloReader::emit_manual(StablehloOp& op, StablehloRegion& region, StablehloRegion& body) {
    ROOFLINE_CHECK(locations_.take(scanner_, op.origin));
    ROOFLINE_CHECK(check_types(op));
    const std::size_t count = op.operands.size();
    if (body.arguments() != count || body.returned.size() != op.types.size() || !body.ended) {
        return scanner_.fail_at(op.offset, "bad_stablehlo",
                                "operands and arguments, and results and values that the body returns, must be equally "
                                "many");
    }
    const bool manual = op.opcode->kind == StablehloKind::manual;
    std::vector<XlaShape> local;
    for (std::size_t number = 0; number < count; ++number) local.push_back(body.at(body.argument(number)).shape);
    std::vector<XlaShape> returned;
    for (const std::uint32_t value : body.returned) returned.push_back(body.at(value).shape);
    const std::vector<std::uint32_t> operands = op.operands;
    op.operands.clear();
    ROOFLINE_TRY(const std::uint32_t computation, close_region(op, body));

    const auto conversion = [&](std::string_view key, std::string_view shardings, std::string_view target) {
        XlaInstruction instruction;
        instruction.opcode = "custom-call";
        instruction.origin = op.origin;
        instruction.offset = op.offset;
        instruction.attributes.push_back({"custom_call_target", target});
        std::string list;
        const auto add_shardings = [&] {
            const std::string_view value = op.attribute(shardings);
            notation_.add_frontend(
                list, key,
                value.starts_with('[') ? fmt::format("#sdy.sharding_per_value<{}>", value) : std::string(value));
        };
        const bool first = key < "xla.sdy.manual_axes";  // XLA sorts them
        if (first) add_shardings();
        const std::string_view axes = op.attribute("manual_axes");
        notation_.add_frontend(list, "xla.sdy.manual_axes",
                               axes.starts_with('{') ? fmt::format("#sdy<manual_axes{}>", axes) : std::string(axes));
        if (!first) add_shardings();
        instruction.attributes.push_back({"frontend_attributes", notation_.keep(frontend_list(list))});
        return instruction;
    };

    XlaInstruction call;
    call.operands = operands;
    if (manual && count > 0) {
        auto cut = conversion("xla.sdy.in_shardings", "in_shardings", "\"xla.sdy.GlobalToLocalShape\"");
        cut.name = other_name(op, "local");
        cut.operands = operands;
        cut.shape = shape_of(local, false);
        const std::uint32_t parts = region.add(std::move(cut));
        call.operands = {parts};
        if (count > 1) call.operands.clear();
        for (std::uint32_t part = 0; count > 1 && part < count; ++part) {
            call.operands.push_back(region.add_part(parts, part, other_name(op, fmt::format("local{}", part))));
        }
    }
    call.operands.insert(call.operands.end(), op.operands.begin(), op.operands.end());
    call.name = manual ? other_name(op, "call") : name_of(op, op.types.size() != 1);
    call.opcode = "call";
    call.called = {computation};
    call.shape = shape_of(returned, false);
    call.origin = op.origin;
    call.offset = op.offset;
    if (op.captured > 0) call.attributes.push_back({"captured", notation_.number(op.captured)});
    translate_attributes(op, region, notation_, call);
    if (manual) call.attributes.push_back({"frontend_attributes", "{inlineable=\"false\"}"});
    if (!manual || op.types.empty()) return add_instruction(op, region, std::move(call));

    const std::uint32_t results = region.add(std::move(call));
    auto whole = conversion("xla.sdy.out_shardings", "out_shardings", "\"xla.sdy.LocalToGlobalShape\"");
    whole.name = name_of(op, op.types.size() != 1);
    whole.shape = shape_of(op.types, false);
    whole.operands = {results};
    if (op.types.size() > 1) whole.operands.clear();
    for (std::uint32_t part = 0; op.types.size() > 1 && part < op.types.size(); ++part) {
        whole.operands.push_back(region.add_part(results, part, other_name(op, fmt::format("result{}", part))));
    }
    return add_instruction(op, region, std::move(whole));
}

}  // namespace roofline::core
