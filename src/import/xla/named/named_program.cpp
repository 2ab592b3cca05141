#include "import/xla/named/named_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "import/xla/named/program_naming.hpp"
#include "program/functions.hpp"

namespace roofline::core {

ProgramNaming::ProgramNaming(const XlaModule& module, const ImportedProgram& imported, const ModuleSharding* sharding)
    : module_(module),
      imported_(imported),
      sharding_(sharding),
      from_(imported.program),
      dims_(module, imported),
      loops_(imported, dims_),
      now_(imported.program.values.size()) {}

ImportedProgram ProgramNaming::run() {
    out_.program.mesh = sharding_ != nullptr ? sharding_->mesh : from_.mesh;
    out_.loops = imported_.loops;
    out_.gaps = imported_.gaps;
    out_.notes = imported_.notes;
    out_.devices = sharding_ != nullptr ? sharding_->devices : imported_.devices;
    count_dims();
    declare_inputs();
    block(from_.body, out_.program.body);
    out_.program.body.values_after = out_.program.values.size();
    label_values(out_.program);
    for (const ValueId id : imported_.results) {
        if (now_[id]) out_.results.push_back(*now_[id]);
    }
    for (const auto& [one, other] : imported_.shared_memory) {
        if (now_[one] && now_[other]) out_.shared_memory.emplace_back(*now_[one], *now_[other]);
    }
    return std::move(out_);
}

void ProgramNaming::count_dims() {
    std::size_t op_index = 0;
    const auto walk = [&](const auto& self, const Block& block) -> void {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                self(self, *inner);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) {
                const OpDims& dims = dims_.of_op(op_index++);
                for (const auto& input : dims.inputs) naming_.count(dims_.classes().parts(input));
                for (const auto& [name, id] : dims.along) naming_.count(dims_.classes().parts({&id, 1}));
                naming_.count(dims_.classes().parts(dims_.of_value(op.output.value)));
            }
        }
    };
    for (ValueId id = 0; id < from_.values.size(); ++id) {
        if (declared(id)) naming_.count(dims_.classes().parts(dims_.of_value(id)));
    }
    walk(walk, from_.body);
    naming_.assign(dims_.classes());
}

// Arguments are declared whether they are read or not, and constants that are.
bool ProgramNaming::declared(ValueId id) const {
    if (loops_.used(id)) return true;
    const auto& made = imported_.made_by[id];
    return made && made->computation == module_.entry &&
           module_.main().instructions[made->instruction].opcode == "parameter";
}

// Gives an array the subscripts of its dimensions. Of one that is made of several the outermost is split, then the
// next one where no chips are left for it.
void ProgramNaming::split(ValueId old, Value& value) {
    const auto known = sharding_->axes.find(old);
    if (known == sharding_->axes.end()) {
        value.type_follows = true;
        return;
    }
    std::size_t first = 0;
    for (std::size_t d = 0; d < known->second.size(); ++d) {
        const DimClasses::Id dim = dims_.of_value(old)[d];
        const auto parts = dims_.classes().parts({&dim, 1});
        std::size_t part = 0;
        std::int64_t left = parts.empty() ? 1 : dims_.classes().size(parts.front());
        for (const std::string& axis : known->second[d]) {
            const auto place = std::find_if(sharding_->mesh.begin(), sharding_->mesh.end(),
                                            [&](const MeshAxis& each) { return each.name == axis; });
            while (left == 1 && part + 1 < parts.size()) left = dims_.classes().size(parts[++part]);
            if (part < parts.size()) value.type.axes[first + part].mesh.push_back(axis);
            left = left % place->size == 0 ? left / place->size : left;
        }
        first += parts.size();
    }
}

// All inputs come first: arguments, and constants that are arrays.
void ProgramNaming::declare_inputs() {
    const std::vector<bool> computed = computed_values(from_);
    for (ValueId id = 0; id < from_.values.size(); ++id) {
        if (computed[id] || !declared(id)) continue;
        now_[id] = add_value(id, names(dims_.of_value(id)), free_name(base_name(id)));
    }
}

ProgramNaming::Names ProgramNaming::names(const std::vector<DimClasses::Id>& dims) {
    Names names;
    for (const DimClasses::Id part : dims_.classes().parts(dims)) {
        const std::string& name = naming_.name(part);
        out_.program.sizes.try_emplace(name, dims_.classes().size(part));
        names.push_back(name);
    }
    return names;
}

void ProgramNaming::use_dims(const Names& dims) {
    for (const std::string& dim : dims) {
        if (dims_used_.insert(dim).second) out_.program.dims.push_back(dim);
    }
}

std::string ProgramNaming::base_name(ValueId old) const {
    const std::string& name = from_.values[old].name;
    const std::size_t bar = name.rfind('_');  // the lowering adds the number of the value
    std::string base = bar == std::string::npos || bar == 0 ? name : name.substr(0, bar);
    while (base.ends_with('_')) base.pop_back();
    return base.empty() ? "V" : base;
}

std::string ProgramNaming::free_name(std::string name) {
    if (taken_.insert(name).second) return name;
    for (std::size_t i = 2;; ++i) {
        std::string other = fmt::format("{}_{}", name, i);
        if (taken_.insert(other).second) return other;
    }
}

ValueId ProgramNaming::add_value(ValueId old, const Names& dims, std::string name) {
    const Value& from = from_.values[old];
    Value value;
    value.name = std::move(name);
    value.type.dtype = from.type.dtype;
    value.level = from.level;
    for (const std::string& dim : dims) value.type.axes.push_back({dim, {}});
    for (const MaskedPlane& plane : from.masks) {
        const auto rows = names({dims_.named(old, plane.rows)});
        const auto columns = names({dims_.named(old, plane.columns)});
        const bool whole =
            rows.size() == 1 && columns.size() == 1 && has(dims, rows.front()) && has(dims, columns.front());
        if (whole) value.masks.push_back({rows.front(), columns.front(), {}});
    }
    use_dims(dims);
    if (sharding_ != nullptr && dims == names(dims_.of_value(old))) {
        split(old, value);
    } else {
        value.type_follows = sharding_ != nullptr;
    }
    out_.program.values.push_back(std::move(value));
    out_.made_by.push_back(imported_.made_by[old]);
    out_.called_by.push_back(imported_.called_by[old]);
    out_.written_by.push_back(imported_.written_by[old]);
    fuse_of_.push_back(0);
    return out_.program.values.size() - 1;
}

ValueId ProgramNaming::add_result(ValueId old, const Names& dims) {
    const auto root = loops_.renames(old);
    const bool renamed = root && now_[*root];
    const ValueId id =
        add_value(old, dims, renamed ? out_.program.values[*now_[*root]].name : free_name(base_name(old)));
    out_.program.values[id].carried = renamed && from_.values[old].carried;
    now_[old] = id;
    return id;
}

ValueId ProgramNaming::add_intermediate(ValueId old, const Names& dims, Dtype dtype) {
    const ValueId id = add_value(old, dims, {});
    Value& value = out_.program.values[id];
    value.type.dtype = dtype;
    value.level = "hbm";
    value.intermediate = true;
    return id;
}

Operand ProgramNaming::as_it_is(ValueId old) const {
    return {*now_[old], dims_of(out_.program.values[*now_[old]].type)};
}

bool ProgramNaming::same_set(const Names& one, const Names& other) {
    return one.size() == other.size() && std::is_permutation(one.begin(), one.end(), other.begin());
}

Operand ProgramNaming::under(ValueId old, const Names& dims, const Place& place) {
    Operand whole = as_it_is(old);
    if (same_set(whole.dims, dims)) return whole;
    // A view of what a fusion makes is inside it; one of anything else costs nothing outside.
    const std::size_t fuse = fuse_of_[whole.value] == place.fuse ? place.fuse : 0;
    const auto key = std::pair(whole.value, std::pair(fuse, fmt::format("{}", fmt::join(dims, ","))));
    if (const auto known = views_.find(key); known != views_.end()) return {known->second, dims};
    const ValueId view = add_value(old, dims, free_name(base_name(old)));
    fuse_of_[view] = fuse;
    Op op;
    op.function = "view";
    op.arithmetic = out_.program.values[view].type.dtype;
    op.inputs = {std::move(whole)};
    op.output = {view, dims};
    Statement statement;
    statement.result = view;
    statement.ops.push_back(std::move(op));
    (fuse != 0 ? place.into : place.outside).nodes.emplace_back(std::move(statement));
    out_.shared_memory.emplace_back(*now_[old], view);
    views_.emplace(key, view);
    return {view, dims};
}

void ProgramNaming::block(const Block& from, Block& into) {
    for (const Node& node : from.nodes) {
        if (const auto* statement = std::get_if<Statement>(&node)) {
            this->statement(*statement, {into, into, 0});
            continue;
        }
        const Block& inner = std::get<Block>(node);
        if (inner.kind == Block::Kind::repeat) {
            repeat(inner, into);
            continue;
        }
        Block fused;
        fused.kind = inner.kind;
        fused.values_before = out_.program.values.size();
        const std::size_t number = ++fuses_;
        const auto write = [&](const auto& self, const Block& all) -> void {
            for (const Node& each : all.nodes) {
                if (const auto* deeper = std::get_if<Block>(&each)) {
                    self(self, *deeper);
                } else {
                    this->statement(std::get<Statement>(each), {fused, into, number});
                }
            }
        };
        write(write, inner);
        fused.values_after = out_.program.values.size();
        into.nodes.emplace_back(std::move(fused));
    }
}

// The same numbers under another name: nothing is moved.
void ProgramNaming::add_move(ValueId from, ValueId to, Block& into) {
    const Value& source = out_.program.values[from];
    const Value& target = out_.program.values[to];
    Op op;
    const bool alike = source.type == target.type && source.level == target.level;
    op.kind = alike ? OpKind::move : OpKind::apply;
    if (!alike) op.function = "view";
    op.arithmetic = target.type.dtype;
    op.inputs = {{from, dims_of(source.type)}};
    op.output = {to, dims_of(target.type)};
    Statement statement;
    statement.result = to;
    statement.ops.push_back(std::move(op));
    into.nodes.emplace_back(std::move(statement));
    out_.shared_memory.emplace_back(from, to);
}

void ProgramNaming::repeat(const Block& from, Block& into) {
    // What a loop carries has a name of its own in it where the array before the loop is needed later.
    std::vector<std::pair<ValueId, std::optional<ValueId>>> before;
    std::vector<std::pair<ValueId, ValueId>> after;
    for (const auto& [first, last] : loops_.copied(from)) {
        if (!now_[first]) continue;  // nothing reads it
        const ValueId in_loop = add_value(first, as_it_is(first).dims, free_name(base_name(first)));
        add_move(*now_[first], in_loop, into);
        before.emplace_back(first, now_[first]);
        now_[first] = in_loop;
        after.emplace_back(in_loop, last);
    }
    Block inner;
    inner.kind = from.kind;
    inner.count = from.count;
    if (const auto size = from_.sizes.find(from.count); size != from_.sizes.end()) out_.program.sizes.insert(*size);
    inner.values_before = out_.program.values.size();
    block(from, inner);
    for (const auto& [in_loop, last] : after) {
        if (!now_[last]) continue;
        const Value like = out_.program.values[in_loop];
        const ValueId next = add_value(last, dims_of(like.type), like.name);
        out_.program.values[next].type.dtype = like.type.dtype;
        out_.program.values[next].level = like.level;
        out_.program.values[next].masks.clear();
        out_.program.values[next].carried = true;
        add_move(*now_[last], next, inner);
    }
    for (const auto& [first, outside] : std::views::reverse(before)) now_[first] = outside;
    inner.values_after = out_.program.values.size();
    into.nodes.emplace_back(std::move(inner));
}

ImportedProgram name_dimensions(const XlaModule& module, const ImportedProgram& imported,
                                const ModuleSharding* sharding) {
    return ProgramNaming(module, imported, sharding).run();
}

}  // namespace roofline::core
