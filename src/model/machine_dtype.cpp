#include "model/machine_dtype.hpp"

#include <fmt/format.h>

#include "program/each_op.hpp"

namespace roofline::core {

namespace {

bool has_rate(const Machine& machine, Dtype dtype) {
    const Peak* const peak = machine.peak(Unit::matmul, dtype);
    return peak != nullptr && peak->rate.value.has_value();
}

void change(Dtype& dtype, Dtype to) {
    if (dtype == Dtype::bf16) dtype = to;
}

}  // namespace

Dtype sixteen_bits_of(const Machine& machine) {
    return !has_rate(machine, Dtype::bf16) && has_rate(machine, Dtype::f16) ? Dtype::f16 : Dtype::bf16;
}

void use_sixteen_bits_of(const Machine& machine, Program& program) {
    const Dtype dtype = sixteen_bits_of(machine);
    if (dtype == Dtype::bf16) return;
    for (Value& value : program.values) change(value.type.dtype, dtype);
    each_op(program.body, [&](Op& op) { change(op.arithmetic, dtype); });
}

std::string sixteen_bits_note(const Machine& machine) {
    const Dtype dtype = sixteen_bits_of(machine);
    if (dtype == Dtype::bf16) return "";
    return fmt::format("{} has no matrix units for bf16: the model is computed in {}", machine.name, name(dtype));
}

void use_sixteen_bits_of(const Machine& machine, Model& model) {
    const Dtype dtype = sixteen_bits_of(machine);
    if (dtype == Dtype::bf16) return;
    change(model.dtype, dtype);
    use_sixteen_bits_of(machine, model.program);
    model.notes.push_back(sixteen_bits_note(machine));
}

}  // namespace roofline::core
