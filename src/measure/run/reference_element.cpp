#include "measure/run/reference_element.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "measure/run/elements.hpp"
#include "measure/run/step_builder.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

bool contains_slot(const std::vector<std::size_t>& slots, std::size_t slot) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

std::vector<std::size_t> joined(std::vector<std::size_t> slots, const std::vector<std::size_t>& more) {
    for (const std::size_t slot : more) {
        if (!contains_slot(slots, slot)) slots.push_back(slot);
    }
    return slots;
}

std::vector<std::size_t> without(const std::vector<std::size_t>& slots, const std::vector<std::size_t>& less) {
    std::vector<std::size_t> left;
    for (const std::size_t slot : slots) {
        if (!contains_slot(less, slot)) left.push_back(slot);
    }
    return left;
}

/// Returns true for operations that along() computes as whole rows. `prior` keeps its dimension but reads only one
/// place of it.
bool works_along(const Op& op) {
    if (op.kind != OpKind::apply || op.function == "prior") return false;
    const FunctionKind kind = find_function(op.function)->kind;
    return kind == FunctionKind::reduce || kind == FunctionKind::keep;
}

}  // namespace

double element_at(const HeldValue& held, std::int64_t index) {
    double value = 0;
    const auto offset = index * static_cast<std::int64_t>(element_bytes(held.dtype));
    load_elements(held.dtype, static_cast<const char*>(held.bytes) + offset, 0, &value, 1);
    return value;
}

ReferenceElement::ReferenceElement(const Program& program, const Statement& statement, const HeldValues& held,
                                   GroupShares shares)
    : program_(program), shares_(std::move(shares)) {
    std::map<ValueId, int> made;
    for (const Op& op : statement.ops) {
        Operation each = operation(op, made, held);
        made[op.output.value] = static_cast<int>(ops_.size());
        ops_.push_back(std::move(each));
    }
    place_.resize(sizes_.size());
}

ReferenceElement::Operation ReferenceElement::operation(const Op& op, const std::map<ValueId, int>& made,
                                                        const HeldValues& held) {
    Operation each;
    each.op = &op;
    each.rounding = Rounding(sums_in(op.arithmetic));
    Slots all;
    for (const Operand& input : op.inputs) {
        each.inputs.push_back(reader(input, made, held));
        all = joined(std::move(all), each.inputs.back().slots);
    }
    each.output = slots_of(op.output.dims);
    each.summed = op.kind == OpKind::contract ? without(all, each.output) : slots_of(op.along);
    if (op.function == "conv" || op.function == "dconv") each.taps = without(each.inputs[1].slots, each.output);
    find_rows(each, made, held);
    if (op.function == "causal") each.fill = causal_fill(program_, op.output.value);
    return each;
}

ReferenceElement::Reader ReferenceElement::reader(const Operand& input, const std::map<ValueId, int>& made,
                                                  const HeldValues& held) {
    Reader each;
    each.slots = slots_of(input.dims);
    if (const auto found = made.find(input.value); found != made.end()) {
        each.made_by = found->second;
        return each;
    }
    each.held = held(input.value);
    each.strides.resize(each.slots.size());
    std::int64_t stride = 1;
    for (std::size_t i = each.slots.size(); i-- > 0;) {
        each.strides[i] = stride;
        stride *= sizes_[each.slots[i]];
    }
    return each;
}

std::size_t ReferenceElement::slot(const std::string& dim) {
    const auto [found, added] = slots_.try_emplace(dim, sizes_.size());
    if (added) sizes_.push_back(size_of(program_, dim).value_or(1));
    return found->second;
}

ReferenceElement::Slots ReferenceElement::slots_of(const std::vector<std::string>& dims) {
    Slots slots;
    for (const std::string& dim : dims) slots.push_back(slot(dim));
    return slots;
}

std::int64_t ReferenceElement::count() const {
    std::int64_t count = 1;
    for (const std::size_t slot : ops_.back().output) count *= sizes_[slot];
    return count;
}

void ReferenceElement::go_to(std::int64_t index) {
    const Slots& output = ops_.back().output;
    for (std::size_t d = output.size(); d-- > 0;) {
        place_[output[d]] = index % sizes_[output[d]];
        index /= sizes_[output[d]];
    }
}

bool ReferenceElement::scatters() const { return ops_.back().op->function == "scatter"; }

void ReferenceElement::go_to_update(RandomBits& random) {
    const Operation& last = ops_.back();
    for (const std::size_t slot : last.inputs[1].slots) place_[slot] = random.below(sizes_[slot]);
    place_[last.summed.front()] = static_cast<std::int64_t>(read(last.inputs[1]).value);
}

std::int64_t ReferenceElement::index() const {
    std::int64_t index = 0;
    for (const std::size_t slot : ops_.back().output) index = index * sizes_[slot] + place_[slot];
    return index;
}

std::vector<std::int64_t> ReferenceElement::indices() const {
    std::vector<std::int64_t> at;
    for (const std::size_t slot : ops_.back().output) at.push_back(place_[slot]);
    return at;
}

bool ReferenceElement::beyond_window(const Value& value) const {
    return std::any_of(value.masks.begin(), value.masks.end(), [&](const MaskedPlane& plane) {
        const auto row = slots_.find(plane.rows);
        const auto column = slots_.find(plane.columns);
        if (plane.window.empty() || row == slots_.end() || column == slots_.end()) return false;
        const std::int64_t shift = std::max<std::int64_t>(0, sizes_[column->second] - sizes_[row->second]);
        const std::int64_t before = place_[row->second] + shift - place_[column->second];
        return before < 0 || before >= size_of(program_, plane.window).value_or(before + 1);
    });
}

Bounded ReferenceElement::value() { return made(static_cast<int>(ops_.size()) - 1); }

double ReferenceElement::cost() const { return cost(static_cast<int>(ops_.size()) - 1, {}); }

double ReferenceElement::places(const Slots& slots) const {
    double count = 1;
    for (const std::size_t slot : slots) count *= static_cast<double>(sizes_[slot]);
    return count;
}

/// Cost of an operation for all places of these slots.
double ReferenceElement::cost(int index, const Slots& slots) const {
    const Operation& op = ops_[static_cast<std::size_t>(index)];
    const auto of_inputs = [&](const Slots& at) {
        double sum = places(at);
        for (const Reader& input : op.inputs) sum += input.made_by >= 0 ? cost(input.made_by, at) : places(at);
        return sum;
    };
    if (op.op->kind == OpKind::contract) return of_inputs(joined(slots, op.summed));
    if (!works_along(*op.op)) return of_inputs(joined(slots, op.taps));
    // a row is kept until another one is needed; along() checks its key
    const Slots of_row = without(op.output, op.summed);
    const bool same_row =
        std::none_of(slots.begin(), slots.end(), [&](std::size_t slot) { return contains_slot(of_row, slot); });
    const double row = of_inputs(op.summed);
    return same_row ? row + places(slots) : row * places(slots);
}

Bounded ReferenceElement::read(const Reader& reader) {
    if (reader.made_by >= 0) return made(reader.made_by);
    std::int64_t index = 0;
    for (std::size_t i = 0; i < reader.slots.size(); ++i) index += place_[reader.slots[i]] * reader.strides[i];
    return {element_at(reader.held, index), 0};
}

Bounded ReferenceElement::made(int index) {
    Operation& op = ops_[static_cast<std::size_t>(index)];
    if (op.op->kind == OpKind::contract) return product(op);
    if (op.op->kind == OpKind::move) return read(op.inputs.front());
    switch (find_function(op.op->function)->kind) {
        case FunctionKind::map:
            return op.op->function == "rope" || op.op->function == "unrope" ? turned(op) : element_by_element(op);
        case FunctionKind::mask:
            return masked(op);
        case FunctionKind::gather:
            return gathered(op);
        case FunctionKind::scatter:
            return scattered(op);
        case FunctionKind::expand:
            return read(op.inputs.front());
        case FunctionKind::scatter_add:
            return added_up(op);
        case FunctionKind::correlate:
            return correlated(op);
        case FunctionKind::dispatch:
            return dispatched(op);
        case FunctionKind::combine:
        case FunctionKind::match:
            return combined(op);
        default:
            return works_along(*op.op) ? along(op) : slid(op);
    }
}

Bounded ReferenceElement::product(const Operation& op) {
    double sum = 0;
    double bound = 0;
    double magnitude = 0;
    std::uint64_t whole = 0;
    double terms = 0;
    over(op.summed, [&] {
        double value = 1;
        double relative = 0;
        std::uint64_t exact = 1;
        for (const Reader& input : op.inputs) {
            const Bounded factor = read(input);
            value *= factor.value;
            if (factor.bound > 0) relative += factor.bound / std::max(std::abs(factor.value), 1e-300);
            if (op.rounding.whole) exact *= bits_of(factor.value);
        }
        sum += value;
        bound += std::abs(value) * relative;
        magnitude += std::abs(value);
        whole += exact;
        ++terms;
    });
    if (op.rounding.whole) return {as_int32(whole), bound};
    return {sum, bound + op.rounding.of_sum(magnitude, terms)};
}

Bounded ReferenceElement::element_by_element(const Operation& op) {
    std::array<Bounded, max_arguments> arguments{};
    const std::vector<Constant>& constants = op.op->constants;
    const std::size_t count = op.inputs.size() + constants.size();
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto constant =
            std::find_if(constants.begin(), constants.end(), [&](const Constant& c) { return c.position == i; });
        if (constant == constants.end()) {
            arguments[i] = read(op.inputs[next++]);
        } else if (op.rounding.whole) {
            arguments[i].value = std::trunc(constant->value);
        } else {
            arguments[i] = {constant->value, op.rounding.unit * std::abs(constant->value)};
        }
    }
    return mapped(op.op->function, arguments, op.rounding);
}

// Rotates neighbours by an angle of 1 or -1, as the kernels do: the cost of `rope` does not depend on the angle.
Bounded ReferenceElement::turned(const Operation& op) {
    const Bounded here = read(op.inputs.front());
    Bounded there = here;
    const double way = op.op->function == "rope" ? 1 : -1;
    double sign = -way;
    if (!op.output.empty()) {
        const std::size_t last = op.output.back();
        const std::int64_t before = place_[last];
        sign = before % 2 == 0 ? -way : way;
        place_[last] = std::min<std::int64_t>(before ^ 1, sizes_[last] - 1);
        there = read(op.inputs.front());
        place_[last] = before;
    }
    const double value = here.value * std::cos(1.0) + sign * there.value * std::sin(1.0);
    return {value, here.bound + there.bound + 4 * op.rounding.unit * (std::abs(here.value) + std::abs(there.value))};
}

Bounded ReferenceElement::masked(const Operation& op) {
    const std::int64_t shift = std::max<std::int64_t>(0, sizes_[op.summed[1]] - sizes_[op.summed[0]]);
    const std::int64_t before = place_[op.summed[0]] + shift - place_[op.summed[1]];
    const bool seen = before >= 0 && (op.summed.size() < 3 || before < sizes_[op.summed[2]]);
    return seen ? read(op.inputs.front()) : Bounded{op.fill, 0};
}

Bounded ReferenceElement::gathered(const Operation& op) {
    const std::size_t along = op.summed.front();
    const std::int64_t before = place_[along];
    place_[along] = static_cast<std::int64_t>(read(op.inputs[1]).value);
    const Bounded row = read(op.inputs[0]);
    place_[along] = before;
    return row;
}

// If several updates write to one place, the last one counts.
Bounded ReferenceElement::scattered(const Operation& op) {
    const std::int64_t at = place_[op.summed.front()];
    std::optional<Bounded> found;
    over(without(op.inputs[1].slots, op.output), [&] {
        if (static_cast<std::int64_t>(read(op.inputs[1]).value) == at) found = read(op.inputs[2]);
    });
    return found ? *found : read(op.inputs[0]);
}

// Weighted sum over the places before this one, or after it, with one weight per step; places beyond the ends are 0.
Bounded ReferenceElement::slid(const Operation& op) {
    const std::size_t along = op.summed.front();
    const std::int64_t at = place_[along];
    Bounded sum;
    double magnitude = 0;
    double terms = 0;
    over(op.taps, [&] {
        std::int64_t there = op.op->function == "prior" ? at - 1 : at;
        for (const std::size_t tap : op.taps) there += op.op->function == "conv" ? -place_[tap] : place_[tap];
        if (there < 0 || there >= sizes_[along]) return;
        place_[along] = there;
        const Bounded x = read(op.inputs.front());
        place_[along] = at;
        const Bounded weight = op.inputs.size() > 1 ? read(op.inputs[1]) : Bounded{1, 0};
        sum.value += x.value * weight.value;
        sum.bound += std::abs(x.value) * weight.bound + std::abs(weight.value) * x.bound;
        magnitude += std::abs(x.value * weight.value);
        ++terms;
    });
    if (op.op->function == "prior") return sum;
    return {sum.value, sum.bound + op.rounding.of_sum(magnitude, terms)};
}

// Computes a row of a function that works along dimensions and keeps it until another one is needed.
Bounded ReferenceElement::along(Operation& op) {
    // dimensions that only later operations have do not matter, so they are not part of the key
    std::vector<std::int64_t> key;
    for (const std::size_t slot : op.output) key.push_back(contains_slot(op.summed, slot) ? -1 : place_[slot]);
    if (op.row_at != key || op.row.empty()) {
        std::vector<Bounded> row;
        std::vector<Bounded> second;
        over(op.summed, [&] {
            row.push_back(read(op.inputs.front()));
            if (op.inputs.size() > 1) second.push_back(read(op.inputs[1]));
        });
        op.row = along_row(op.op->function, std::move(row), second, op.rounding);
        op.row_at = std::move(key);
    }
    if (find_function(op.op->function)->kind == FunctionKind::reduce) return op.row.front();
    std::size_t index = 0;
    for (const std::size_t slot : op.summed) {
        index = index * static_cast<std::size_t>(sizes_[slot]) + static_cast<std::size_t>(place_[slot]);
    }
    return op.row[index];
}

}  // namespace roofline::core
