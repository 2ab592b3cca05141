// The iterations of repeats and what they share: kernels, collectives and memory.
#include <algorithm>
#include <utility>

#include "measure/network/sharded_run.hpp"
#include "measure/run/routing.hpp"

namespace roofline::core {

Status ShardedRun::add_block(const Block& block, std::size_t& statement, std::size_t& index) {
    for (const Node& node : block.nodes) {
        Status status;
        if (const auto* one = std::get_if<Statement>(&node)) {
            status = add_statement(*one, statement++, index);
        } else {
            const Block& inner = std::get<Block>(node);
            status = inner.kind == Block::Kind::repeat ? add_repeat(inner, statement, index)
                                                       : add_block(inner, statement, index);
        }
        if (!status) return status;
    }
    return {};
}

// Every iteration has its own stages, over two alternating sets of arrays, so that an iteration reads what the previous
// one has made while it writes its own. In layouts a carried value has the same sharding at the end of a repeat as at
// its beginning.
Status ShardedRun::add_repeat(const Block& block, std::size_t& statement, std::size_t& index) {
    const std::int64_t count = block.count.empty() ? 1 : size_of(program_, block.count).value_or(1);
    const std::vector<CarriedValue> carried = carried_values(program_, block);
    const std::size_t first_statement = statement;
    const std::size_t first_index = index;
    const bool back = goes_back(block, by_pass_);
    BroughtValues outside;
    outside.swap(brought_);
    frames_.push_back({0, count});
    for (std::int64_t pass = 0; pass < count; ++pass) {
        frames_.back().index = back ? count - 1 - pass : pass;
        place_inputs();
        statement = first_statement;
        index = first_index;
        brought_.clear();
        ROOFLINE_CHECK(add_block(block, statement, index));
        if (pass + 1 == count) break;
        for (const CarriedValue& value : carried) {
            handed_on_.insert(value.read);
            values_[value.read] = values_[value.made];
        }
    }
    frames_.pop_back();
    outside.swap(brought_);
    return {};
}

Status ShardedRun::add_statement(const Statement& statement, std::size_t number, std::size_t& index) {
    std::map<ValueId, Place> read;
    for (const Op& op : statement.ops) {
        for (const Operand& input : op.inputs) read.try_emplace(input.value, values_[input.value]);
        if (const auto choices = choices_of(program_, op)) read.try_emplace(choices->value, values_[choices->value]);
        ROOFLINE_CHECK(add_op(index++, number));
    }
    read[statement.result] = values_[statement.result];
    if (by_pass_.contains(statement.result)) {
        std::vector<Place>& made = made_by_pass_[statement.result];
        made.resize(std::max(made.size(), copy_of(statement.result) + 1));
        made[copy_of(statement.result)] = values_[statement.result];
    }
    read_[number] = std::move(read);
    return {};
}

// Memory for the result of the operation: two iterations alternate, unless a later repeat reads the result of each.
Result<void*> ShardedRun::room(std::size_t bytes) {
    const bool kept = by_pass_.contains(search_->op(at_.op).op().output.value);
    std::vector<void*>& arrays = shared_[at_.op].arrays[kept ? at_.pass : at_.pass % 2];
    const std::size_t number = at_.arrays++;
    if (number < arrays.size()) return arrays[number];
    auto memory = allocate(bytes);
    if (memory) arrays.push_back(*memory);
    return memory;
}

// Reuses the kernels of the first iteration unless they have packed an array of that iteration.
Result<LocalOp*> ShardedRun::local_of(OpShare share, const std::vector<const void*>& inputs) {
    const std::vector<std::size_t>& stages = shared_[at_.op].stages;
    if (at_.stages < stages.size()) {
        const ShardedStage& before = stages_[stages[at_.stages]];
        bool same = before.work != nullptr;
        for (std::size_t i = 0; same && i < inputs.size(); ++i) {
            same = inputs[i] == before.inputs[i] || !fixed_.contains(inputs[i]) || !before.work->packs(i);
        }
        if (same) return before.work;
    }
    ROOFLINE_TRY(auto local, LocalOp::make(std::move(share), device_));
    locals_.push_back(std::move(local));
    return locals_.back().get();
}

void ShardedRun::add(ShardedStage stage) {
    std::vector<std::size_t>& stages = shared_[at_.op].stages;
    if (at_.stages == stages.size()) stages.push_back(stages_.size());
    stage.op = at_.instance;
    stage.statement = at_.statement;
    stage.first = stages[at_.stages++];
    stages_.push_back(std::move(stage));
}

}  // namespace roofline::core
