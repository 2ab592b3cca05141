// Elements of operations that combine rows: experts, and sums over indices or positions.
#include <algorithm>
#include <cmath>

#include "measure/run/reference_element.hpp"
#include "measure/run/routing.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

bool is_among(const std::vector<std::size_t>& slots, std::size_t slot) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

}  // namespace

// Finds the summed dimensions and, for functions of experts, the choices.
void ReferenceElement::find_rows(Operation& op, const std::map<ValueId, int>& made, const HeldValues& held) {
    if (op.op->kind != OpKind::apply) return;
    const FunctionKind kind = find_function(op.op->function)->kind;
    const bool experts = kind == FunctionKind::dispatch || kind == FunctionKind::combine || kind == FunctionKind::match;
    if (!experts && kind != FunctionKind::scatter_add && kind != FunctionKind::correlate) return;
    Slots all;
    const auto take = [&](const Slots& slots) {
        for (const std::size_t slot : slots) {
            if (!is_among(all, slot)) all.push_back(slot);
        }
    };
    for (const Reader& input : op.inputs) take(input.slots);
    if (experts) {
        if (const auto choices = choices_of(program_, *op.op)) op.choices = reader(*choices, made, held);
        if (op.choices) take(op.choices->slots);
        if (const auto found = shares_.find(op.op->output.value); found != shares_.end()) {
            for (const auto& [dim, ways] : found->second) {
                op.shares.push_back(slot(dim));
                op.ways.push_back(ways);
            }
        }
    }
    if (kind == FunctionKind::dispatch) return;
    for (const std::size_t slot : all) {
        const bool group = experts && (slot == op.summed[0] || slot == op.summed[1]);
        if (!group && !is_among(op.output, slot)) op.taps.push_back(slot);
    }
}

template <class Visit>
Bounded ReferenceElement::summed_up(const Operation& op, Visit visit) {
    Bounded sum;
    double magnitude = 0;
    double terms = 0;
    over(op.taps, [&] {
        const std::optional<std::pair<Bounded, Bounded>> factors = visit();
        if (!factors) return;
        const auto& [a, b] = *factors;
        sum.value += a.value * b.value;
        sum.bound += std::abs(a.value) * b.bound + std::abs(b.value) * a.bound;
        magnitude += std::abs(a.value * b.value);
        ++terms;
    });
    return {sum.value, sum.bound + op.rounding.of_sum(magnitude, terms)};
}

std::int64_t ReferenceElement::choice_here(const Operation& op) const {
    std::int64_t choice = 0;
    for (const std::size_t slot : op.choices->slots) choice = choice * sizes_[slot] + place_[slot];
    return choice;
}

// Assigns the places of groups to choices in order; if chips fill shares of groups, each choice takes a place in its
// chip's share.
void ReferenceElement::route(Operation& op) {
    if (!op.place_of.empty()) return;
    const std::int64_t places = sizes_[op.summed[1]];
    std::int64_t shares = 1;
    for (const std::int64_t ways : op.ways) shares *= ways;
    op.place_of.assign(static_cast<std::size_t>(this->places(op.choices->slots)), -1);
    op.choice_at.assign(static_cast<std::size_t>(sizes_[op.summed[0]] * places), -1);
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> taken;  // places taken, by expert and share
    over(op.choices->slots, [&] {
        const auto expert = static_cast<std::int64_t>(read(*op.choices).value);
        std::int64_t share = 0;
        for (std::size_t i = 0; i < op.shares.size(); ++i) {
            const std::size_t slot = op.shares[i];
            share = share * op.ways[i] + place_[slot] * op.ways[i] / sizes_[slot];
        }
        const std::int64_t next = taken[{expert, share}]++;
        if (next >= places / shares) return;
        const std::int64_t at = expert * places + share * (places / shares) + next;
        op.place_of[static_cast<std::size_t>(choice_here(op))] = at;
        op.choice_at[static_cast<std::size_t>(at)] = choice_here(op);
    });
}

// The row that was sent to this place; 0 if there is none.
Bounded ReferenceElement::dispatched(Operation& op) {
    if (!op.choices) return {0, unbounded};
    route(op);
    const std::int64_t at = place_[op.summed[0]] * sizes_[op.summed[1]] + place_[op.summed[1]];
    std::int64_t choice = op.choice_at[static_cast<std::size_t>(at)];
    if (choice < 0) return {0, 0};
    const std::vector<std::int64_t> before = place_;
    for (std::size_t i = op.choices->slots.size(); i-- > 0;) {
        const std::size_t slot = op.choices->slots[i];
        place_[slot] = choice % sizes_[slot];
        choice /= sizes_[slot];
    }
    const Bounded row = read(op.inputs[0]);
    const Bounded weight = op.op->function == "spread" ? read(op.inputs[1]) : Bounded{1, 0};
    place_ = before;
    if (op.op->function != "spread") return row;
    return {row.value * weight.value, std::abs(row.value) * weight.bound + std::abs(weight.value) * row.bound +
                                          op.rounding.of_sum(std::abs(row.value * weight.value), 1)};
}

// Combines the rows at the places of the choices, with weights or multiplied by other rows.
Bounded ReferenceElement::combined(Operation& op) {
    if (!op.choices) return {0, unbounded};
    route(op);
    const std::size_t expert = op.summed[0];
    const std::size_t place = op.summed[1];
    const std::int64_t before[] = {place_[expert], place_[place]};
    const Bounded sum = summed_up(op, [&]() -> std::optional<std::pair<Bounded, Bounded>> {
        const std::int64_t at = op.place_of[static_cast<std::size_t>(choice_here(op))];
        if (at < 0) return std::nullopt;
        place_[expert] = at / sizes_[place];
        place_[place] = at % sizes_[place];
        const Bounded row = read(op.inputs[0]);
        return std::pair(row, op.op->function == "collect" ? Bounded{1, 0} : read(op.inputs[1]));
    });
    place_[expert] = before[0];
    place_[place] = before[1];
    return sum;
}

Bounded ReferenceElement::added_up(const Operation& op) {
    const std::int64_t at = place_[op.summed.front()];
    return summed_up(op, [&]() -> std::optional<std::pair<Bounded, Bounded>> {
        if (static_cast<std::int64_t>(read(op.inputs[0]).value) != at) return std::nullopt;
        return std::pair(read(op.inputs[1]), Bounded{1, 0});
    });
}

// Sum of one array times the other, shifted by a number of places.
Bounded ReferenceElement::correlated(const Operation& op) {
    const std::size_t along = op.summed[0];
    const std::int64_t back = place_[op.summed[1]];
    return summed_up(op, [&]() -> std::optional<std::pair<Bounded, Bounded>> {
        const std::int64_t at = place_[along];
        if (at < back) return std::nullopt;
        const Bounded here = read(op.inputs[1]);
        place_[along] = at - back;
        const Bounded before = read(op.inputs[0]);
        place_[along] = at;
        return std::pair(before, here);
    });
}

}  // namespace roofline::core
