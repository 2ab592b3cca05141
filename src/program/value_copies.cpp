#include "program/value_copies.hpp"

namespace roofline::core {

namespace {

void mark(const Program& program, const Block& block, const Rational& count, std::vector<Rational>& copies) {
    for (const Node& node : block.nodes) {
        const auto* inner = std::get_if<Block>(&node);
        if (inner == nullptr) continue;
        Rational here = count;
        if (inner->kind == Block::Kind::repeat) {
            const auto size = program.sizes.find(inner->count);
            if (size != program.sizes.end()) here *= Rational(size->second);
        }
        for (ValueId id = inner->values_before; id < inner->values_after && id < copies.size(); ++id) copies[id] = here;
        mark(program, *inner, here, copies);
    }
}

}  // namespace

std::vector<Rational> value_copies(const Program& program) {
    std::vector<Rational> copies(program.values.size(), Rational(1));
    mark(program, program.body, Rational(1), copies);
    return copies;
}

}  // namespace roofline::core
