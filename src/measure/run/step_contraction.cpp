// Contractions: pairs of operands become strided matmuls.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "measure/run/step_builder.hpp"
#include "program/order.hpp"

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

Dims minus(const Dims& dims, const Dims& gone) {
    Dims rest;
    for (const std::string& dim : dims) {
        if (!has(gone, dim)) rest.push_back(dim);
    }
    return rest;
}

/// Several loops merged into one, with its size and its stride in two arrays.
struct Merged {
    std::int64_t size = 1;
    std::int64_t first = 0, second = 0;
    std::size_t taken = 0;  ///< number of merged loops, counted from the last
};

Merged merge(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& first,
             const std::vector<std::int64_t>& second) {
    Merged merged;
    for (std::size_t i = sizes.size(); i-- > 0; ++merged.taken) {
        if (sizes[i] == 1) continue;
        if (merged.size == 1) {
            merged.first = first[i];
            merged.second = second[i];
        } else if (first[i] != merged.first * merged.size || second[i] != merged.second * merged.size) {
            break;
        }
        merged.size *= sizes[i];
    }
    return merged;
}

/// A stride for a loop of one iteration, which never uses it: a value that suits the library.
std::int64_t nominal(std::int64_t size, std::int64_t stride, std::int64_t otherwise) {
    return size == 1 ? otherwise : stride;
}

}  // namespace

Result<std::size_t> StepBuilder::contraction(const Op& op) {
    std::vector<std::size_t> operands;
    Dims all;
    for (const Operand& operand : op.inputs) {
        ROOFLINE_TRY(auto lazy, input(operand));
        operands.push_back(lazy);
        for (const std::string& dim : lazy_[lazy].dims) {
            if (!has(all, dim)) all.push_back(dim);
        }
    }
    if (minus(all, op.output.dims).empty()) {  // nothing is summed
        std::size_t product = operands.front();
        for (std::size_t i = 1; i < operands.size(); ++i) {
            LazyValue value;
            value.op.kind = TapeOp::Kind::function;
            value.op.function = MapFunction::mul;
            value.args = {product, operands[i]};
            value.dims = op.output.dims;
            value.arithmetic = sums_in(op.arithmetic);
            lazy_.push_back(std::move(value));
            product = lazy_.size() - 1;
        }
        return product;
    }
    std::vector<ArrayView> left;
    for (const std::size_t operand : operands) left.push_back(materialise(operand));
    std::vector<Pair> order(1);
    if (left.size() > 2) {
        std::vector<Dims> dims;
        for (const ArrayView& view : left) dims.push_back(view.dims);
        Sizes sizes;
        for (const std::string& dim : all) sizes[dim] = size(dim);
        order = cheapest_order(dims, op.output.dims, sizes);
    }
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        const ArrayView a = left[order[i].first];
        const ArrayView b = left[order[i].second];
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(order[i].second));
        Dims needed = op.output.dims;
        for (std::size_t other = 0; other < left.size(); ++other) {
            if (other == order[i].first) continue;
            for (const std::string& dim : left[other].dims) needed.push_back(dim);
        }
        Dims kept;
        for (const ArrayView* side : {&a, &b}) {
            for (const std::string& dim : side->dims) {
                if (has(needed, dim) && !has(kept, dim)) kept.push_back(dim);
            }
        }
        const ArrayView c{scratch(kept, sums_in(op.arithmetic)), kept};
        product(a, b, c, op.arithmetic);
        left[order[i].first] = c;
    }
    ROOFLINE_TRY(auto out, target(op, sums_in(op.arithmetic)));
    product(left[0], left[1], out, op.arithmetic);
    return load(out);
}

// The operand summed over the dimensions that nothing else has.
ArrayView StepBuilder::without(const ArrayView& view, const Dims& gone) {
    if (gone.empty()) return view;
    const Dims kept = minus(view.dims, gone);
    const Dtype dtype = sums_in(out_.arrays[view.array].dtype);
    const ArrayView sums{scratch(kept, dtype), kept};
    RowStep row;
    row.function = "sum";
    row.along = gone.size();
    Dims loops = kept;
    loops.insert(loops.end(), gone.begin(), gone.end());
    RunStep made;
    row.tapes.push_back(tape(load(view), loops, made.inputs));
    row.loops = sizes_of(loops);
    row.out = strides(sums, loops);
    made.output = sums.array;
    made.text = "sum";
    made.what = std::move(row);
    step(std::move(made));
    return sums;
}

void StepBuilder::product(ArrayView a, ArrayView b, const ArrayView& c, Dtype arithmetic) {
    a = without(a, minus(minus(a.dims, b.dims), c.dims));
    b = without(b, minus(minus(b.dims, a.dims), c.dims));
    const Dims k = minus(a.dims, c.dims);
    const bool free = !minus(a.dims, b.dims).empty() || !minus(b.dims, a.dims).empty();
    if (free && !k.empty()) {
        matmul(std::move(a), std::move(b), c, arithmetic);
        return;
    }
    LazyValue times;
    times.op.kind = TapeOp::Kind::function;
    times.op.function = MapFunction::mul;
    times.args = {load(a), load(b)};
    times.arithmetic = sums_in(arithmetic);
    times.dims = c.dims;
    lazy_.push_back(std::move(times));
    const std::size_t lazy = lazy_.size() - 1;
    if (k.empty()) {
        map_into(lazy, c);
        return;
    }
    RowStep row;
    row.function = "sum";
    row.along = k.size();
    Dims loops = c.dims;
    loops.insert(loops.end(), k.begin(), k.end());
    RunStep made;
    row.tapes.push_back(tape(lazy, loops, made.inputs));
    row.loops = sizes_of(loops);
    row.out = strides(c, loops);
    made.output = c.array;
    made.text = "dot product";
    made.what = std::move(row);
    step(std::move(made));
}

ArrayView StepBuilder::copied(const ArrayView& view, const Dims& dims) {
    const ArrayView copy{scratch(dims, out_.arrays[view.array].dtype), dims};
    map_into(load(view), copy);
    out_.steps.back().text = "copy in another order";
    return copy;
}

// Sums of k random numbers of magnitude 1 have magnitude sqrt(k); scaling keeps the results near 1 through many layers.
void StepBuilder::scale_inputs(std::size_t a, std::size_t b, std::int64_t k) {
    const bool second = out_.arrays[b].role == RunArray::Role::input;
    RunArray& array = out_.arrays[second ? b : a];
    if (array.role != RunArray::Role::input || info(array.dtype).kind != DtypeKind::floating) return;
    const double wanted = std::exp2(std::round(-0.5 * std::log2(static_cast<double>(k))));
    array.scale = std::min(array.scale, wanted);
}

void StepBuilder::matmul(ArrayView a, ArrayView b, ArrayView c, Dtype arithmetic) {
    // the result's last dimension must belong to the second operand
    for (std::size_t i = c.dims.size(); i-- > 0;) {
        if (size(c.dims[i]) == 1) continue;
        if (has(a.dims, c.dims[i]) && !has(b.dims, c.dims[i])) std::swap(a, b);
        break;
    }
    const ArrayView wanted = c;
    MatmulStep made;
    Fix fix = Fix::none;
    while ((fix = try_matmul(a, b, c, made)) != Fix::none) {
        Dims batch;
        Dims m;
        Dims n;
        for (const std::string& dim : c.dims) (!has(a.dims, dim) ? n : !has(b.dims, dim) ? m : batch).push_back(dim);
        const Dims k = minus(b.dims, c.dims);
        const auto join = [&](const Dims& x, const Dims& y) {
            Dims all = batch;
            all.insert(all.end(), x.begin(), x.end());
            all.insert(all.end(), y.begin(), y.end());
            return all;
        };
        if (fix == Fix::a) {
            a = copied(a, join(m, k));
        } else if (fix == Fix::b) {
            b = copied(b, join(k, n));
        } else {
            const Dims dims = join(m, n);
            c = {scratch(dims, out_.arrays[c.array].dtype), dims};
        }
    }
    made.a = out_.arrays[a.array].dtype;
    made.b = out_.arrays[b.array].dtype;
    made.c = out_.arrays[c.array].dtype;
    made.arithmetic = arithmetic == Dtype::tf32 ? Dtype::f32 : arithmetic;
    made.weight = out_.arrays[b.array].role == RunArray::Role::input &&
                  std::all_of(made.batch.begin(), made.batch.end(), [](const auto& loop) { return loop.b == 0; });
    scale_inputs(a.array, b.array, made.k);
    RunStep step;
    step.inputs = {a.array, b.array};
    step.output = c.array;
    std::int64_t batches = 1;
    for (const MatmulStep::Batch& loop : made.batch) batches *= loop.size;
    step.text =
        fmt::format("matmul {}{} x {} x {}", batches > 1 ? fmt::format("{} of ", batches) : "", made.m, made.k, made.n);
    step.what = std::move(made);
    this->step(std::move(step));
    if (c.array != wanted.array) {
        map_into(load(c), wanted);
        out_.steps.back().text = "copy in another order";
    }
}

StepBuilder::Fix StepBuilder::try_matmul(const ArrayView& a, const ArrayView& b, const ArrayView& c,
                                         MatmulStep& step) const {
    step = {};
    Dims m;
    Dims n;
    for (const std::string& dim : c.dims) {
        const bool left = has(a.dims, dim);
        const bool right = has(b.dims, dim);
        if (left && right) {
            const auto stride = [&](const ArrayView& view) { return strides(view, {dim}).front(); };
            if (size(dim) > 1) step.batch.push_back({size(dim), stride(a), stride(b), stride(c)});
        } else {
            (left ? m : n).push_back(dim);
        }
    }
    const Dims k = minus(b.dims, c.dims);
    const Merged sums = merge(sizes_of(k), strides(b, k), strides(a, k));
    if (sums.taken != k.size()) {
        // the loops may be contiguous in the other operand's order
        return merge(sizes_of(k), strides(b, k), strides(b, k)).taken == k.size() ? Fix::a : Fix::b;
    }
    const Merged rows = merge(sizes_of(m), strides(a, m), strides(c, m));
    const Merged columns = merge(sizes_of(n), strides(b, n), strides(c, n));
    // dimensions that cannot be merged become outer loops, which do not move the other operand
    const auto around = [&](const Dims& dims, std::size_t taken, bool left) {
        for (std::size_t i = 0; i + taken < dims.size(); ++i) {
            const std::int64_t stride = strides(left ? a : b, {dims[i]}).front();
            if (size(dims[i]) == 1) continue;
            step.batch.push_back({size(dims[i]), left ? stride : 0, left ? 0 : stride, strides(c, {dims[i]}).front()});
        }
    };
    around(m, rows.taken, true);
    around(n, columns.taken, false);
    step.m = rows.size;
    step.n = columns.size;
    step.k = sums.size;
    step.c_n = nominal(step.n, columns.second, 1);
    if (step.c_n != 1) return Fix::c;
    step.c_m = nominal(step.m, rows.second, step.n);
    step.a_k = nominal(step.k, sums.second, rows.first == 1 && step.m > 1 ? step.m : 1);
    step.a_m = nominal(step.m, rows.first, step.a_k == 1 ? step.k : 1);
    step.b_k = nominal(step.k, sums.first, columns.first == 1 || step.n == 1 ? step.n : 1);
    step.b_n = nominal(step.n, columns.first, step.b_k == 1 ? step.k : 1);
    if (step.a_m != 1 && step.a_k != 1) return Fix::a;
    if (step.b_n != 1 && step.b_k != 1) return Fix::b;
    return Fix::none;
}

}  // namespace roofline::core
