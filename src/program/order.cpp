#include "program/order.hpp"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>

#include "program/program.hpp"

namespace roofline::core {

namespace {

using DimSet = std::bitset<max_product_dims>;
using Subset = std::uint32_t;

constexpr std::size_t exact_limit = 10;

class Search {
public:
    Search(const std::vector<std::vector<std::string>>& operands, const std::vector<std::string>& result,
           const Sizes& sizes) {
        std::map<std::string_view, std::size_t> places;
        const auto set_of = [&](const std::vector<std::string>& dims) {
            DimSet set;
            for (const std::string& dim : dims) {
                const auto [place, added] = places.try_emplace(dim, places.size());
                if (added) logs_.push_back(std::log2(static_cast<double>(sizes.find(dim)->second)));
                set.set(place->second);
            }
            return set;
        };
        for (const auto& operand : operands) operands_.push_back(set_of(operand));
        result_ = set_of(result);
    }

    std::vector<Pair> run() { return operands_.size() <= exact_limit ? exact() : greedy(); }

private:
    // The FLOPs of a pair: one per combination of their dimensions, or two if something is summed.
    [[nodiscard]] double cost(const DimSet& all, bool sums) const {
        double log = sums ? 1 : 0;
        for (std::size_t dim = 0; dim < logs_.size(); ++dim) {
            if (all.test(dim)) log += logs_[dim];
        }
        return std::exp2(log);
    }

    // The dimensions that operands outside of the subset, or the result, still need.
    [[nodiscard]] DimSet outside_of(Subset inside) const {
        DimSet dims = result_;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            if ((inside >> i & 1U) == 0) dims |= operands_[i];
        }
        return dims;
    }

    // Dynamic programming over subsets: the cheapest way to compute the product of each subset of operands.
    std::vector<Pair> exact() {
        const std::size_t sets = std::size_t{1} << operands_.size();
        std::vector<double> best(sets, std::numeric_limits<double>::infinity());
        std::vector<DimSet> dims(sets);
        split_.assign(sets, 0);
        for (Subset set = 1; set < sets; ++set) {
            if (std::has_single_bit(set)) {
                best[set] = 0;
                dims[set] = operands_[static_cast<std::size_t>(std::countr_zero(set))];
                continue;
            }
            const DimSet outside = outside_of(set);
            // Each split is visited once: the half that holds the lowest operand comes first.
            const Subset lowest = set & (~set + 1);
            for (Subset left = (set - 1) & set; left != 0; left = (left - 1) & set) {
                if ((left & lowest) == 0) continue;
                const Subset right = set ^ left;
                const double parts = best[left] + best[right];
                if (split_[set] != 0 && parts >= best[set]) continue;
                const DimSet all = dims[left] | dims[right];
                const DimSet kept = all & outside;
                const double total = parts + cost(all, kept != all);
                if (split_[set] == 0 || total < best[set]) {
                    best[set] = total;
                    split_[set] = left;
                    dims[set] = kept;
                }
            }
        }
        std::vector<Subset> left;
        for (std::size_t i = 0; i < operands_.size(); ++i) left.push_back(Subset{1} << i);
        std::vector<Pair> order;
        unroll(static_cast<Subset>(sets - 1), left, order);
        return order;
    }

    // Appends the pairs that compute a subset, innermost first, as indices into the remaining operands.
    void unroll(Subset set, std::vector<Subset>& left, std::vector<Pair>& order) const {
        if (std::has_single_bit(set)) return;
        const Subset half = split_[set];
        unroll(half, left, order);
        unroll(set ^ half, left, order);
        const auto place = [&](Subset part) {
            return static_cast<std::size_t>(std::find(left.begin(), left.end(), part) - left.begin());
        };
        const Pair pair{place(half), place(set ^ half)};
        left[pair.first] = set;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(pair.second));
        order.push_back(pair);
    }

    // The costs of pairs are kept, because a join changes only those of its result.
    std::vector<Pair> greedy() {
        std::vector<std::size_t> uses(logs_.size(),
                                      // Number of remaining operands, including the result, that have each dimension.
                                      0);
        const auto note = [&](const DimSet& set, bool comes) {
            for (std::size_t dim = 0; dim < uses.size(); ++dim) {
                if (set.test(dim)) uses[dim] += comes ? 1 : ~std::size_t{0};
            }
        };
        for (const DimSet& operand : operands_) note(operand, true);
        note(result_, true);
        std::vector<DimSet> left = operands_;
        std::vector<std::vector<double>> prices(left.size(), std::vector<double>(left.size()));
        for (std::size_t i = 0; i < left.size(); ++i) {
            for (std::size_t j = i + 1; j < left.size(); ++j) prices[i][j] = cost(left[i] | left[j], true);
        }
        std::vector<Pair> order;
        while (left.size() > 1) {
            Pair pair;
            for (std::size_t i = 0; i < left.size(); ++i) {
                for (std::size_t j = i + 1; j < left.size(); ++j) {
                    if (prices[i][j] < prices[pair.first][pair.second]) pair = {i, j};
                }
            }
            note(left[pair.first], false);
            note(left[pair.second], false);
            DimSet product = left[pair.first] | left[pair.second];
            for (std::size_t dim = 0; dim < uses.size(); ++dim) product.set(dim, product.test(dim) && uses[dim] > 0);
            note(product, true);
            const auto gone = static_cast<std::ptrdiff_t>(pair.second);
            left[pair.first] = product;
            left.erase(left.begin() + gone);
            prices.erase(prices.begin() + gone);
            for (auto& row : prices) row.erase(row.begin() + gone);
            for (std::size_t i = 0; i < left.size(); ++i) {
                if (i == pair.first) continue;
                prices[std::min(i, pair.first)][std::max(i, pair.first)] = cost(left[i] | product, true);
            }
            order.push_back(pair);
        }
        return order;
    }

    std::vector<DimSet> operands_;
    DimSet result_;
    std::vector<double> logs_;
    std::vector<Subset> split_;
};

}  // namespace

std::vector<Pair> cheapest_order(const std::vector<std::vector<std::string>>& operands,
                                 const std::vector<std::string>& result, const Sizes& sizes) {
    return Search(operands, result, sizes).run();
}

}  // namespace roofline::core
