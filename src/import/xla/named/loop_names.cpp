#include "import/xla/named/loop_names.hpp"

#include <algorithm>

namespace roofline::core {

LoopNames::LoopNames(const ImportedProgram& imported, ProgramDims& dims)
    : imported_(imported),
      dims_(dims),
      made_at_(imported.program.values.size(), 0),
      last_use_(imported.program.values.size(), 0) {
    walk(imported.program.body);
    settle(imported.program.body);
}

void LoopNames::walk(const Block& block) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            walk(*inner);
            continue;
        }
        ++position_;
        for (const Op& op : std::get<Statement>(node).ops) {
            for (const Operand& input : op.inputs) last_use_[input.value] = position_;
            made_at_[op.output.value] = position_;
        }
    }
}

// Inner loops come first, as in ImportedProgram::carried.
void LoopNames::settle(const Block& block) {
    for (const Node& node : block.nodes) {
        const auto* inner = std::get_if<Block>(&node);
        if (inner == nullptr || inner->kind != Block::Kind::repeat) continue;
        settle(*inner);
        if (loops_ == imported_.carried.size()) return;
        for (const auto& [first, last] : imported_.carried[loops_]) {
            if (!may_rename(first, last)) {
                copied_[inner].emplace_back(first, last);
                continue;
            }
            const ValueId root = first_.contains(first) ? first_.at(first) : first;
            first_[last] = root;
            names_[root].insert({root, last});
        }
        ++loops_;
    }
}

// Of any two arrays with one name the earlier one must not be read after the later one is made.
bool LoopNames::may_rename(ValueId first, ValueId last) const {
    const ValueId root = first_.contains(first) ? first_.at(first) : first;
    if (const auto known = first_.find(last); known != first_.end()) return known->second == root;
    const Value& one = imported_.program.values[first];
    const Value& other = imported_.program.values[last];
    if (made_at_[last] == 0 || made_at_[last] < made_at_[first]) return false;
    if (one.type.dtype != other.type.dtype || one.level != other.level) return false;
    if (dims_.classes().parts(dims_.of_value(first)) != dims_.classes().parts(dims_.of_value(last))) return false;
    std::set<ValueId> all{root};
    if (const auto known = names_.find(root); known != names_.end())
        all.insert(known->second.begin(), known->second.end());
    return std::all_of(all.begin(), all.end(), [&](ValueId each) {
        const bool before = made_at_[each] <= made_at_[last];
        return before ? last_use_[each] <= made_at_[last] : last_use_[last] <= made_at_[each];
    });
}

std::optional<ValueId> LoopNames::renames(ValueId id) const {
    const auto found = first_.find(id);
    return found == first_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::pair<ValueId, ValueId>> LoopNames::copied(const Block& repeat) const {
    const auto found = copied_.find(&repeat);
    return found == copied_.end() ? std::vector<std::pair<ValueId, ValueId>>{} : found->second;
}

}  // namespace roofline::core
