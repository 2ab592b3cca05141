#include "predict/imported/module_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "work/work.hpp"

namespace roofline::core {

namespace {

double bytes_on_device(const Program& program, const Value& value) {
    if (value.level != "hbm" || value.intermediate) return 0;
    const BitsPerElement bits = stored_bits(value.type.dtype);
    double bytes = static_cast<double>(bits.numerator) / bits.denominator / 8;
    for (const Axis& axis : value.type.axes) {
        const auto size = program.sizes.find(axis.dim);
        bytes *= size == program.sizes.end() ? 1 : static_cast<double>(size->second);
    }
    return bytes;
}

/// Arrays that share memory form a set, which lives as long as any of them.
class SharedMemory {
public:
    explicit SharedMemory(std::size_t values) : root_(values) { std::iota(root_.begin(), root_.end(), 0); }

    ValueId find(ValueId id) {
        while (root_[id] != id) id = root_[id] = root_[root_[id]];
        return id;
    }
    void join(ValueId a, ValueId b) {
        a = find(a);
        b = find(b);
        root_[std::max(a, b)] = std::min(a, b);  // the earlier one, which may be an argument
    }

private:
    std::vector<ValueId> root_;
};

void join_updates(const Block& block, SharedMemory& memory) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            join_updates(*inner, memory);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind == OpKind::apply && (op.function == "scatter" || op.function == "update")) {
                memory.join(op.output.value, op.inputs.front().value);
            }
        }
    }
}

struct Lifetime {
    std::size_t first = 0;
    std::size_t last = 0;
    bool held = false;
};

}  // namespace

ModuleMemory module_memory(const XlaModule& module, const ImportedProgram& imported) {
    const Program& program = imported.program;
    ModuleMemory memory;
    const auto kernels = stored_tensors(program);
    if (!kernels) return memory;
    SharedMemory shared(program.values.size());
    for (const auto& [one, other] : imported.shared_memory) shared.join(one, other);
    join_updates(program.body, shared);

    // Arguments are held from the beginning to the end.
    std::vector<Lifetime> lives(program.values.size());
    std::vector<double> bytes(program.values.size(), 0);
    const std::size_t end = kernels->size();
    const auto hold = [&](ValueId id, std::size_t first, std::size_t last) {
        const ValueId root = shared.find(id);
        Lifetime& life = lives[root];
        life.first = life.held ? std::min(life.first, first) : first;
        life.last = life.held ? std::max(life.last, last) : last;
        life.held = true;
        bytes[root] = std::max(bytes[root], bytes_on_device(program, program.values[id]));
    };
    for (ValueId id = 0; id < program.values.size(); ++id) {
        const auto& made = imported.made_by[id];
        if (!made || made->computation != module.entry) continue;
        if (module.computations[made->computation].instructions[made->instruction].opcode != "parameter") continue;
        hold(id, 0, end);
        memory.arguments += bytes_on_device(program, program.values[id]);
    }
    for (std::size_t i = 0; i < end; ++i) {
        for (const ValueId id : (*kernels)[i].reads) hold(id, lives[shared.find(id)].held ? i : 0, i);
        for (const ValueId id : (*kernels)[i].writes) hold(id, i, i);
    }
    for (const ValueId id : imported.results) hold(id, lives[shared.find(id)].held ? end : 0, end);

    std::vector<double> change(end + 2, 0);
    for (ValueId id = 0; id < lives.size(); ++id) {
        if (!lives[id].held || shared.find(id) != id) continue;
        change[lives[id].first] += bytes[id];
        change[lives[id].last + 1] -= bytes[id];
    }
    double now = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i <= end; ++i) {
        now += change[i];
        if (now > memory.peak) {
            memory.peak = now;
            at = i;
        }
    }
    constexpr std::size_t most = 10;
    for (ValueId id = 0; id < lives.size(); ++id) {
        const bool there = lives[id].held && shared.find(id) == id && lives[id].first <= at && lives[id].last >= at;
        if (!there || !(bytes[id] > 0)) continue;
        const auto& made = imported.made_by[id];
        const std::string name =
            made ? std::string(module.computations[made->computation].instructions[made->instruction].name)
                 : program.values[id].name;
        memory.largest.emplace_back(name, bytes[id]);
    }
    std::sort(memory.largest.begin(), memory.largest.end(), [](const auto& a, const auto& b) {
        return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
    });
    if (memory.largest.size() > most) memory.largest.resize(most);
    return memory;
}

}  // namespace roofline::core
