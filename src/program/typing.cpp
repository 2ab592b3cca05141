#include "program/typing.hpp"

#include <algorithm>

#include "program/functions.hpp"

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

void add_missing(Dims& dims, const Dims& more) {
    for (const std::string& dim : more) {
        if (!has(dims, dim)) dims.push_back(dim);
    }
}

void drop(Dims& dims, const Dims& gone, std::size_t from = 0) {
    std::erase_if(dims, [&](const std::string& dim) {
        return std::find(gone.begin() + static_cast<std::ptrdiff_t>(from), gone.end(), dim) != gone.end();
    });
}

void add_plane(std::vector<MaskedPlane>& masks, const MaskedPlane& plane) {
    if (std::find(masks.begin(), masks.end(), plane) == masks.end()) masks.push_back(plane);
}

}  // namespace

bool is_anonymous(std::string_view dim) { return dim.starts_with('#'); }

std::vector<std::string> together(const std::vector<Operand>& operands) {
    Dims dims;
    for (const Operand& operand : operands) add_missing(dims, operand.dims);
    return dims;
}

Dtype result_dtype(Dtype arithmetic) {
    if (arithmetic == Dtype::tf32) return Dtype::f32;
    return info(arithmetic).kind == DtypeKind::logical || info(arithmetic).bits >= 16 ? arithmetic
                                                                                      : info(arithmetic).accumulator;
}

std::optional<Dtype> arithmetic_of(const std::vector<Dtype>& operands, DtypeClash& clash) {
    std::optional<Dtype> result;
    for (const Dtype operand : operands) {
        const Dtype dtype = info(operand).arithmetic;
        if (info(dtype).kind == DtypeKind::logical && operands.size() > 1) continue;
        if (!result) {
            result = dtype;
            continue;
        }
        const auto both = arithmetic(*result, dtype);
        if (!both) {
            clash = {*result, dtype};
            return std::nullopt;
        }
        result = both;
    }
    return result.value_or(Dtype::boolean);
}

bool moves_rows(const Op& op) {
    if (op.kind != OpKind::apply) return false;
    const FunctionKind kind = find_function(op.function)->kind;
    return kind == FunctionKind::gather || kind == FunctionKind::scatter || kind == FunctionKind::dispatch;
}

std::vector<std::string> result_dims(const Op& op) {
    const std::vector<Operand>& inputs = op.inputs;
    Dims dims;
    if (op.kind == OpKind::contract) {
        dims = together(inputs);
        drop(dims, op.along);
        return dims;
    }
    if (op.kind == OpKind::move) return inputs.front().dims;
    switch (find_function(op.function)->kind) {
        case FunctionKind::gather:
            dims = inputs[1].dims;
            add_missing(dims, inputs[0].dims);
            drop(dims, op.along);
            return dims;
        case FunctionKind::scatter:
        case FunctionKind::slide:
            return inputs.front().dims;
        case FunctionKind::scatter_add:
            dims = {op.along.front()};
            add_missing(dims, together({inputs[0], inputs[1]}));
            drop(dims, op.along, 1);
            return dims;
        case FunctionKind::dispatch:
            dims = op.along;
            for (const std::string& dim : inputs[0].dims) {
                if (!has(inputs[1].dims, dim)) dims.push_back(dim);
            }
            return dims;
        case FunctionKind::combine:
            dims = together({inputs[1], inputs[0]});
            drop(dims, op.along);
            return dims;
        case FunctionKind::match:
            dims = together({inputs[2], inputs[1]});
            drop(dims, op.along, 2);
            return dims;
        case FunctionKind::correlate:
            dims = inputs.front().dims;
            drop(dims, op.along);
            dims.push_back(op.along[1]);
            return dims;
        case FunctionKind::rearrange:
        case FunctionKind::view:
        case FunctionKind::opaque:
        case FunctionKind::receive:
            return op.output.dims;  // as written
        case FunctionKind::expand:
            dims = inputs.front().dims;
            add_missing(dims, op.along);
            return dims;
        case FunctionKind::reduce:
            dims = together(inputs);
            drop(dims, op.along);
            return dims;
        case FunctionKind::map:
        case FunctionKind::keep:
        case FunctionKind::mask:
            break;
    }
    return together(inputs);
}

void inherit_masks(const Program& program, const Op& op, Value& result) {
    for (const Operand& input : op.inputs) {
        for (const MaskedPlane& plane : program.values[input.value].masks) {
            const bool whole = has(op.output.dims, plane.rows) && has(op.output.dims, plane.columns);
            if (whole) add_plane(result.masks, plane);
        }
    }
}

void mask_operands(Program& program, const std::vector<Op>& ops, std::size_t first, const MaskedPlane& plane) {
    for (std::size_t i = first; i < ops.size(); ++i) {
        const Operand& output = ops[i].output;
        if (!has(output.dims, plane.rows) || !has(output.dims, plane.columns)) continue;
        add_plane(program.values[output.value].masks, plane);
    }
}

}  // namespace roofline::core
