// Preparation of a program for the layout search: the shardings that are fixed, and the strategies of its operations.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "layout/layout_search.hpp"
#include "work/work.hpp"

namespace roofline::core {

namespace {

// The chips that hold whole tensors; if there are many, only the first of them.
std::vector<std::int64_t> roots_in(const Program& program, const System& system) {
    constexpr std::size_t most = 8;
    std::set<std::int64_t> roots;
    for (const Value& value : program.values) {
        if (value.type.at.empty() || roots.size() == most) continue;
        const auto sharding = sharding_of(value.type, system);
        if (sharding && sharding->at_chip()) roots.insert(sharding->at);
    }
    return {roots.begin(), roots.end()};
}

// Which tensors cross memory in each operation of a kernel, in program order.
std::vector<Stored> stored_in(const KernelTensors& kernel) {
    std::set<ValueId> reads = kernel.reads;
    std::vector<Stored> all;
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            Stored stored;
            for (const Operand& input : op.inputs) stored.inputs.push_back(reads.erase(input.value) > 0);
            stored.output = kernel.writes.contains(op.output.value);
            all.push_back(std::move(stored));
        }
    }
    return all;
}

}  // namespace

Program unsplit(const Program& program) {
    Program copy = program;
    for (Value& value : copy.values) {
        for (Axis& axis : value.type.axes) axis.mesh.clear();
        value.type.unreduced.clear();
        value.type.at.clear();
    }
    return copy;
}

LayoutSearch::LayoutSearch(const Program& program, const System& system)
    : program_(&program),
      costs_(std::make_unique<ChoiceCosts>(system, roots_in(program, system))),
      reshardings_(std::make_unique<Reshardings>(*costs_)) {}

namespace {

// No rule covers a band whose columns are split: the columns belong to the last rows only, or to all rows one after
// another.
Status check_splittable(const Program& program) {
    for (const Value& value : program.values) {
        for (const MaskedPlane& plane : value.masks) {
            const bool split = std::any_of(value.type.axes.begin(), value.type.axes.end(), [&](const Axis& axis) {
                return !axis.mesh.empty() && axis.dim == plane.columns;
            });
            if (plane.window.empty() || !split) continue;
            return fail(
                "unsupported",
                fmt::format("a causal mask with a window, {}, over split columns, {}", plane.window, plane.columns),
                fmt::format("split its rows, {}, or other dimensions (heads, the batch)", plane.rows));
        }
    }
    return {};
}

}  // namespace

Result<LayoutSearch> LayoutSearch::compile(const Program& program, const System& system, const StayingAxes& stay,
                                           LayoutFreedom freedom, KnownPermutes* permutes) {
    LayoutSearch search(program, system);
    search.costs_->share(permutes);
    ROOFLINE_CHECK(check_splittable(program));
    for (const Value& value : program.values) {
        ROOFLINE_TRY(auto sharding, roofline::core::sharding_of(value.type, system));
        const bool free = value.intermediate || value.type_follows;
        search.fixed_.push_back(free ? std::nullopt : std::optional(sharding));
    }
    search.fix_inner(program.body);
    search.note_splits();
    ROOFLINE_CHECK(search.compile_ops(stay));
    if (freedom == LayoutFreedom::any) search.free_axes();
    search.in_part_ = freedom == LayoutFreedom::in_part;
    if (freedom == LayoutFreedom::greedy) search.first_limits_ = {4, 8, 32};
    return search;
}

// An axis that neither an operand nor the result has means repeated work, as written. A tensor whose sharding is free
// may take any axis.
void LayoutSearch::free_axes() {
    AxisMask any = 0;
    for (const auto& fixed : fixed_) any = static_cast<AxisMask>(any | (fixed ? fixed->used() : AxisMask{0}));
    for (const CompiledOp& each : ops_) {
        const Op& op = each.strategies.op();
        AxisMask own = 0;
        const auto add = [&](ValueId value) {
            own = static_cast<AxisMask>(own | (fixed_[value] ? fixed_[value]->used() : any));
        };
        for (const Operand& input : op.inputs) add(input.value);
        add(op.output.value);
        axes_.push_back(own);
    }
    if (any == 0) axes_.clear();
}

// A statement whose result is wanted on one chip runs entirely on that chip.
void LayoutSearch::fix_inner(const Block& block) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            fix_inner(*inner);
            continue;
        }
        const Statement& statement = std::get<Statement>(node);
        const std::optional<Sharding>& result = fixed_[statement.result];
        if (!result || !result->at_chip()) continue;
        for (const Op& op : statement.ops) {
            if (op.output.value == statement.result) continue;
            Sharding inside;
            inside.rank = static_cast<std::uint8_t>(op.output.dims.size());
            inside.at = result->at;
            fixed_[op.output.value] = inside;
        }
    }
}

// Whether all tensors that are on single chips are on the same chip.
bool LayoutSearch::one_place() const {
    std::set<std::int64_t> places;
    for (const auto& fixed : fixed_) {
        if (fixed && fixed->at_chip()) places.insert(fixed->at);
    }
    return places.size() == 1;
}

void LayoutSearch::note_splits() {
    for (ValueId id = 0; id < program_->values.size(); ++id) {
        if (!fixed_[id]) continue;
        const std::vector<Axis>& axes = program_->values[id].type.axes;
        for (std::size_t d = 0; d < axes.size(); ++d) {
            std::vector<AxisList>& splits = splits_[axes[d].dim];
            const AxisList split = fixed_[id]->dims[d];
            if (!split.empty() && std::find(splits.begin(), splits.end(), split) == splits.end())
                splits.push_back(split);
        }
    }
}

std::vector<AxisMask> LayoutSearch::staying(const Op& op, const Statement& statement, const StayingAxes& stay) const {
    std::vector<AxisMask> masks;
    const std::vector<PlacedAxis>& mesh = costs_->system().mesh;
    const Op& last = statement.ops.back();
    const bool sum = last.function == "add" || last.function == "sub";
    const auto add = [&](const Operand& tensor) {
        AxisMask mask = 0;
        // A term that is added to a gradient is computed in the gradient's sharding, as it would be without the
        // addition.
        const bool summand = sum && program_->values[tensor.value].intermediate &&
                             std::is_permutation(tensor.dims.begin(), tensor.dims.end(), last.output.dims.begin(),
                                                 last.output.dims.end());
        const auto known = stay.find(summand ? statement.result : tensor.value);
        for (std::size_t axis = 0; known != stay.end() && axis < mesh.size(); ++axis) {
            if (has(known->second, mesh[axis].name)) mask = static_cast<AxisMask>(mask | 1U << axis);
        }
        masks.push_back(mask);
    };
    for (const Operand& input : op.inputs) add(input);
    add(op.output);
    return masks;
}

Result<LayoutSearch::CompiledOp> LayoutSearch::compiled(const Op& op, const Stored& stored,
                                                        std::vector<KnownShape>& shapes) {
    OpShape shape = op_shape(*program_, op, stored);
    const auto known =
        std::find_if(shapes.begin(), shapes.end(), [&](const KnownShape& each) { return each.shape == shape; });
    const auto alike = known != shapes.end() ? known
                                             : std::find_if(shapes.begin(), shapes.end(),
                                                            [&](const auto& each) { return each.shape.alike(shape); });
    CompiledOp compiled;
    compiled.shape = known != shapes.end() ? known->op : ops_.size();
    if (alike != shapes.end()) {
        compiled.strategies = ops_[alike->op].strategies.renamed(*program_, op);
    } else {
        ROOFLINE_TRY(compiled.strategies, OpStrategies::compile(*program_, op, stored, *costs_, *reshardings_));
    }
    if (known == shapes.end()) shapes.push_back({std::move(shape), compiled.shape});
    return compiled;
}

std::size_t LayoutSearch::equivalent(const CompiledOp& op) const {
    std::size_t first = op.shape;
    while (first < ops_.size()) {
        const CompiledOp& other = ops_[first];
        if (other.shape == op.shape && other.alone == op.alone && other.open == op.open && other.keep == op.keep &&
            other.stays == op.stays && other.free == op.free)
            break;
        ++first;
    }
    return first;
}

Status LayoutSearch::compile_ops(const StayingAxes& stay) {
    ROOFLINE_TRY(const auto kernels, stored_tensors(*program_));
    std::map<const Statement*, std::vector<Stored>> stored;
    for (const KernelTensors& kernel : kernels) {
        std::vector<Stored> ops = stored_in(kernel);
        auto next = ops.begin();
        for (const Statement* statement : kernel.statements) {
            const auto end = next + static_cast<std::ptrdiff_t>(statement->ops.size());
            stored[statement].assign(next, end);
            next = end;
        }
    }
    last_use_.assign(program_->values.size(), 0);
    std::map<std::string, ValueId> named;
    for (ValueId id = 0; id < program_->values.size(); ++id) {
        if (fixed_[id]) named.emplace(program_->values[id].name, id);
    }
    std::vector<KnownShape> shapes;
    std::vector<std::string> counts;
    std::map<ValueId, std::vector<Use>> uses;  // of the block that is being read
    const bool one_place = this->one_place();
    bool fused = false;
    const auto walk = [&](const auto& self, const Block& block) -> Status {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                const bool repeats = inner->kind == Block::Kind::repeat;
                if (repeats) counts.push_back(inner->count);
                std::map<ValueId, std::vector<Use>> outside;
                if (repeats) outside.swap(uses);
                const bool before = std::exchange(fused, fused || inner->kind == Block::Kind::fuse);
                ROOFLINE_CHECK(self(self, *inner));
                fused = before;
                if (repeats) {
                    counts.pop_back();
                    uses.swap(outside);
                }
                continue;
            }
            const Statement& statement = std::get<Statement>(node);
            const std::vector<Stored>& crossing = stored[&statement];
            for (std::size_t o = 0; o < statement.ops.size(); ++o) {
                const Op& op = statement.ops[o];
                ROOFLINE_TRY(auto made, this->compiled(op, crossing[o], shapes));
                CompiledOp& compiled = made;
                compiled.counts = counts;
                // A kernel runs on one chip or on all.
                compiled.alone = one_place && !fused && statement.ops.size() == 1;
                // Partial sums inside an expression may stay unreduced until they are added to others, or if the result
                // is unreduced.
                const auto add_behind =
                    std::any_of(statement.ops.begin() + static_cast<std::ptrdiff_t>(o) + 1, statement.ops.end(),
                                [](const Op& other) { return other.function == "add" || other.function == "sub"; });
                for (const Operand& input : op.inputs) compiled.free.push_back(!fixed_[input.value]);
                if (fixed_[statement.result] && stays_open(statement, o)) {
                    compiled.keep = fixed_[statement.result]->unreduced;
                }
                compiled.open = (add_behind || compiled.keep != 0) && op.output.value != statement.result;
                if (!stay.empty()) compiled.stays = staying(op, statement, stay);
                compiled.strategies.stay(compiled.stays);
                compiled.equivalent = equivalent(compiled);
                for (const std::string& dim : compiled.strategies.dims()) compiled.elsewhere.push_back(splits_[dim]);
                compiled.strategies.lie(compiled.elsewhere);
                const std::size_t index = ops_.size();
                for (std::size_t input = 0; input < op.inputs.size(); ++input) {
                    std::vector<Use>& known = uses[op.inputs[input].value];
                    last_use_[op.inputs[input].value] = index;
                    compiled.before.emplace_back(known.rbegin(), known.rend());
                    known.push_back({index, input});
                }
                const Value& output = program_->values[op.output.value];
                if (output.carried && !fixed_[op.output.value]) {
                    compiled.same_sharding_as = named.at(output.name);
                    last_use_[*compiled.same_sharding_as] = index;
                }
                if (!output.intermediate) named[output.name] = op.output.value;
                ops_.push_back(std::move(compiled));
            }
        }
        return {};
    };
    return walk(walk, program_->body);
}

}  // namespace roofline::core
