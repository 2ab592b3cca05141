#include "measure/run/fill.hpp"

#include <algorithm>
#include <numeric>

#include "measure/run/elements.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t chunk = 1024;

bool block_wants_positive(const Block& block) {
    return std::any_of(block.nodes.begin(), block.nodes.end(), [](const Node& node) {
        if (const auto* inner = std::get_if<Block>(&node)) return block_wants_positive(*inner);
        const auto& ops = std::get<Statement>(node).ops;
        return std::any_of(ops.begin(), ops.end(), [](const Op& op) {
            return op.function == "log" || op.function == "sqrt" || op.function == "rsqrt";
        });
    });
}

/// Writes `count` numbers in [0, below) in random order; they are distinct as long as count <= below.
void fill_indices(RandomBits& random, std::int64_t below, std::int64_t count, std::vector<double>& numbers) {
    // a step that is coprime to `below` visits every number once
    std::int64_t step = below / 2 + random.below(below / 2 + 1);
    while (std::gcd(std::max<std::int64_t>(step, 1), below) != 1) ++step;
    std::int64_t at = random.below(below);
    numbers.resize(static_cast<std::size_t>(count));
    for (double& number : numbers) {
        number = static_cast<double>(at);
        at = static_cast<std::int64_t>(
            (static_cast<std::uint64_t>(at) + static_cast<std::uint64_t>(std::max<std::int64_t>(step, 1))) %
            static_cast<std::uint64_t>(below));
    }
}

double one(RandomBits& random, const RunArray& array, bool positive) {
    const std::uint64_t bits = random();
    const double sign = positive || (bits & 1U) == 0 ? 1 : -1;
    const double share = static_cast<double>(bits >> 11U) * 0x1p-53;
    if (array.dtype == Dtype::boolean) return static_cast<double>(bits & 1U);
    if (array.dtype == Dtype::int8) return sign * static_cast<double>(1 + static_cast<std::int64_t>(share * 63));
    if (array.dtype == Dtype::int32) return sign * static_cast<double>(1 + static_cast<std::int64_t>(share * 100));
    return sign * (0.25 + 0.75 * share) * array.scale;
}

}  // namespace

bool needs_positive_inputs(const Program& program) { return block_wants_positive(program.body); }

void fill_array(const RunArray& array, std::int64_t copy, bool positive, void* bytes) {
    RandomBits random(0x5eed + 0x10001 * static_cast<std::uint64_t>(array.value.value_or(0)) +
                      0x1000003 * static_cast<std::uint64_t>(copy));
    const std::int64_t elements = array.elements();
    auto* to = static_cast<char*>(bytes);
    std::vector<double> numbers(chunk);
    if (array.below > 0) {
        fill_indices(random, array.below, elements, numbers);
        store_elements(array.dtype, numbers.data(), to, 1, static_cast<std::size_t>(elements));
        return;
    }
    for (std::int64_t at = 0; at < elements; at += static_cast<std::int64_t>(chunk)) {
        const auto count =
            static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(chunk), elements - at));
        for (std::size_t i = 0; i < count; ++i) numbers[i] = one(random, array, positive);
        store_elements(array.dtype, numbers.data(), to + at * static_cast<std::int64_t>(element_bytes(array.dtype)), 1,
                       count);
    }
}

}  // namespace roofline::core
