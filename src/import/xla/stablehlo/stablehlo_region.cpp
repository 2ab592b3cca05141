#include "import/xla/stablehlo/stablehlo_region.hpp"

#include <utility>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

// The number that a name is, if values up to it may be kept in a row of `size` and some more.
std::optional<std::size_t> place_of_name(std::string_view name, std::size_t size) {
    if (name.empty() || name.size() > 9 || (name.front() == '0' && name.size() > 1)) return std::nullopt;
    std::size_t number = 0;
    for (const char c : name) {
        if (!is_digit(c)) return std::nullopt;
        number = number * 10 + static_cast<std::size_t>(c - '0');
    }
    return number < 2 * size + 64 ? std::optional(number) : std::nullopt;
}

}  // namespace

StablehloRegion::StablehloRegion(RegionsShared& shared, Arguments arguments, StablehloRegion* outer)
    : shared_(shared), kind_(arguments), outer_(outer) {
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
        argument.attributes.push_back({"index", shared_.notation.number(arguments_.size())});
        computation.instructions.front().shape.parts.push_back(shape);
    } else {
        argument.opcode = "parameter";
        argument.literal = shared_.notation.number(arguments_.size());
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
    element.attributes.push_back({"index", shared_.notation.number(part)});
    element.origin = at(tuple).origin;
    element.offset = at(tuple).offset;
    return add(std::move(element));
}

StablehloRegion::Value* StablehloRegion::known(std::string_view name) {
    const auto place = place_of_name(name, numbered_.size());
    if (place && *place < numbered_.size() && numbered_[*place].defined) return &numbered_[*place];
    if (named_.empty()) return nullptr;
    const auto found = named_.find(name);
    return found == named_.end() ? nullptr : &found->second;
}

// Returns false if the name is taken.
bool StablehloRegion::put(std::string_view name, Value value) {
    const auto place = place_of_name(name, numbered_.size());
    if (!place) return named_.try_emplace(name, value).second;
    if (named_.contains(name)) return false;
    if (*place >= numbered_.size()) numbered_.resize(*place + 1, Value{0, 0, 0, false});
    if (numbered_[*place].defined) return false;
    numbered_[*place] = value;
    return true;
}

bool StablehloRegion::define(std::string_view name, std::uint32_t instruction) {
    return put(name, {instruction, 0, 0});
}

bool StablehloRegion::define_parts(std::string_view name, std::uint32_t tuple, std::uint32_t first,
                                   std::uint32_t count) {
    return put(name, {tuple, first, count});
}

std::optional<std::uint32_t> StablehloRegion::find(const MlirName& name) {
    const bool has_number = name.whole.size() != name.base.size();
    if (has_number) {
        if (const Value* part = known(name.whole)) return part->instruction;
    }
    if (const Value* found = known(name.base)) {
        const Value value = *found;
        if (value.count == 0) return name.number == 0 ? std::optional(value.instruction) : std::nullopt;
        if (name.number >= value.count) return std::nullopt;
        const std::uint32_t part = add_part(value.instruction, value.first + name.number, name.whole);
        if (has_number) {
            put(name.whole, {part, 0, 0});
        } else if (value.count == 1) {
            *known(name.base) = {part, 0, 0};
        }
        return part;
    }
    if (outer_ == nullptr) return std::nullopt;
    const auto outside = outer_->find(name);
    if (!outside) return std::nullopt;
    const std::uint32_t inside = capture(*outside);
    put(name.whole, {inside, 0, 0});
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
    ++shared_.captured;
    if (!constant) captured_.push_back(outside);
    return inside;
}

std::uint32_t StablehloRegion::argument_for(std::uint32_t outside) { return capture(outside); }

void StablehloRegion::number_arguments(const std::vector<std::uint32_t>& all) {
    std::size_t number = arguments_.size();
    for (const std::uint32_t outside : all) {
        const std::string_view text = shared_.notation.number(number++);
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
