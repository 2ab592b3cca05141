#include "plan/serving_memory.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "program/value_copies.hpp"
#include "work/work.hpp"

namespace roofline::core {

namespace {

std::int64_t members(const Program& program, const std::vector<std::string>& axes) {
    std::int64_t product = 1;
    for (const std::string& name : axes) {
        const auto axis = std::find_if(program.mesh.begin(), program.mesh.end(),
                                       [&](const MeshAxis& each) { return each.name == name; });
        if (axis != program.mesh.end()) product *= axis->size;
    }
    return product;
}

/// The elements of a value, or of one chip's shard of it.
double elements_held(const Program& program, const Sizes& sizes, const Value& value, bool one_chip) {
    double elements = 1;
    for (const Axis& axis : value.type.axes) {
        const auto size = sizes.find(axis.dim);
        if (size == sizes.end()) continue;
        const std::int64_t ways = one_chip ? members(program, axis.mesh) : 1;
        const std::int64_t held = (size->second + ways - 1) / ways;
        elements *= static_cast<double>(held);
    }
    return elements;
}

double bits_of(Dtype dtype) {
    const BitsPerElement bits = stored_bits(dtype);
    return static_cast<double>(bits.numerator) / bits.denominator;
}

void note_scatters(const Block& block, std::set<ValueId>& in_place) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            note_scatters(*inner, in_place);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind == OpKind::apply && op.function == "scatter") in_place.insert(op.output.value);
        }
    }
}

/// By result, the kernels that write it first and read it last.
struct Life {
    std::size_t from = 0;
    std::size_t to = 0;
    double bytes = 0;
};

}  // namespace

ServingMemory kept_bytes(const Program& program, const Sizes& sizes, const std::vector<StoredParam>& stored,
                         bool one_chip, const std::vector<double>& held) {
    ServingMemory memory;
    const std::vector<Rational> copies = value_copies(program);
    std::set<ValueId> in_place;
    note_scatters(program.body, in_place);
    for (ValueId id = 0; id < program.values.size(); ++id) {
        const Value& value = program.values[id];
        const double share = id < held.size() ? held[id] : 1;
        if (value.param && id < stored.size()) {
            const double all = elements_held(program, sizes, value, false);
            const double here = elements_held(program, sizes, value, one_chip);
            memory.weights += share * stored[id].bytes.to_double() * here / all;
        } else if (value.cache && value.part != "mtp" && !in_place.contains(id)) {
            memory.kv += share * elements_held(program, sizes, value, one_chip) * bits_of(value.type.dtype) / 8 *
                         copies[id].to_double();
        }
    }
    return memory;
}

double activation_bytes(const Program& program, const ProgramWork& work, const Sizes& sizes) {
    std::set<ValueId> in_place;
    note_scatters(program.body, in_place);
    std::map<ValueId, Life> lives;
    for (std::size_t i = 0; i < work.kernels.size(); ++i) {
        for (const Transfer& transfer : work.kernels[i].transfers) {
            const Value& value = program.values[transfer.value];
            if (value.param || value.cache || value.level != "hbm" || in_place.contains(transfer.value)) continue;
            const auto found = lives.find(transfer.value);
            if (found != lives.end()) {
                found->second.to = i;
            } else if (transfer.write) {
                const auto bytes = bytes_of(program.local_dims, value).evaluate(sizes);
                lives.emplace(transfer.value, Life{i, i, bytes ? bytes->to_double() : 0});
            }
        }
    }
    double most = 0;
    for (std::size_t i = 0; i < work.kernels.size(); ++i) {
        double now = 0;
        for (const auto& [id, life] : lives) {
            if (life.from <= i && i <= life.to) now += life.bytes;
        }
        most = std::max(most, now);
    }
    return most;
}

}  // namespace roofline::core
