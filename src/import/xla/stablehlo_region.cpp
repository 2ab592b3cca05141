#include "import/xla/stablehlo_region.hpp"

#include <utility>

namespace roofline::core {

StablehloRegion::StablehloRegion(HloNotation& notation, Arguments arguments, StablehloRegion* outer)
    : notation_(notation), kind_(arguments), outer_(outer) {
    if (kind_ == Arguments::apart) return;
    XlaInstruction tuple;
    tuple.name = "arguments#";  // no value of MLIR can have such a name
    tuple.opcode = "parameter";
    tuple.literal = "0";
    add(std::move(tuple));
}

std::uint32_t StablehloRegion::add(XlaInstruction instruction) {
    computation.instructions.push_back(std::move(instruction));
    return static_cast<std::uint32_t>(computation.instructions.size() - 1);
}

std::uint32_t StablehloRegion::add_argument(std::string_view name, XlaShape shape, std::size_t at) {
    XlaInstruction argument;
    argument.name = name;
    argument.offset = at;
    if (kind_ == Arguments::tuple) {
        argument.opcode = "get-tuple-element";
        argument.operands.push_back(0);
        argument.attributes.push_back({"index", notation_.number(arguments_.size())});
        computation.instructions.front().shape.parts.push_back(shape);
    } else {
        argument.opcode = "parameter";
        argument.literal = notation_.number(arguments_.size());
    }
    argument.shape = std::move(shape);
    arguments_.push_back(add(std::move(argument)));
    return arguments_.back();
}

std::uint32_t StablehloRegion::add_part(std::uint32_t tuple, std::uint32_t part, std::string_view name) {
    XlaInstruction element;
    element.name = name;
    element.opcode = "get-tuple-element";
    element.shape = at(tuple).shape.parts[part];
    element.operands.push_back(tuple);
    element.attributes.push_back({"index", notation_.number(part)});
    element.origin = at(tuple).origin;
    element.offset = at(tuple).offset;
    return add(std::move(element));
}

bool StablehloRegion::define(std::string_view name, std::uint32_t instruction) {
    return values_.try_emplace(name, Value{instruction, 0, 0}).second;
}

bool StablehloRegion::define_parts(std::string_view name, std::uint32_t tuple, std::uint32_t first,
                                   std::uint32_t count) {
    return values_.try_emplace(name, Value{tuple, first, count}).second;
}

std::optional<std::uint32_t> StablehloRegion::find(const MlirName& name) {
    const bool numbered = name.whole.size() != name.base.size();
    if (numbered) {
        const auto known = values_.find(name.whole);
        if (known != values_.end()) return known->second.instruction;
    }
    const auto found = values_.find(name.base);
    if (found != values_.end()) {
        const Value value = found->second;
        if (value.count == 0) return name.number == 0 ? std::optional(value.instruction) : std::nullopt;
        if (name.number >= value.count) return std::nullopt;
        const std::uint32_t part = add_part(value.instruction, value.first + name.number, name.whole);
        values_[name.whole] = {part, 0, 0};
        return part;
    }
    if (outer_ == nullptr) return std::nullopt;
    const auto outside = outer_->find(name);
    if (!outside) return std::nullopt;
    const std::uint32_t inside = capture(*outside);
    values_.try_emplace(name.whole, Value{inside, 0, 0});
    return inside;
}

std::uint32_t StablehloRegion::capture(std::uint32_t outside) {
    const auto known = inside_.find(outside);
    if (known != inside_.end()) return known->second;
    const XlaInstruction& source = outer_->at(outside);
    XlaInstruction argument;
    argument.name = source.name;
    argument.shape = source.shape;
    argument.origin = source.origin;
    argument.offset = source.offset;
    if (source.opcode == "constant") {
        argument.opcode = source.opcode;
        argument.literal = source.literal;
    } else if (kind_ == Arguments::tuple) {
        argument.opcode = "get-tuple-element";
        argument.operands.push_back(0);
        argument.attributes.push_back({"index", {}});
    } else {
        argument.opcode = "parameter";
    }
    const bool constant = source.opcode == "constant";
    const std::uint32_t inside = add(std::move(argument));
    inside_.emplace(outside, inside);
    if (!constant) captured_.push_back(outside);
    return inside;
}

std::uint32_t StablehloRegion::argument_for(std::uint32_t outside) { return capture(outside); }

void StablehloRegion::number_arguments(const std::vector<std::uint32_t>& all) {
    std::size_t number = arguments_.size();
    for (const std::uint32_t outside : all) {
        const std::string_view text = notation_.number(number++);
        if (kind_ == Arguments::tuple)
            computation.instructions.front().shape.parts.push_back(outer_->at(outside).shape);
        const auto inside = inside_.find(outside);
        if (inside == inside_.end()) continue;
        XlaInstruction& argument = computation.instructions[inside->second];
        if (kind_ == Arguments::tuple) {
            argument.attributes.front().value = text;
        } else {
            argument.literal = text;
        }
    }
}

void StablehloRegion::set_results(const std::vector<std::uint32_t>& results, bool always_tuple) {
    if (results.size() == 1 && !always_tuple) {
        computation.root = results.front();
        return;
    }
    XlaInstruction tuple;
    tuple.name = "results#";
    tuple.opcode = "tuple";
    for (const std::uint32_t result : results) tuple.shape.parts.push_back(at(result).shape);
    tuple.operands = results;
    tuple.offset = offset;
    computation.root = add(std::move(tuple));
}

}  // namespace roofline::core
