#include "measure/run/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "measure/run/step_builder.hpp"

namespace roofline::core {

namespace {

bool overflows(std::int64_t a, std::int64_t b, std::int64_t& product) { return __builtin_mul_overflow(a, b, &product); }

/// Returns whether arrays of the dtype can be stored and computed with.
bool runs_here(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
        case Dtype::f32:
        case Dtype::tf32:
        case Dtype::bf16:
        case Dtype::f16:
        case Dtype::int32:
        case Dtype::int8:
        case Dtype::boolean:
            return true;
        default:
            return false;
    }
}

constexpr std::int64_t most_copies = 1'000'000;

}  // namespace

std::int64_t RunArray::elements() const {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes) product *= size;
    return product;
}

std::int64_t RunArray::bytes() const { return elements() * (info(dtype).bits / 8); }

std::optional<std::int64_t> size_of(const Program& program, const std::string& dim) {
    // a shard with a halo has its own size
    if (const auto known = program.sizes.find(dim); known != program.sizes.end()) return known->second;
    const Symbol symbol = program.local_dims.symbol(dim);
    const auto found = program.sizes.find(symbol.dim);
    if (found == program.sizes.end()) return std::nullopt;
    return (found->second - 1) / symbol.divisor + 1;
}

std::int64_t StepBuilder::size(const std::string& dim) const { return size_of(program_, dim).value_or(1); }

std::vector<std::int64_t> StepBuilder::sizes_of(const Dims& dims) const {
    std::vector<std::int64_t> sizes;
    for (const std::string& dim : dims) sizes.push_back(size(dim));
    return sizes;
}

Result<StepProgram> make_steps(const Program& program, const StepOptions& options) {
    return StepBuilder(program, options).run();
}

// All later products of sizes are bounded by the sizes of values, so it suffices that each value, and scratch of its
// size, is small enough.
Status StepBuilder::size_values() {
    for (const Value& value : program_.values) {
        std::int64_t bytes = 8;
        for (const Axis& axis : value.type.axes) {
            const auto known = size_of(program_, axis.dim);
            if (!known) {
                return fail("unsized",
                            fmt::format("{} has no size; a program runs only if all dimensions have sizes", axis.dim),
                            fmt::format("give it: --dims {}=1024", axis.dim));
            }
            if (overflows(bytes, *known, bytes) || bytes > std::numeric_limits<std::int64_t>::max() / 1024) {
                return fail("too_large",
                            fmt::format("{} has more bytes than 63 bits can count",
                                        value.label.empty() ? "an intermediate" : value.label),
                            "choose smaller sizes");
            }
        }
        if (!runs_here(value.type.dtype)) {
            return fail(
                "unsupported", fmt::format("no device can run {}", name(value.type.dtype)),
                "use f64, f32, bf16, f16, int32 or int8; a wider one of them holds the same numbers in more bytes");
        }
    }
    return {};
}

Result<StepProgram> StepBuilder::run() {
    ROOFLINE_CHECK(size_values());
    by_pass_ = values_by_pass(program_);
    out_.array_of.resize(program_.values.size());
    ROOFLINE_CHECK(block(program_.body, out_.body, false));
    return std::move(out_);
}

Status StepBuilder::block(const Block& block, StepBlock& out, bool fused) {
    for (const Node& node : block.nodes) {
        nodes_ = &out;
        if (const auto* statement = std::get_if<Statement>(&node)) {
            if (!fused) out_.kernels.emplace_back();
            ROOFLINE_CHECK(this->statement(*statement));
            ++statement_;
            continue;
        }
        const Block& inner = std::get<Block>(node);
        if (inner.kind == Block::Kind::fuse) {
            if (!fused) out_.kernels.emplace_back();
            ROOFLINE_CHECK(this->block(inner, out, true));
            continue;
        }
        StepBlock repeated;
        const auto count = inner.count.empty() ? std::optional<std::int64_t>(1) : size_of(program_, inner.count);
        if (!count) {
            return fail("unsized",
                        fmt::format("{} has no size; a program runs only if all dimensions have sizes", inner.count),
                        fmt::format("give it: --dims {}=2", inner.count));
        }
        repeated.count = *count;
        repeated.back = goes_back(inner, by_pass_);
        repeats_.push_back({*count, inner.values_before});
        ROOFLINE_CHECK(this->block(inner, repeated, fused));
        repeats_.pop_back();
        carry(inner, repeated);
        out.nodes.emplace_back(std::move(repeated));
        nodes_ = &out;
    }
    return {};
}

Result<std::size_t> StepBuilder::array_for(ValueId id) {
    if (out_.array_of[id]) return *out_.array_of[id];
    const Value& value = program_.values[id];
    RunArray array;
    array.name = value.label.empty() ? value.name : value.label;
    array.value = id;
    array.dtype = value.type.dtype == Dtype::tf32 ? Dtype::f32 : value.type.dtype;
    array.dims = dims_of(value.type);
    array.sizes = sizes_of(array.dims);
    array.param = value.param;
    array.role = RunArray::Role::input;
    for (const Repeat& repeat :
         repeats_) {  // outermost first; repeats that begin after the declaration do not multiply it
        if (repeat.values_before > id) break;
        if (overflows(array.copies, repeat.count, array.copies) || array.copies > most_copies) {
            return fail("too_large", fmt::format("there are more than a million copies of {}", array.name),
                        "choose a smaller repeat count");
        }
        ++array.depth;
    }
    out_.arrays.push_back(std::move(array));
    out_.array_of[id] = out_.arrays.size() - 1;
    return out_.arrays.size() - 1;
}

std::size_t StepBuilder::scratch(const Dims& dims, Dtype dtype) {
    RunArray array;
    array.dtype = dtype;
    array.dims = dims;
    array.sizes = sizes_of(dims);
    out_.arrays.push_back(std::move(array));
    return out_.arrays.size() - 1;
}

void StepBuilder::step(RunStep step) {
    step.statement = statement_;
    step.kernel = out_.kernels.size() - 1;
    nodes_->nodes.emplace_back(out_.steps.size());
    out_.steps.push_back(std::move(step));
}

}  // namespace roofline::core
