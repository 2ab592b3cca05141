#include "model/merged_matmuls.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace roofline::core {

namespace {

/// The matmul of a statement that multiplies with a parameter and whose other operations are applied to the result on
/// its way to memory; else null.
const Op* plain_matmul(const Program& program, const Node& node) {
    const auto* statement = std::get_if<Statement>(&node);
    if (statement == nullptr) return nullptr;
    const Op* matmul = nullptr;
    for (const Op& op : statement->ops) {
        if (op.kind == OpKind::contract && matmul == nullptr) {
            matmul = &op;
        } else if (op.kind != OpKind::apply) {
            return nullptr;
        }
    }
    if (matmul == nullptr || matmul->inputs.size() != 2) return nullptr;
    const bool weights =
        program.values[matmul->inputs[1].value].param && !program.values[matmul->inputs[0].value].param;
    return weights ? matmul : nullptr;
}

std::string_view part_of(const Node& node) { return std::get<Statement>(node).part; }

bool mergeable(const Program& program, const Op& one, const Op& other) {
    const auto stored = [&](const Op& op) { return program.values[op.inputs[1].value].type.dtype; };
    return one.inputs[0] == other.inputs[0] && one.along == other.along && one.arithmetic == other.arithmetic &&
           stored(one) == stored(other);
}

bool meet(const std::set<ValueId>& some, const std::set<ValueId>& others) {
    return std::any_of(some.begin(), some.end(), [&](ValueId id) { return others.contains(id); });
}

class Merging {
public:
    explicit Merging(Program& program) : program_(program) {
        std::map<std::string, ValueId> first;
        for (ValueId id = 0; id < program.values.size(); ++id) {
            const std::string& name = program.values[id].name;
            tensors_.push_back(name.empty() ? id : first.emplace(name, id).first->second);
        }
    }

    void merge(Block& block) {
        if (block.kind == Block::Kind::fuse) return;
        for (std::size_t at = 0; at < block.nodes.size(); ++at) {
            if (auto* inner = std::get_if<Block>(&block.nodes[at])) {
                merge(*inner);
            } else if (const Op* matmul = plain_matmul(program_, block.nodes[at])) {
                gather(block, at, *matmul);
            }
        }
    }

private:
    /// Adds the tensors that a node reads or writes. A reassigned name keeps its memory.
    void add_tensors(const Node& node, std::set<ValueId>& reads, std::set<ValueId>& writes) const {
        if (const auto* block = std::get_if<Block>(&node)) {
            for (const Node& inner : block->nodes) add_tensors(inner, reads, writes);
            return;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            for (const Operand& input : op.inputs) reads.insert(tensors_[input.value]);
            writes.insert(tensors_[op.output.value]);
        }
    }

    /// Moves statements that can be merged with the statement at `at` to its position.
    void gather(Block& block, std::size_t at, const Op& first) {
        std::vector<std::size_t> others;
        std::set<ValueId> read;
        std::set<ValueId> written;
        for (std::size_t i = at + 1; i < block.nodes.size() && !written.contains(tensors_[first.inputs[0].value]);
             ++i) {
            const Op* matmul = plain_matmul(program_, block.nodes[i]);
            std::set<ValueId> reads;
            std::set<ValueId> writes;
            add_tensors(block.nodes[i], reads, writes);
            if (matmul != nullptr && mergeable(program_, first, *matmul) &&
                part_of(block.nodes[i]) == part_of(block.nodes[at]) && !meet(reads, written) && !meet(writes, read) &&
                !meet(writes, written)) {
                others.push_back(i);
            } else {
                read.merge(reads);
                written.merge(writes);
            }
        }
        if (others.empty()) return;
        Block fuse;
        fuse.kind = Block::Kind::fuse;
        fuse.values_before = std::get<Statement>(block.nodes[at]).result;
        fuse.values_after = fuse.values_before;
        fuse.span = std::get<Statement>(block.nodes[at]).span;
        fuse.nodes.push_back(std::move(block.nodes[at]));
        for (const std::size_t i : others) fuse.nodes.push_back(std::move(block.nodes[i]));
        block.nodes[at] = std::move(fuse);
        for (const std::size_t i : std::views::reverse(others)) {
            block.nodes.erase(block.nodes.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    Program& program_;
    std::vector<ValueId> tensors_;  ///< by value: the first of its name
};

}  // namespace

void merge_matmuls(Program& program) { Merging(program).merge(program.body); }

}  // namespace roofline::core
