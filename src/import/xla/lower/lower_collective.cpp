#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "import/xla/lower/module_lowering.hpp"
#include "network/placement.hpp"

namespace roofline::core {

namespace {

struct CollectiveName {
    std::string_view opcode;
    CollectiveKind kind;
};

constexpr CollectiveName collective_names[] = {
    {"all-gather", CollectiveKind::all_gather},          {"all-reduce", CollectiveKind::all_reduce},
    {"reduce-scatter", CollectiveKind::reduce_scatter},  {"all-to-all", CollectiveKind::all_to_all},
    {"ragged-all-to-all", CollectiveKind::all_to_all},   {"collective-permute", CollectiveKind::permute},
    {"collective-broadcast", CollectiveKind::broadcast},
};

// Names of axes, innermost first: no module names them.
constexpr std::string_view axis_names[] = {"X", "Y", "Z", "U", "V", "W", "S", "T"};

/// The groups of a permute: every device is in a group of those that it reaches by its pairs.
std::optional<ReplicaGroups> groups_of_pairs(std::string_view text, std::optional<std::int64_t> devices) {
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    std::int64_t most = devices.value_or(0) - 1;
    while (true) {
        const std::size_t open = text.find('{', 1);
        if (open == std::string_view::npos) break;
        const std::size_t close = text.find('}', open);
        if (close == std::string_view::npos) break;
        const auto pair = number_list(text.substr(open, close - open + 1));
        if (!pair || pair->size() != 2 || (*pair)[0] < 0 || (*pair)[1] < 0) return std::nullopt;
        pairs.emplace_back((*pair)[0], (*pair)[1]);
        most = std::max({most, (*pair)[0], (*pair)[1]});
        text.remove_prefix(close);
    }
    if (pairs.empty() || most >= 1'000'000) return std::nullopt;
    std::vector<std::int64_t> root(static_cast<std::size_t>(most) + 1);
    for (std::size_t i = 0; i < root.size(); ++i) root[i] = static_cast<std::int64_t>(i);
    const auto find = [&](std::int64_t i) {
        while (root[static_cast<std::size_t>(i)] != i) i = root[static_cast<std::size_t>(i)];
        return i;
    };
    for (const auto& [from, to] : pairs) {
        const std::int64_t a = find(from);
        const std::int64_t b = find(to);
        root[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
    std::map<std::int64_t, std::vector<std::int64_t>> members;
    for (std::int64_t i = 0; i <= most; ++i) members[find(i)].push_back(i);
    ReplicaGroups groups;
    groups.groups = static_cast<std::int64_t>(members.size());
    groups.size = static_cast<std::int64_t>(members.begin()->second.size());
    for (const auto& [first, all] : members) {
        if (static_cast<std::int64_t>(all.size()) != groups.size) return std::nullopt;
        groups.listed.insert(groups.listed.end(), all.begin(), all.end());
    }
    return groups;
}

std::optional<std::int64_t> module_devices(const XlaModule& module) {
    std::int64_t devices = 1;
    for (const std::string_view key : {"num_partitions", "replica_count"}) {
        const auto text = module.attribute(key);
        const auto number = text ? number_list("{" + std::string(*text) + "}") : std::nullopt;
        if (number && number->size() == 1 && number->front() > 0 && number->front() < 1'000'000) {
            devices *= number->front();
        }
    }
    return devices > 1 ? std::optional(devices) : std::nullopt;
}

void each_message(Block& block, const std::function<void(Statement&, Message&)>& visit) {
    for (Node& node : block.nodes) {
        if (auto* inner = std::get_if<Block>(&node)) {
            each_message(*inner, visit);
            continue;
        }
        auto& statement = std::get<Statement>(node);
        for (Message& message : statement.messages) visit(statement, message);
    }
}

}  // namespace

Result<Bound> ModuleLowering::collective(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    std::string_view opcode = each.opcode;
    if (opcode.ends_with("-start")) opcode.remove_suffix(6);
    const auto* const known = std::find_if(std::begin(collective_names), std::end(collective_names),
                                           [&](const CollectiveName& one) { return one.opcode == opcode; });
    if (known == std::end(collective_names)) return fail_at(ref, "it is no collective");
    const auto devices = module_devices(module_);
    std::optional<ReplicaGroups> groups;
    if (known->kind == CollectiveKind::permute) {
        const auto pairs = each.attribute("source_target_pairs");
        groups = pairs ? groups_of_pairs(*pairs, devices) : std::nullopt;
        if (!groups) {
            gap(ref, fmt::format("{} {}: its pairs are on no axes of a mesh; its bytes are not counted", each.opcode,
                                 each.name));
        }
    } else {
        const auto text = each.attribute("replica_groups");
        auto read = parse_replica_groups(text ? *text : "{}", devices);
        if (!read && text && *text != "{}") return fail_at(ref, read.error().message, read.error().hint);
        if (read) {
            groups = *read;
        } else {
            gap(ref, fmt::format("{} {}: it is over all devices, whose number the module does not say; its bytes are "
                                 "not counted",
                                 each.opcode, each.name));
        }
    }
    if (operands.empty()) return fail_at(ref, "it has no operands");
    std::vector<StridedDim> strides;
    if (groups && groups->size > 1) {
        out_.devices = std::max(out_.devices, groups->devices());
        strides = strides_of(*groups);
        if (strides.empty()) {
            return fail_at(ref, "its replica groups do not lie at the same regular distances",
                           "only groups along the axes of a mesh can be priced");
        }
    }
    const bool of_member = core::info(known->kind).size_of_member();
    const Rational members(of_member && groups ? groups->size : 1);
    // Several arrays go together: one kernel and one message, which has the bytes of all of them.
    Block block;
    block.kind = Block::Kind::fuse;
    block.values_before = out_.program.values.size();
    Message message;
    message.kind = known->kind;
    const bool all = each.shape.is_tuple();
    // One result per operand; beside an array are offsets and sizes of ragged rows, or a buffer to write to.
    const std::size_t arrays = all ? operands.size() : 1;
    std::vector<Bound> results;
    for (std::size_t i = 0; i < arrays; ++i) {
        const Bound from = in_memory(ref, operands[i], into);
        if (!from.value) {
            results.push_back(from);
            continue;
        }
        // all-gather-start has (operands, results), all-reduce-start the results alone.
        XlaShape shape = all ? from.shape : each.shape;
        if (known->kind == CollectiveKind::all_gather || known->kind == CollectiveKind::reduce_scatter) {
            const XlaShape* out = &each.shape;
            if (all && each.shape.parts.size() == operands.size()) out = &each.shape.parts[i];
            if (all && each.shape.parts.size() == 2 && each.opcode.ends_with("-start")) out = &each.shape.parts[1];
            if (out->is_tuple()) out = i < out->parts.size() ? &out->parts[i] : &from.shape;
            if (out->is_array()) shape = *out;
        }
        const std::int64_t whole = known->kind == CollectiveKind::all_gather ? shape.bytes() : from.shape.bytes();
        message.bytes += Polynomial(Rational(whole) * members);
        Op op;
        op.function = "received";
        op.arithmetic = core::info(from.shape.element->dtype).arithmetic;
        op.inputs = {operand(from, DimNames(out_.program).add_all(from.shape))};
        results.push_back(emit(ref, std::move(op), shape, DimNames(out_.program).add_all(shape), block));
        if (message.tensor.empty()) message.tensor = out_.program.values[*results.back().value].name;
    }
    block.values_after = out_.program.values.size();
    if (!strides.empty() && !block.nodes.empty()) {
        groups_.push_back(std::move(strides));
        std::get<Statement>(block.nodes.back()).messages.push_back(std::move(message));
    }
    add_kernel(std::move(block), into);
    if (!all || (each.opcode.ends_with("-start") && results.size() == 1)) return results.front();
    return tuple(std::move(results), each.shape);
}

// The axes of the mesh lie between the distances that any groups have, the smallest innermost.
Status ModuleLowering::place_collectives() {
    const auto said = module_devices(module_);
    out_.devices = std::max(out_.devices, said.value_or(1));
    std::set<std::int64_t> cuts{1, out_.devices};
    for (const auto& strides : groups_) {
        for (const StridedDim& strided : strides) {
            cuts.insert(strided.stride);
            cuts.insert(strided.stride * strided.count);
        }
    }
    const std::vector<std::int64_t> sorted(cuts.begin(), cuts.end());
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
        if (sorted[i + 1] % sorted[i] != 0 || i >= std::size(axis_names)) {
            return fail("no_mesh", "the replica groups of the module's collectives are not along the axes of one mesh",
                        "the distances of their devices must divide each other, with at most 8 axes");
        }
        out_.program.mesh.push_back({std::string(axis_names[i]), sorted[i + 1] / sorted[i], {}});
    }
    std::size_t next = 0;
    std::size_t number = 0;
    each_message(out_.program.body, [&](Statement&, Message& message) {
        message.number = ++number;
        for (const StridedDim& strided : groups_[next]) {
            for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
                if (sorted[i] >= strided.stride && sorted[i] < strided.stride * strided.count) {
                    message.axes.push_back(out_.program.mesh[i].name);
                }
            }
        }
        ++next;
    });
    return {};
}

}  // namespace roofline::core
