#include "bound/padding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "units/text.hpp"

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

double size_of(const Program& program, const Dims& dims) {
    double size = 1;
    for (const std::string& dim : dims) {
        const auto found = program.sizes.find(dim);
        size *= found == program.sizes.end() ? 1.0 : static_cast<double>(found->second);
    }
    return size;
}

std::string group_text(const Program& program, const Dims& dims) {
    std::vector<std::string> names;
    for (const std::string& dim : dims) names.push_back(dim_text(program, dim));
    return fmt::format("{}", fmt::join(names, " x "));
}

}  // namespace

std::optional<Padding> padding_of(const Program& program, const std::vector<const KernelWork*>& kernels,
                                  const Machine& machine, const Pricing& pricing) {
    const Resource* math = pricing.find("math");
    if (!machine.matrix_unit || machine.matrix_unit->side <= 1 || math == nullptr) return std::nullopt;
    const auto side = static_cast<double>(machine.matrix_unit->side);
    const auto padded = [&](double size) { return std::ceil(size / side) * side; };
    Padding result;
    const auto say = [&](const Dims& dims) {
        const double size = size_of(program, dims);
        if (padded(size) <= size) return;
        std::string text = fmt::format("{} {:.0f} -> {:.0f}", group_text(program, dims), size, padded(size));
        if (std::find(result.sides.begin(), result.sides.end(), text) == result.sides.end())
            result.sides.push_back(std::move(text));
    };
    for (const KernelWork* kernel : kernels) {
        const auto count = kernel->count.evaluate(program.sizes);
        for (const MatmulShape& shape : kernel->matmuls) {
            const auto flops = shape.flops.evaluate(program.sizes);
            if (shape.unit != Unit::matmul || !flops || !count) continue;
            auto assigned = assign(machine, shape.unit, shape.dtype);
            if (!assigned || assigned->peak->unit != Unit::matmul || !assigned->peak->rate.value) continue;
            const double k = size_of(program, shape.k);
            const double m = size_of(program, shape.m);
            const double n = size_of(program, shape.n);
            const bool n_stationary = padded(n) / n <= padded(m) / m;
            const double growth = padded(k) / k * (n_stationary ? padded(n) / n : padded(m) / m);
            const double useful = flops->to_double() * count->to_double();
            result.useful_flops += useful;
            result.padded_flops += useful * growth;
            result.padded_seconds += useful * growth / assigned->peak->rate.value->value;
            say(shape.k);
            say(n_stationary ? shape.n : shape.m);
        }
    }
    if (result.sides.empty()) return std::nullopt;
    return result;
}

}  // namespace roofline::core
