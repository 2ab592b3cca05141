#include "measure/network/local_op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace roofline {

namespace {

// A value of its own for an operand, under the operation's names of its dimensions.
ValueId take(const Program& program, const Operand& operand, Program& one) {
    Value value = program.values[operand.value];
    value.type.unreduced.clear();
    value.type.at.clear();
    value.intermediate = false;
    value.type_follows = false;
    value.carried = false;
    value.param = false;
    for (std::size_t d = 0; d < value.type.axes.size(); ++d) value.type.axes[d] = {operand.dims[d], {}};
    one.values.push_back(std::move(value));
    return one.values.size() - 1;
}

}  // namespace

Result<Program> share_of_op(const Program& program, const OpWays& ways, const Way& way, const System& system) {
    Program one;
    Op op = ways.op();
    for (std::size_t d = 0; d < ways.dims().size(); ++d) {
        const std::string& dim = ways.dims()[d];
        const auto size = program.sizes.find(dim);
        if (size == program.sizes.end()) {
            return fail("no_size", fmt::format("`{}` has no size", dim), fmt::format("--dims {}=1024", dim));
        }
        const std::int64_t parts = chips_across(system, way.split[d]);
        if (size->second % parts != 0) {
            return fail(
                "uneven",
                fmt::format("{} = {} does not divide into {} shards", dim_text(program, dim), size->second, parts),
                "ranks hold equal shards: choose sizes that divide");
        }
        one.sizes[dim] = size->second / parts;
        if (dim.front() != '#') one.dims.push_back(dim);
        if (parts == 1) continue;
        for (const Operand& input : op.inputs) {
            for (const MaskedPlane& plane : program.values[input.value].masks) {
                if (plane.rows != dim && plane.columns != dim) continue;
                return fail("unsupported", fmt::format("a causal mask lies over `{}`, which is split over ranks", dim),
                            "split another dimension: batch or heads");
            }
        }
        const bool positional = op.kind == OpKind::apply && has(op.along, dim) && op.function != "sum";
        if (positional) {
            return fail("unsupported", fmt::format("{} works along `{}`, which is split over ranks", op.function, dim),
                        "split another dimension, or bring it together by a statement of its own");
        }
    }
    std::map<ValueId, ValueId> taken;
    for (Operand& input : op.inputs) {
        const auto [known, added] = taken.try_emplace(input.value, 0);
        if (added) known->second = take(program, input, one);
        input.value = known->second;
    }
    op.output.value = take(program, op.output, one);
    label_values(one);
    Statement statement;
    statement.result = op.output.value;
    statement.ops.push_back(std::move(op));
    one.body.nodes.emplace_back(std::move(statement));
    return one;
}

Result<std::unique_ptr<LocalOp>> LocalOp::make(Program program, Device& device) {
    std::unique_ptr<LocalOp> local(new LocalOp(std::move(program), device));
    auto steps = make_steps(local->program_, {device.after_matmul()});
    if (!steps) return fail(steps.error());
    local->steps_ = std::move(*steps);
    local->scratch_.resize(local->steps_.arrays.size());
    for (std::size_t i = 0; i < local->scratch_.size(); ++i) {
        if (local->steps_.arrays[i].role != RunArray::Role::scratch) continue;
        auto memory = device.allocate(static_cast<std::size_t>(local->steps_.arrays[i].bytes()));
        if (!memory) return fail(memory.error());
        local->scratch_[i] = *memory;
    }
    for (const RunStep& step : local->steps_.steps) {
        auto kernel = device.make(step, local->steps_);
        if (!kernel) return fail(kernel.error());
        void* packed = nullptr;
        if ((*kernel)->packed_bytes() > 0) {
            auto memory = device.allocate((*kernel)->packed_bytes());
            if (!memory) return fail(memory.error());
            packed = *memory;
        }
        local->packed_.push_back(packed);
        local->kernels_.push_back(std::move(*kernel));
    }
    local->is_packed_.assign(local->kernels_.size(), false);
    return local;
}

LocalOp::~LocalOp() {
    for (const std::vector<void*>* all : {&scratch_, &packed_}) {
        for (void* memory : *all) {
            if (memory != nullptr) device_.release(memory);
        }
    }
}

void* LocalOp::array(std::size_t index, const std::vector<const void*>& inputs, void* output) const {
    if (scratch_[index] != nullptr) return scratch_[index];
    const Op& op = std::get<Statement>(program_.body.nodes.front()).ops.front();
    const std::optional<ValueId> value = steps_.arrays[index].value;
    if (value == op.output.value) return output;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        // kernels take inputs and outputs alike, and only read the former
        if (op.inputs[i].value == value) return const_cast<void*>(inputs[i]);
    }
    return nullptr;
}

std::string LocalOp::text() const {
    std::string text;
    for (const RunStep& step : steps_.steps) text += (text.empty() ? "" : ", ") + step.text;
    return text;
}

bool LocalOp::packs(std::size_t operand) const {
    const ValueId value = std::get<Statement>(program_.body.nodes.front()).ops.front().inputs[operand].value;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (packed_[i] == nullptr) continue;
        if (steps_.arrays[steps_.steps[i].inputs[kernels_[i]->packed_input()]].value == value) return true;
    }
    return false;
}

Status LocalOp::pack(const std::vector<const void*>& inputs) {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (packed_[i] == nullptr) continue;
        void* from = array(steps_.steps[i].inputs[kernels_[i]->packed_input()], inputs, nullptr);
        if (from == nullptr) continue;
        if (auto status = kernels_[i]->pack(from, packed_[i]); !status) return status;
        is_packed_[i] = true;
    }
    return device_.synchronise();
}

Status LocalOp::run(const std::vector<const void*>& inputs, void* output) {
    std::vector<void*> arrays;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        const RunStep& step = steps_.steps[i];
        arrays.clear();
        for (const std::size_t input : step.inputs) arrays.push_back(array(input, inputs, output));
        arrays.push_back(array(step.output, inputs, output));
        if (packed_[i] != nullptr) {
            void*& packed = arrays[kernels_[i]->packed_input()];
            if (!is_packed_[i]) {
                if (auto status = kernels_[i]->pack(packed, packed_[i]); !status) return status;
            }
            packed = packed_[i];
        }
        if (auto status = kernels_[i]->run(arrays); !status) return status;
    }
    return device_.synchronise();
}

}  // namespace roofline
