// Values that iterations of repeats pass on: to the next iteration, and to the same iteration of a later repeat.
#include <algorithm>
#include <map>
#include <string>

#include "measure/run/step_builder.hpp"

namespace roofline::core {

namespace {

/// Finds the last value of each name that a block makes.
void last_named(const Block& block, const Program& program, std::map<std::string, ValueId>& found) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            last_named(*inner, program, found);
            continue;
        }
        const ValueId result = std::get<Statement>(node).result;
        if (program.values[result].carried) found[program.values[result].name] = result;
    }
}

using Repeats = std::vector<const Block*>;

/// Returns whether two different nests of repeats have the same counts.
bool alike_elsewhere(const Repeats& a, const Repeats& b) {
    return !a.empty() && a != b &&
           std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Block* x, const Block* y) { return x->count == y->count; });
}

class PassReader {
public:
    explicit PassReader(const Program& program) : program_(program) {}

    std::set<ValueId> run() {
        block(program_.body);
        for (const ValueId id : handed_on_) found_.erase(id);
        return std::move(found_);
    }

private:
    void block(const Block& block) {
        const bool repeats = block.kind == Block::Kind::repeat;
        if (repeats) {
            repeats_.push_back(&block);
            for (const CarriedValue& value : carried_values(program_, block)) {
                handed_on_.insert({value.made, value.read});
            }
        }
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                this->block(*inner);
                continue;
            }
            const auto& statement = std::get<Statement>(node);
            for (const Op& op : statement.ops) {
                for (const Operand& input : op.inputs) {
                    const auto made = made_.find(input.value);
                    if (made != made_.end() && alike_elsewhere(made->second, repeats_)) found_.insert(input.value);
                }
            }
            made_[statement.result] = repeats_;
        }
        if (repeats) repeats_.pop_back();
    }

    const Program& program_;
    Repeats repeats_;
    std::map<ValueId, Repeats> made_;
    std::set<ValueId> found_;
    std::set<ValueId> handed_on_;
};

}  // namespace

std::vector<CarriedValue> carried_values(const Program& program, const Block& block) {
    std::map<std::string, ValueId> last;
    last_named(block, program, last);
    std::vector<CarriedValue> carried;
    for (const auto& [name, made] : last) {
        for (std::size_t old = block.values_before; old-- > 0;) {
            if (program.values[old].name != name) continue;
            carried.push_back({made, old});
            break;
        }
    }
    return carried;
}

std::set<ValueId> values_by_pass(const Program& program) { return PassReader(program).run(); }

bool goes_back(const Block& block, const std::set<ValueId>& by_pass) {
    const auto reads = [&](const auto& self, const Block& inside) -> bool {
        return std::any_of(inside.nodes.begin(), inside.nodes.end(), [&](const Node& node) {
            if (const auto* inner = std::get_if<Block>(&node)) return self(self, *inner);
            const auto& ops = std::get<Statement>(node).ops;
            return std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
                return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
                    return input.value < block.values_before && by_pass.contains(input.value);
                });
            });
        });
    };
    return reads(reads, block);
}

void StepBuilder::carry(const Block& block, StepBlock& out) const {
    for (const CarriedValue& value : carried_values(program_, block)) {
        const auto from = out_.array_of[value.made];
        const auto to = out_.array_of[value.read];
        if (from && to && *from != *to) out.carried.emplace_back(*from, *to);
    }
}

}  // namespace roofline::core
