// Dimensions that slices, transposes, gathers and other movements of elements keep.
#include <algorithm>

#include "import/xla/named/program_dims.hpp"

namespace roofline::core {

namespace {

using Ids = std::vector<DimClasses::Id>;

/// The place of a dimension of a shape among those that the program has, which are not those of one element.
std::size_t place_among_larger(const XlaShape& shape, std::size_t place) {
    return static_cast<std::size_t>(std::count_if(shape.dims.begin(),
                                                  shape.dims.begin() + static_cast<std::ptrdiff_t>(place),
                                                  [](std::int64_t size) { return size != 1; }));
}

/// Whether the dimensions are those of the shape; complex numbers have one more.
bool are_those_of(const Ids& ids, const XlaShape& shape) {
    const std::size_t larger = place_among_larger(shape, shape.dims.size());
    return shape.is_array() && (ids.size() == larger || ids.size() == larger + 1);
}

bool among(const std::vector<std::int64_t>& places, std::size_t place) {
    return std::find(places.begin(), places.end(), static_cast<std::int64_t>(place)) != places.end();
}

}  // namespace

void ProgramDims::tie_places(const Ids& from, const XlaShape& from_shape, std::size_t from_place, const Ids& to,
                             const XlaShape& to_shape, std::size_t to_place) {
    if (from_place >= from_shape.dims.size() || to_place >= to_shape.dims.size()) return;
    if (from_shape.dims[from_place] != to_shape.dims[to_place] || from_shape.dims[from_place] == 1) return;
    classes_.tie(std::span(from).subspan(place_among_larger(from_shape, from_place), 1),
                 std::span(to).subspan(place_among_larger(to_shape, to_place), 1));
}

void ProgramDims::tie_equal_places(const Ids& from, const XlaShape& from_shape, const Ids& to,
                                   const XlaShape& to_shape) {
    if (from_shape.dims.size() != to_shape.dims.size()) return;
    for (std::size_t d = 0; d < from_shape.dims.size(); ++d) tie_places(from, from_shape, d, to, to_shape, d);
}

// Dimensions of slices are those of the table; the others are those of the indices, without the one of their vectors.
void ProgramDims::tie_gathered(const XlaInstruction& gather, const XlaComputation& all, const OpDims& dims,
                               const Ids& made) {
    if (gather.operands.size() < 2 || dims.inputs.size() < 2) return;
    const XlaShape& table = all.instructions[gather.operands[0]].shape;
    const XlaShape& ids = all.instructions[gather.operands[1]].shape;
    if (!are_those_of(dims.inputs[0], table) || !are_those_of(dims.inputs[1], ids)) return;
    const auto offsets = gather.numbers("offset_dims");
    std::vector<std::int64_t> dropped = gather.numbers("collapsed_slice_dims");
    const auto batching = gather.numbers("operand_batching_dims");
    dropped.insert(dropped.end(), batching.begin(), batching.end());
    std::size_t next = 0;
    for (const std::int64_t offset : offsets) {
        while (next < table.dims.size() && among(dropped, next)) ++next;
        if (offset < 0) return;
        tie_places(dims.inputs[0], table, next++, made, gather.shape, static_cast<std::size_t>(offset));
    }
    const auto vectors = gather.number("index_vector_dim").value_or(static_cast<std::int64_t>(ids.dims.size()));
    next = 0;
    for (std::size_t d = 0; d < gather.shape.dims.size(); ++d) {
        if (among(offsets, d)) continue;
        if (static_cast<std::int64_t>(next) == vectors) ++next;
        tie_places(dims.inputs[1], ids, next++, made, gather.shape, d);
    }
}

void ProgramDims::tie_moved(const Op& op, const OpDims& dims) {
    const Ids& made = values_[op.output.value];
    const auto ref = imported_.written_by[op.output.value];
    if (!ref || dims.inputs.empty()) return;
    const XlaComputation& all = module_.computations[ref->computation];
    const XlaInstruction& each = all.instructions[ref->instruction];
    if (op.function == "scatter" || op.function == "update") {
        classes_.tie(dims.inputs.front(), made);
        if (each.opcode != "dynamic-update-slice" || each.operands.size() < 2) return;
        const XlaShape& target = all.instructions[each.operands[0]].shape;
        const XlaShape& update = all.instructions[each.operands[1]].shape;
        if (!are_those_of(dims.inputs[0], target) || !are_those_of(dims.inputs[1], update)) return;
        tie_equal_places(dims.inputs[0], target, dims.inputs[1], update);
        return;
    }
    if (each.opcode == "sort") {  // every array is sorted in place
        for (const Ids& ids : dims.inputs) {
            if (ids.size() == made.size()) classes_.tie(ids, made);
        }
        return;
    }
    if (!each.shape.is_array() || !are_those_of(made, each.shape)) return;
    if (each.opcode == "gather" && op.function == "gather") return tie_gathered(each, all, dims, made);
    // Operands that are numbers are none of the operation's.
    std::size_t next = 0;
    for (const std::uint32_t operand : each.operands) {
        const XlaShape& from = all.instructions[operand].shape;
        if (next == dims.inputs.size() || !are_those_of(dims.inputs[next], from)) continue;
        const Ids& ids = dims.inputs[next];
        ++next;
        if (each.opcode == "transpose") {
            const auto order = each.numbers("dimensions");
            for (std::size_t d = 0; d < order.size(); ++d) {
                if (order[d] >= 0) tie_places(ids, from, static_cast<std::size_t>(order[d]), made, each.shape, d);
            }
        } else if (each.opcode == "concatenate") {
            const auto along = each.numbers("dimensions");
            for (std::size_t d = 0; d < from.dims.size() && from.dims.size() == each.shape.dims.size(); ++d) {
                if (!among(along, d)) tie_places(ids, from, d, made, each.shape, d);
            }
        } else if (op.function != "unknown" && op.function != "custom") {
            tie_equal_places(ids, from, made, each.shape);  // slices, pads, sorts, copies, collectives
        }
    }
}

}  // namespace roofline::core
