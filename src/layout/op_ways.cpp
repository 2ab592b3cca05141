#include "layout/op_ways.hpp"

#include <algorithm>
#include <cmath>

#include "bound/pricing.hpp"
#include "program/functions.hpp"
#include "work/work.hpp"

namespace roofline {

namespace {

constexpr std::size_t most_splits = 4096;

void add_choice(std::vector<AxisList>& choices, AxisList axes) {
    if (std::find(choices.begin(), choices.end(), axes) == choices.end()) choices.push_back(axes);
}

// A program of this operation alone.
Program alone(const Program& program, const Op& op, const Stored& stored, bool masks) {
    Program one;
    one.sizes = program.sizes;
    Op copy = op;
    const auto take = [&](Operand& operand, bool crosses) {
        Value value = program.values[operand.value];
        value.type.unreduced.clear();
        for (Axis& axis : value.type.axes) axis.mesh.clear();
        value.intermediate = !crosses;
        if (!masks) value.masks.clear();
        one.values.push_back(std::move(value));
        operand.value = one.values.size() - 1;
    };
    for (std::size_t i = 0; i < copy.inputs.size(); ++i) take(copy.inputs[i], stored.inputs[i]);
    take(copy.output, stored.output);
    label_values(one);
    Statement statement;
    statement.result = copy.output.value;
    statement.ops.push_back(std::move(copy));
    one.body.nodes.emplace_back(std::move(statement));
    return one;
}

}  // namespace

Result<OpWays> OpWays::compile(const Program& program, const Op& op, const Stored& stored, ChoiceCosts& costs) {
    OpWays ways;
    ways.op_ = &op;
    ways.costs_ = &costs;
    const auto add = [&](const Operand& operand) {
        MovedTensor tensor;
        const Value& value = program.values[operand.value];
        tensor.name = value.intermediate ? "the intermediate" : value_name(program, operand.value);
        const BitsPerElement bits = stored_bits(value.type.dtype);
        tensor.element_bytes = static_cast<double>(bits.numerator) / static_cast<double>(bits.denominator) / 8;
        for (const std::string& dim : operand.dims) tensor.dims.push_back(ways.place_of(dim));
        for (const auto& [a, b] : value.masks) {
            ways.masked_[ways.place_of(a)] = true;
            ways.masked_[ways.place_of(b)] = true;
        }
        ways.tensors_.push_back(std::move(tensor));
    };
    for (const Operand& input : op.inputs) add(input);
    add(op.output);
    for (const std::string& dim : op.along) (void)ways.place_of(dim);
    for (const std::string& dim : ways.dims_) ways.may_split_.push_back(ways.splittable(dim));
    if (auto status = ways.compile_times(program, stored, costs); !status) return fail(status.error());
    return ways;
}

std::size_t OpWays::place_of(const std::string& dim) {
    const auto known = std::find(dims_.begin(), dims_.end(), dim);
    const auto place = static_cast<std::size_t>(known - dims_.begin());
    if (known == dims_.end()) {
        dims_.push_back(dim);
        masked_.push_back(false);
    }
    return place;
}

// Where a function works along a dimension it needs all of it, but a sum can be taken in parts.
bool OpWays::splittable(const std::string& dim) const {
    if (op_->kind != OpKind::apply || !has(op_->along, dim)) return true;
    const FunctionInfo& function = *find_function(op_->function);
    return function.kind == FunctionKind::mask || op_->function == "sum";
}

Status OpWays::compile_times(const Program& program, const Stored& stored, ChoiceCosts& costs) {
    const auto compile = [&](bool masks, Compiled& compiled) -> Status {
        const Program one = alone(program, *op_, stored, masks);
        auto work = derive_work(one);
        if (!work) return fail(work.error());
        auto pricing = price(work->total, costs.system().machine());
        if (!pricing) return fail(pricing.error());
        compiled.times = CompiledTimes(*pricing, dims_, {});
        for (const Resource& resource : pricing->resources) compiled.slots.push_back(costs.slot(resource.id));
        seconds_.resize(std::max(seconds_.size(), compiled.times.places()));
        return {};
    };
    if (auto status = compile(true, whole_); !status) return status;
    const bool masked = std::find(masked_.begin(), masked_.end(), true) != masked_.end();
    return masked ? compile(false, unmasked_) : Status{};
}

void OpWays::set_sizes(const Sizes& sizes) {
    const Sizes known = [&] {
        Program sized;
        sized.sizes = sizes;
        return comparable_sizes(sized, dims_);
    }();
    sizes_.clear();
    for (const std::string& dim : dims_) sizes_.push_back(static_cast<double>(known.at(dim)));
    shares_ = sizes_;
    for (MovedTensor& tensor : tensors_) {
        tensor.sizes.clear();
        for (const std::size_t dim : tensor.dims) tensor.sizes.push_back(sizes_[dim]);
    }
    moved_.clear();
    hashes_.clear();
}

Result<std::vector<Way>> OpWays::ways(std::span<const Sharding> held, const std::optional<Sharding>& wanted,
                                      std::span<const std::vector<AxisList>> elsewhere, ReshardSearch& search) {
    search.refill();
    Query query{held, wanted, search, {}, {}, {}, {}, 0};
    query.choices.assign(dims_.size(), {AxisList{}});
    query.split.resize(dims_.size());
    const auto offer = [&](std::size_t tensor, const Sharding& sharding) {
        for (std::size_t d = 0; d < tensors_[tensor].dims.size(); ++d) {
            add_choice(query.choices[tensors_[tensor].dims[d]], sharding.dims[d]);
        }
    };
    const bool moves = op_->kind == OpKind::move;
    if (moves) {
        // The operand goes straight to where the result is wanted.
        const Sharding& goal = wanted ? *wanted : held.front();
        for (std::size_t d = 0; d < tensors_.back().dims.size(); ++d) {
            query.choices[tensors_.back().dims[d]] = {goal.dims[d]};
        }
    } else {
        for (std::size_t i = 0; i < held.size(); ++i) offer(i, held[i]);
        if (wanted) offer(held.size(), *wanted);
        for (std::size_t d = 0; !wanted && d < elsewhere.size(); ++d) {
            for (const AxisList axes : elsewhere[d]) add_choice(query.choices[d], axes);
        }
        for (std::size_t d = 0; d < dims_.size(); ++d) {
            if (!may_split_[d]) query.choices[d].resize(1);
        }
    }
    try_from(query, 0, 0);
    if (query.found.empty()) {
        if (query.problem) return fail(*query.problem);
        return fail("no_layout", "no way to split this operation over the mesh");
    }
    std::stable_sort(query.found.begin(), query.found.end(),
                     [](const Way& a, const Way& b) { return a.price < b.price; });
    return std::move(query.found);
}

void OpWays::try_from(Query& query, std::size_t dim, AxisMask used) {
    if (query.tried >= most_splits) return;
    if (dim == dims_.size()) {
        ++query.tried;
        price_split(query);
        return;
    }
    for (const AxisList axes : query.choices[dim]) {
        const AxisMask mask = axes.mask();
        if ((mask & used) != 0) continue;
        query.split[dim] = axes;
        try_from(query, dim + 1, static_cast<AxisMask>(used | mask));
    }
}

Sharding OpWays::sharding(std::size_t tensor, std::span<const AxisList> split) const {
    Sharding sharding;
    const std::vector<std::size_t>& dims = tensors_[tensor].dims;
    sharding.rank = static_cast<std::uint8_t>(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) sharding.dims[d] = split[dims[d]];
    return sharding;
}

// How what comes out lies: partial sums where a summed dimension is split.
Sharding OpWays::made(std::span<const AxisList> split) const {
    Sharding made = sharding(tensors_.size() - 1, split);
    const std::vector<std::size_t>& kept = tensors_.back().dims;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        if (std::find(kept.begin(), kept.end(), d) == kept.end()) {
            made.unreduced = static_cast<AxisMask>(made.unreduced | split[d].mask());
        }
    }
    return made;
}

// Where the result may go: where it is wanted, else where it comes out, its sums completed or scattered over a dimension.
std::vector<Sharding> OpWays::outputs(const Query& query) const {
    if (query.wanted) return {*query.wanted};
    if (op_->kind == OpKind::move) return {query.held.front()};
    Sharding whole = made(query.split);
    const AxisList sums = listed(whole.unreduced);
    whole.unreduced = 0;
    std::vector<Sharding> outputs{whole};
    for (std::size_t d = 0; !sums.empty() && d < whole.rank; ++d) {
        Sharding scattered = whole;
        scattered.dims[d].append(sums);
        outputs.push_back(scattered);
    }
    return outputs;
}

// The chip's share of the work.
void OpWays::share_cost(std::span<const AxisList> split, std::vector<double>& cost) {
    bool mask_split = false;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        shares_[d] = split[d].empty()
                         ? sizes_[d]
                         : std::ceil(sizes_[d] / static_cast<double>(chips_across(costs_->system(), split[d])));
        mask_split = mask_split || (masked_[d] && !split[d].empty());
    }
    const Compiled& compiled = mask_split ? unmasked_ : whole_;
    compiled.times.evaluate(shares_, seconds_);
    for (std::size_t i = 0; i < compiled.slots.size(); ++i) costs_->add_time(cost, compiled.slots[i], seconds_[i]);
}

void OpWays::price_split(Query& query) {
    std::vector<double> share(costs_->width(), 0.0);
    share_cost(query.split, share);
    for (const Sharding& output : outputs(query)) {
        if (auto status = add_way(query, output, share); !status) query.problem = status.error();
    }
}

Status OpWays::add_way(Query& query, const Sharding& output, const std::vector<double>& share) {
    Way way;
    const auto add = [&](std::size_t tensor, const Sharding& from, const Sharding& to) -> Status {
        auto place = move(query.search, tensor, from, to);
        if (!place) return fail(place.error());
        way.moves.push_back(*place);
        return {};
    };
    if (op_->kind == OpKind::move) {
        if (auto status = add(0, query.held.front(), output); !status) return status;
    } else {
        for (std::size_t i = 0; i < query.held.size(); ++i) {
            if (auto status = add(i, query.held[i], sharding(i, query.split)); !status) return status;
        }
        if (auto status = add(query.held.size(), made(query.split), output); !status) return status;
    }
    way.cost = share;
    for (const std::size_t place : way.moves) {
        for (const Move& move : moved_[place].way.moves) {
            costs_->add_collective(way.cost, move.kind, move.axes.mask(), move.bytes);
        }
    }
    way.price = costs_->price(way.cost);
    way.split = query.split;
    way.output = output;
    query.found.push_back(std::move(way));
    return {};
}

Result<std::size_t> OpWays::move(ReshardSearch& search, std::size_t tensor, const Sharding& from, const Sharding& to) {
    const std::uint64_t hash = from.hash() * 31 + to.hash() + tensor;
    std::size_t place = 0;
    while (place < moved_.size() && !(hashes_[place] == hash && moved_[place].tensor == tensor &&
                                      moved_[place].from == from && moved_[place].to == to)) {
        ++place;
    }
    if (place == moved_.size()) {
        auto found =
            search.run({tensors_[tensor].name, tensors_[tensor].element_bytes, tensors_[tensor].sizes}, from, to);
        KnownMove known{tensor, from, to, {}, {}};
        if (found) {
            known.way = std::move(*found);
        } else {
            known.error = found.error();
        }
        moved_.push_back(std::move(known));
        hashes_.push_back(hash);
    }
    if (moved_[place].error) return fail(*moved_[place].error);
    return place;
}

}  // namespace roofline
