#include "work/kernel_traffic.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "program/functions.hpp"

namespace roofline::core {

namespace {

// Whether a move does anything: the same numbers in the same dtype at the same level are only another layout.
bool moves_data(const Program& program, const Op& op) {
    const Value& from = program.values[op.inputs.front().value];
    const Value& to = program.values[op.output.value];
    return from.type.dtype != to.type.dtype || from.level != to.level;
}

}  // namespace

bool is_function(const Op& op, FunctionKind kind) {
    return op.kind == OpKind::apply && find_function(op.function)->kind == kind;
}

ProgramKernels::ProgramKernels(const Program& program)
    : last_use_(program.values.size(), 0), computed_(program.values.size(), false) {
    for (ValueId id = 0; id < program.values.size(); ++id) memory_of_.push_back(id);
}

Status ProgramKernels::find(const Block& block, const Polynomial& count) {
    for (const Node& node : block.nodes) {
        if (const auto* statement = std::get_if<Statement>(&node)) {
            Kernel& kernel = all_.emplace_back();
            kernel.count = count;
            add(kernel, *statement);
            note_view(*statement);
            continue;
        }
        const Block& inner = std::get<Block>(node);
        if (inner.kind != Block::Kind::fuse) {
            ROOFLINE_CHECK(find(inner, count * Polynomial::dim(inner.count)));
            continue;
        }
        Kernel kernel{{}, count, true, position_, 0};
        ROOFLINE_CHECK(collect(inner, kernel));
        kernel.end = position_;
        // A block without statements launches nothing.
        if (!kernel.statements.empty()) all_.push_back(std::move(kernel));
    }
    return {};
}

bool ProgramKernels::stays_inside(const Kernel& kernel, ValueId id) const {
    return kernel.fused && last_use_[id] > kernel.before && last_use_[id] <= kernel.end;
}

Status ProgramKernels::collect(const Block& block, Kernel& kernel) {
    for (const Node& node : block.nodes) {
        if (const auto* statement = std::get_if<Statement>(&node)) {
            add(kernel, *statement);
            continue;
        }
        const Block& inner = std::get<Block>(node);
        if (inner.kind == Block::Kind::repeat) {
            auto error = fail("unsupported", "a `repeat` is inside a `fuse`",
                              "put the `fuse` inside the `repeat`: one kernel per iteration");
            error.value().place = Place{"", inner.span.line, inner.span.column, "", 0};
            return error;
        }
        ROOFLINE_CHECK(collect(inner, kernel));
    }
    return {};
}

void ProgramKernels::add(Kernel& kernel, const Statement& statement) {
    ++position_;
    kernel.statements.push_back(&statement);
    for (const Op& op : statement.ops) {
        for (const Operand& input : op.inputs) last_use_[input.value] = position_;
        computed_[op.output.value] = true;
    }
}

void ProgramKernels::note_view(const Statement& statement) {
    const Op& op = statement.ops.back();
    const bool view = statement.ops.size() == 1 && op.kind == OpKind::apply && op.function == "view";
    if (view) memory_of_[op.output.value] = memory_of_[op.inputs.front().value];
}

KernelTraffic::KernelTraffic(const Program& program, const ProgramKernels& kernels,
                             const ProgramKernels::Kernel& kernel)
    : program_(program), kernels_(kernels), kernel_(kernel) {
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) add(op, &op == &statement->ops.back(), !statement->messages.empty());
    }
}

std::vector<MemoryAccess> KernelTraffic::accesses() {
    find_leaving();
    for (Reading& reading : readings_) {
        // A tensor that was updated in place here is still in memory, except for the update.
        const auto updated = in_place_of_.find(reading.value);
        if (updated != in_place_of_.end()) reading.value = updated->second;
        if (!made_.contains(reading.value)) read(reading);
    }
    for (const Writing& writing : writings_) {
        if (!stored(writing)) continue;
        accesses_.push_back({writing.operand->value, true, writing.elements, &writing.operand->dims});
    }
    return std::move(accesses_);
}

std::vector<std::string> KernelTraffic::result_dims() {
    find_leaving();
    std::vector<std::string> dims;
    for (const Writing& writing : writings_) {
        if (!stored(writing)) continue;
        for (const std::string& dim : writing.operand->dims) {
            if (!has(dims, dim)) dims.push_back(dim);
        }
    }
    return dims;
}

void KernelTraffic::add(const Op& op, bool last, bool exchanged) {
    if (op.kind == OpKind::move && !moves_data(program_, op)) {
        relaid(op.inputs.front().value, op.output.value, exchanged);
        return;
    }
    // A view alone is the memory of its argument; inside a kernel it is only another name for what is there.
    if (is_function(op, FunctionKind::receive) || (is_function(op, FunctionKind::view) && !kernel_.fused)) return;
    const bool in_place = is_function(op, FunctionKind::scatter);
    if (op.kind == OpKind::apply && find_function(op.function)->state != StateUse::none) {
        add_state(op);
    } else if (op.kind == OpKind::apply && find_function(op.function)->reads_part) {
        add_slice(op);
    } else if (is_function(op, FunctionKind::gather)) {
        readings_.push_back({op.inputs[0].value, &op.inputs[0].dims, &op.output.dims});
        readings_.push_back({op.inputs[1].value, &op.inputs[1].dims, nullptr});
    } else {
        for (const Operand& input : op.inputs) {
            // A scatter reads the tensor that it writes to only if it is nested.
            const bool kept = in_place && last && &input == &op.inputs.front();
            if (!kept) {
                readings_.push_back({input.value, &input.dims, nullptr});
            } else if (find_function(op.function)->flops > 0) {  // rows that are added to are read
                readings_.push_back({input.value, &input.dims, &op.inputs[2].dims});
            }
        }
    }
    // A tensor that this kernel makes is in no memory yet: the kernel writes all of it, not only the update.
    const bool updates = in_place && !program_.values[op.output.value].intermediate && !made_here(op.inputs[0].value);
    if (updates) in_place_of_.emplace(op.output.value, op.inputs[0].value);
    if (made_.insert(op.output.value).second) {
        writings_.push_back({&op.output, updates ? &op.inputs[2].dims : &op.output.dims});
    }
}

// What the kernel makes has two names, unless a collective reads it from memory and writes it in its new layout.
void KernelTraffic::relaid(ValueId from, ValueId to, bool exchanged) {
    if (!made_.contains(from)) return;
    relaid_.emplace_back(from, to);
    const bool named = !program_.values[from].intermediate && !program_.values[to].intermediate;
    if (exchanged && named) {
        leaving_.insert(from);
    } else {
        made_.insert(to);
    }
}

// Whether the kernel has computed a tensor, and not only updated one in place.
bool KernelTraffic::made_here(ValueId id) const {
    const ValueId memory = kernels_.memory_of(id);
    return made_.contains(memory) && !in_place_of_.contains(memory);
}

// The first argument is sliced; the others are places, which are read whole.
void KernelTraffic::add_slice(const Op& op) {
    for (const Operand& input : op.inputs) {
        const bool sliced = &input == &op.inputs.front();
        readings_.push_back({input.value, &input.dims, sliced ? &op.output.dims : nullptr});
    }
}

// The state stays in memory: it is written behind the last position, whether a later kernel reads it or not.
void KernelTraffic::add_state(const Op& op) {
    const Operand& state = op.inputs.back();
    readings_.push_back({op.inputs.front().value, &op.inputs.front().dims, nullptr});
    if (find_function(op.function)->state == StateUse::replaced) {
        readings_.push_back({state.value, &state.dims, nullptr});
    }
    writings_.push_back({&state, &state.dims});
    leaving_.insert(state.value);
}

bool KernelTraffic::stored(const Writing& writing) const {
    const ValueId id = writing.operand->value;
    return in_place_of_.contains(id) || leaving_.contains(id) || needed_later(id);
}

bool KernelTraffic::needed_later(ValueId id) const {
    const Value& value = program_.values[id];
    return !value.intermediate && (value.carried || value.cache || !kernels_.stays_inside(kernel_, id));
}

// What is needed after the kernel under its second name is written once.
void KernelTraffic::find_leaving() {
    for (const auto& [from, to] : std::views::reverse(relaid_)) {
        if (leaving_.contains(to) || needed_later(to)) leaving_.insert(from);
    }
}

void KernelTraffic::read(const Reading& reading) {
    if (program_.values[reading.value].intermediate) return;
    if (reading.rows == nullptr) {
        // A value used twice is read once.
        if (!read_whole_.insert(kernels_.memory_of(reading.value)).second) return;
    } else if (reads_whole(reading.value)) {
        return;
    }
    const std::vector<std::string>* dims = reading.rows != nullptr ? reading.rows : reading.whole;
    accesses_.push_back({reading.value, false, dims, dims});
}

bool KernelTraffic::reads_whole(ValueId id) const {
    return std::any_of(readings_.begin(), readings_.end(), [&](const Reading& other) {
        return kernels_.memory_of(other.value) == kernels_.memory_of(id) && other.rows == nullptr;
    });
}

}  // namespace roofline::core
