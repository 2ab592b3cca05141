// Fuzzer for programs: a text is parsed, printed, parsed again, and priced with and without sizes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bound/analysis.hpp"
#include "machine/machine.hpp"
#include "notation/notation.hpp"
#include "require.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view toy = R"(
id = "toy"
name = "Toy"
[matrix_unit]
side = 64
[power]
value = 100
source = "s"
[[matmul]]
dtype = "bf16"
value = 1e14
source = "s"
[[vector]]
dtype = "f32"
value = 1e12
source = "s"
[[vector]]
dtype = "f64"
value = 1e11
source = "s"
[[memory]]
level = "hbm"
capacity = { value = 1e10, source = "s" }
bandwidth = { value = 1e12, source = "s" }
[[memory]]
level = "vmem"
capacity = { value = 1e6, source = "s" }
bandwidth = { value = 1e13, source = "s" }
[host]
bandwidth = { value = 1e10, source = "s" }
)";

Polynomial with_numbers(const Program& program, const Polynomial& polynomial) {
    Sizes numbers;
    for (const auto& [dim, size] : program.sizes) {
        if (dim.starts_with('#')) numbers.emplace(dim, size);
    }
    return polynomial.bind(numbers);
}

// Requires that both programs have the same work, even if they name unnamed dimensions differently.
void require_same_work(const Program& a, const Program& b) {
    const auto ours = derive_work(a);
    const auto theirs = derive_work(b);
    require(ours.has_value() == theirs.has_value());
    if (!ours) return;
    require(ours->kernels.size() == theirs->kernels.size());
    require(ours->total.compute.size() == theirs->total.compute.size());
    for (std::size_t i = 0; i < ours->total.compute.size(); ++i) {
        const ComputeWork& left = ours->total.compute[i];
        const ComputeWork& right = theirs->total.compute[i];
        require(left.unit == right.unit && left.dtype == right.dtype);
        require(with_numbers(a, left.flops) == with_numbers(b, right.flops));
    }
    require(ours->total.memory.size() == theirs->total.memory.size());
    for (const auto& [level, traffic] : ours->total.memory) {
        const auto other = theirs->total.memory.find(level);
        require(other != theirs->total.memory.end());
        require(with_numbers(a, traffic.read) == with_numbers(b, other->second.read));
        require(with_numbers(a, traffic.write) == with_numbers(b, other->second.write));
    }
}

void analyse_it(const Program& program, const Machine& machine) {
    const auto analysis = analyse(program, machine, {});
    if (!analysis || !analysis->total.seconds) return;
    const Bounds& bounds = analysis->total.bounds;
    const auto resources = static_cast<double>(analysis->total.pricing.resources.size());
    require(bounds.lower <= bounds.upper);
    require(bounds.upper <= resources * bounds.lower * (1 + 1e-12));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Machine machine = *parse_machine(toy, "toy.toml");
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    auto program = parse_program(text, "fuzz.roof");
    if (!program) {
        require(!program.error().message.empty() && !program.error().code.empty());
        return 0;
    }
    const std::string printed = print(*program);
    const auto again = parse_program(printed);
    require(again.has_value());
    require(print(*again) == printed);
    require_same_work(*program, *again);

    analyse_it(*program, machine);
    std::int64_t next = 3;
    for (const std::string& dim : program->dims) program->sizes.try_emplace(dim, next = next * 7 % 1009);
    analyse_it(*program, machine);
    return 0;
}
