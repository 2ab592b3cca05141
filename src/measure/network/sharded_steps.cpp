// The stages of a sharded program: operations on shards, and the layout's steps between them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "measure/network/sharded_run.hpp"
#include "measure/run/routing.hpp"

namespace roofline::core {

namespace {

std::string move_text(const Move& move, const std::string& tensor, const System& system) {
    return fmt::format("{} {}{}", collective_name(move.kind, true), tensor,
                       route_text(message_of(move.route(), move.axes, system), ""));
}

// Half a unit in the last place, relative.
double rounding(Dtype dtype) {
    return dtype == Dtype::bf16 ? 0x1p-9 : dtype == Dtype::f16 ? 0x1p-12 : dtype == Dtype::f32 ? 0x1p-25 : 0;
}

}  // namespace

// The reshardings of a tensor of an operation: none, one, or, for row statistics, one per round.
std::vector<const TensorMove*> ShardedRun::moves_of(std::size_t index, std::size_t tensor) const {
    std::vector<const TensorMove*> moves;
    for (const TensorMove& each : layout_.choices[index].strategy.moves) {
        if (each.tensor == tensor) moves.push_back(&each);
    }
    return moves;
}

Result<ShardedRun::Array> ShardedRun::array_of(std::size_t index, std::size_t tensor) const {
    const OpStrategies& ways = search_->op(index);
    const Op& op = ways.op();
    ROOFLINE_TRY(auto sizes, sizes_of(ways.moved_dims(tensor)));
    const bool statistics = tensor > op.inputs.size();
    const Operand& operand = tensor < op.inputs.size() ? op.inputs[tensor] : op.output;
    const Dtype dtype = statistics ? statistics_dtype(op) : computed_.values[operand.value].type.dtype;
    return Array{ways.tensor_name(tensor), std::move(sizes), dtype, Reduction::sum};
}

Status ShardedRun::add_op(std::size_t index, std::size_t statement) {
    at_ = {index, statement, overlapped_.size(), shared_[index].passes++};
    overlapped_.emplace_back();
    const OpStrategies& ways = search_->op(index);
    const Strategy& way = layout_.choices[index].strategy;
    const Op& op = ways.op();
    const std::size_t result = op.inputs.size();
    const std::vector<const TensorMove*> after = moves_of(index, result);
    const bool moves = op.kind == OpKind::move && after.empty();
    ROOFLINE_TRY(auto choices, external_choices());
    std::vector<const void*> inputs;
    std::vector<TensorSteps> tensors(result + 1);
    for (std::size_t i = 0; i < result; ++i) {
        ROOFLINE_TRY(auto place, bring(i, moves ? HeldShard{way.output} : held_by_way(ways, way, i), tensors[i]));
        inputs.push_back(place.memory);
    }
    Place made{nullptr, moves ? HeldShard{way.output} : held_by_way(ways, way, result)};
    ROOFLINE_TRY(auto array, array_of(index, result));
    const std::vector<const TensorMove*> statistics = moves_of(index, result + 1);
    const Value& from = computed_.values[op.inputs.empty() ? op.output.value : op.inputs.front().value];
    if (choices) inputs.push_back((choices)->memory);
    bool in_pieces = op.kind != OpKind::move && statistics.empty();
    // an array that another iteration reads must not be overwritten before
    const bool other_pass_reads = computed_.values[op.output.value].carried || by_pass_.contains(op.output.value);
    if (moves && from.type.dtype == array.dtype && !other_pass_reads) {
        made.memory = const_cast<void*>(inputs.front());  // only its place has changed
    } else if (!statistics.empty()) {
        ROOFLINE_CHECK(add_rows(statistics, std::move(inputs), array, made));
    } else {
        const auto operand = choices ? std::optional((choices)->operand) : std::nullopt;
        ROOFLINE_TRY(auto share, share_of_op(computed_, ways, way, system_, ranks_.chip(), operand));
        ROOFLINE_CHECK(add_local(std::move(share), inputs, array, made));
        in_pieces = in_pieces && stages_.back().output_bytes > 0;
    }
    // of a band of a window each chip keeps what it sees; nothing else exists
    const HeldShard to = after.empty() && made.held.has_halo() ? made.held : HeldShard{way.output};
    ROOFLINE_TRY(auto place, reshard(array, after.empty() ? nullptr : &search_->resharding(after.front()->resharding),
                                     made, to, tensors.back()));
    values_[op.output.value] = place;
    tensors.back().memory = place.memory;
    return in_pieces ? add_overlapped(index, std::move(tensors), std::move(choices)) : Status{};
}

// Provides an operand as the operation needs it. A resharding that an earlier operation did is reused, as in the
// layout.
Result<ShardedRun::Place> ShardedRun::bring(std::size_t operand, const HeldShard& wanted, TensorSteps& taken) {
    const ValueId value = search_->op(at_.op).op().inputs[operand].value;
    const std::vector<const TensorMove*> moves = moves_of(at_.op, operand);
    const auto key = std::pair(value, moves.empty() ? std::size_t{0} : moves.front()->resharding);
    const auto known = brought_.find(key);
    if (!moves.empty() && known != brought_.end() && search_->done_before(at_.op, *moves.front(), layout_)) {
        // the other operation cannot run in pieces because this one needs the whole array
        overlapped_[known->second.instance].reset();
        taken.held = known->second.place.held;
        taken.memory = known->second.place.memory;
        return known->second.place;
    }
    ROOFLINE_TRY(auto array, array_of(at_.op, operand));
    auto place = reshard(array, moves.empty() ? nullptr : &search_->resharding(moves.front()->resharding),
                         values_[value], wanted, taken);
    if (place && !moves.empty()) brought_.insert_or_assign(key, Brought{at_.instance, *place});
    return place;
}

// A combine needs the choices of its dispatch, split as its rows are.
Result<std::optional<ExternalChoices>> ShardedRun::external_choices() {
    const OpStrategies& ways = search_->op(at_.op);
    const Op& op = ways.op();
    const auto choices = choices_of(program_, op);
    if (!choices) return std::optional<ExternalChoices>{};  // if it needs choices, make_steps() has rejected it
    ROOFLINE_CHECK(note_shares(*choices));
    if (choices->value == op.inputs[1].value) return std::optional<ExternalChoices>{};
    const HeldShard wanted = held_extra(ways, layout_.choices[at_.op].strategy, choices->dims);
    Place place = values_[choices->value];
    const Sharding& held = place.held.lies;
    bool has_all = held.unreduced == 0 && !held.at_chip();
    for (std::size_t d = 0; d < choices->dims.size(); ++d) {
        has_all = has_all && (held.dims[d].empty() || held.dims[d] == wanted.lies.dims[d]);
    }
    if (!has_all) {
        return fail("unsupported",
                    fmt::format("`{}` combines rows that are split differently from the choices of experts, {}",
                                op.function, value_name(program_, choices->value)),
                    "split the choices as the weights of the rows are split, or do not split them");
    }
    if (held != wanted.lies) {
        ROOFLINE_TRY(auto sizes, sizes_of(choices->dims));
        const Array array{value_name(program_, choices->value), sizes, program_.values[choices->value].type.dtype};
        TensorSteps taken;
        ROOFLINE_TRY(auto share, step(array, place, wanted, std::nullopt, taken));
        stages_.back().beside = true;
        place = share;
    }
    return std::optional(ExternalChoices{*choices, place.memory});
}

// Each chip fills a share of every group with its own rows, so all operations that move rows by the same choices must
// split them alike.
Status ShardedRun::note_shares(const Operand& choices) {
    const OpStrategies& ways = search_->op(at_.op);
    const ValueId made = ways.op().output.value;
    shares_[made] = group_shares(ways, layout_.choices[at_.op].strategy, choices, system_);
    const auto [other, first] = filled_.try_emplace(choices.value, made);
    if (first || shares_[other->second] == shares_[made]) return {};
    return fail("unsupported",
                fmt::format("dispatch and combine by {} have different layouts, but each chip fills "
                            "its own share of every group",
                            value_name(program_, choices.value)),
                "use the same split of rows before the dispatch and after the combine");
}

Status ShardedRun::add_overlapped(std::size_t index, std::vector<TensorSteps> tensors,
                                  std::optional<ExternalChoices> choices) {
    Shared& shared = shared_[index];
    std::vector<void*> cut;
    for (const TensorSteps& tensor : tensors) cut.push_back(tensor.memory);
    if (choices) cut.push_back(const_cast<void*>(choices->memory));
    const auto known = std::find(shared.cut.begin(), shared.cut.end(), cut);
    if (known == shared.cut.end()) {
        ROOFLINE_TRY(auto op, OverlappedOp::make(computed_, search_->op(index), layout_.choices[index].strategy, ranks_,
                                                 device_, std::move(tensors), std::move(choices)));
        shared.cut.push_back(std::move(cut));
        shared.pieces.push_back(std::move(op));
        overlapped_[at_.instance] = shared.pieces.back();
    } else {
        overlapped_[at_.instance] = shared.pieces[static_cast<std::size_t>(known - shared.cut.begin())];
    }
    return {};
}

// Adds the stages of a function along split rows: statistics of this rank's part, reduced over all ranks in rounds,
// then the result.
Status ShardedRun::add_rows(const std::vector<const TensorMove*>& moves, std::vector<const void*> inputs,
                            const Array& result, Place& made) {
    const OpStrategies& ways = search_->op(at_.op);
    const Strategy& way = layout_.choices[at_.op].strategy;
    ROOFLINE_TRY(auto parts, row_parts(computed_, ways, way, system_, ranks_.chip()));
    // the statistics of a round form one array, whose first dimension enumerates them
    const auto numbered = [](const Sharding& rows) {
        Sharding all = rows;
        std::copy_backward(rows.dims.begin(), rows.dims.begin() + rows.rank, all.dims.begin() + rows.rank + 1);
        all.dims[0] = {};
        ++all.rank;
        return all;
    };
    for (std::size_t i = 0; i < parts.rounds.size(); ++i) {
        RowParts::Round& round = parts.rounds[i];
        ROOFLINE_TRY(auto array, array_of(at_.op, ways.op().inputs.size() + 1));
        array.sizes.insert(array.sizes.begin(), static_cast<std::int64_t>(round.numbers.size()));
        array.reduction = round.reduction;
        Place part{nullptr, HeldShard{numbered(ways.part_statistics(way))}};
        const std::size_t each = bytes_of(array, part.held) / round.numbers.size();
        ROOFLINE_TRY(auto memory, room(each * round.numbers.size()));
        part.memory = memory;
        for (std::size_t n = 0; n < round.numbers.size(); ++n) {
            auto* at = static_cast<std::byte*>(part.memory) + n * each;
            ROOFLINE_CHECK(add_stage(std::move(round.numbers[n]), inputs, at, each));
        }
        Resharding resharding = search_->resharding(moves[i]->resharding);
        for (ReshardAction& step : resharding.actions) step.to = numbered(step.to);
        TensorSteps taken;
        ROOFLINE_TRY(auto whole, reshard(array, &resharding, part, HeldShard{resharding.actions.back().to}, taken));
        for (std::size_t n = 0; n < round.numbers.size(); ++n) {
            inputs.push_back(static_cast<std::byte*>(whole.memory) + n * each);
        }
    }
    return add_local(std::move(parts.last), inputs, result, made);
}

std::size_t ShardedRun::bytes_of(const Array& array, const HeldShard& held) const {
    return box_of(held, array.sizes, system_, ranks_.chip()).elements() *
           static_cast<std::size_t>(info(array.dtype).bits) / 8;
}

Status ShardedRun::add_local(OpShare share, const std::vector<const void*>& inputs, const Array& array, Place& made) {
    const std::size_t bytes = bytes_of(array, made.held);
    ROOFLINE_TRY(auto memory, room(bytes));
    ROOFLINE_CHECK(add_stage(std::move(share), inputs, memory, bytes));
    made.memory = stages_.back().output;
    return {};
}

Status ShardedRun::add_stage(OpShare share, const std::vector<const void*>& inputs, void* output, std::size_t bytes) {
    ROOFLINE_TRY(auto local, local_of(std::move(share), inputs));
    ShardedStage stage;
    stage.text = (local)->text();
    stage.work = local;
    const std::int64_t place = layout_.choices[at_.op].strategy.at;
    const bool mine = place == Sharding::everywhere || place == ranks_.chip();
    stage.local = mine ? local : nullptr;
    stage.inputs = inputs;
    stage.output = output;
    stage.output_bytes = bytes;
    if (const auto in_place = (local)->writes_into()) {
        stage.output = const_cast<void*>(inputs[*in_place]);
        stage.output_bytes = 0;
    }
    add(std::move(stage));
    return {};
}

// Adds one step of a resharding as a stage.
Result<ShardedRun::Place> ShardedRun::step(const Array& array, const Place& from, const HeldShard& to,
                                           const std::optional<Move>& how, TensorSteps& taken) {
    taken.steps.push_back({from.held, to, how, array.sizes, array.dtype, array.reduction});
    const std::vector<std::size_t>& before = shared_[at_.op].stages;
    ShardMove* move = at_.stages < before.size() ? stages_[before[at_.stages]].move : nullptr;
    if (move == nullptr) {
        ROOFLINE_TRY(auto made, ShardMove::make(ranks_, taken.steps.back()));
        moves_.push_back(std::make_unique<ShardMove>(std::move(made)));
        move = moves_.back().get();
    }
    ROOFLINE_TRY(auto memory, room(move->bytes_after()));
    ShardedStage stage;
    stage.text = how ? move_text(*how, array.name, system_) : "a shard of " + array.name;
    stage.exchange = how.has_value();
    stage.move = move;
    stage.inputs = {from.memory};
    stage.output = memory;
    add(std::move(stage));
    const bool sums = how && info(how->kind).sums();
    if (array.reduction == Reduction::sum && (sums || (how && how->back))) {
        // each partial sum and each sum of two is rounded once; they are about as large as the result
        allowed_error_ += 4 * static_cast<double>(chips_across(system_, how->axes)) * rounding(array.dtype);
    }
    return Place{memory, to};
}

// Adds the steps of a resharding as the search chose them; a slice alone is not recorded there.
Result<ShardedRun::Place> ShardedRun::reshard(const Array& array, const Resharding* resharding, Place from,
                                              const HeldShard& to, TensorSteps& taken) {
    taken.held = from.held;
    taken.memory = from.memory;
    taken.fixed = fixed_.contains(from.memory);
    const std::size_t count = resharding == nullptr ? 0 : resharding->actions.size();
    for (std::size_t i = 0; i <= count; ++i) {
        std::optional<Move> how;
        HeldShard next = to;
        if (i < count) {
            const ReshardAction& taken_step = resharding->actions[i];
            if (taken_step.move) how = resharding->moves[*taken_step.move];
            if (!how || how->hops == 0 || how->back) next = HeldShard{taken_step.to};
        }
        if (from.held == next) continue;
        if (from.held.has_halo() && !(how && how->back)) {
            if (from.held.lies.unreduced == 0) {
                return fail("unsupported",
                            fmt::format("{} is a band of a window: each rank has what its rows see, but a "
                                        "statement needs it split differently",
                                        array.name),
                            "split rows and columns alike in all statements between the mask and the matmul");
            }
            // partial sums of places that a rank does not see are zero
            HeldShard wide = from.held.without_halo();
            wide.lies.dims[from.held.dim] = {};
            ROOFLINE_TRY(from, step(array, from, wide, std::nullopt, taken));
            if (from.held == next) continue;
        }
        ROOFLINE_TRY(from, step(array, from, next, how, taken));
    }
    return from;
}

}  // namespace roofline::core
