#include "algebra/compiled.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

CompiledSums::CompiledSums(const std::vector<WeightedSum>& sums, const std::vector<std::string>& dims,
                           const Sizes& fixed) {
    for (const WeightedSum& sum : sums) {
        for (const auto& [polynomial, weight] : sum) {
            const Polynomial bound = polynomial.bind(fixed);
            for (const auto& [monomial, coefficient] : bound.terms()) {
                for (const Factor& factor : monomial) {
                    auto place = std::find(dims.begin(), dims.end(), shard_name(factor.symbol));
                    const double divisor = place == dims.end() ? static_cast<double>(factor.symbol.divisor) : 1;
                    if (place == dims.end()) place = std::find(dims.begin(), dims.end(), factor.symbol.dim);
                    powers_.push_back({static_cast<std::uint32_t>(place - dims.begin()), factor.power, divisor});
                }
                products_.push_back({coefficient.to_double() * weight, static_cast<std::uint32_t>(powers_.size())});
            }
        }
        ends_.push_back(static_cast<std::uint32_t>(products_.size()));
    }
}

void CompiledSums::evaluate(std::span<const double> sizes, std::span<double> values) const {
    std::size_t product = 0;
    std::size_t index = 0;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        double sum = 0;
        for (; product < ends_[i]; ++product) {
            double value = products_[product].coefficient;
            for (; index < products_[product].end; ++index) {
                const Power& s = powers_[index];
                const double size = s.divisor > 1 ? std::ceil(sizes[s.dim] / s.divisor) : sizes[s.dim];
                for (std::int32_t power = 0; power < s.power; ++power) value *= size;
            }
            sum += value;
        }
        values[i] = sum;
    }
}

}  // namespace roofline::core
