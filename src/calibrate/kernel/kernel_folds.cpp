#include "calibrate/kernel/kernel_folds.hpp"

#include <algorithm>

namespace roofline::core {

namespace {

KernelShape shape_of(const TimedKernel& kernel) {
    const KernelPoint& point = kernel.point;
    if (!kernel.more.empty()) return {point.n, point.depth, 0};  // layers differ in their number of groups
    if (point.n > 0) return {point.n, point.depth, point.batch};
    return {bound_of(point), point.math_s, point.depth};
}

/// The rank of each of a shape's sizes among all values of that size.
class SizeRanks {
public:
    explicit SizeRanks(const FoldsOfShapes& shapes) {
        for (const auto& [shape, fold] : shapes) {
            sizes_[0].push_back(std::get<0>(shape));
            sizes_[1].push_back(std::get<1>(shape));
            sizes_[2].push_back(std::get<2>(shape));
        }
        for (std::vector<double>& sizes : sizes_) {
            std::sort(sizes.begin(), sizes.end());
            sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
        }
    }

    /// Assigns every fifth value of each size to the same fold, so that on a grid the pattern differs between any two
    /// sizes.
    [[nodiscard]] std::size_t fold_of(const KernelShape& shape) const {
        return (rank(0, std::get<0>(shape)) + 2 * rank(1, std::get<1>(shape)) + 3 * rank(2, std::get<2>(shape))) %
               kernel_folds;
    }

private:
    [[nodiscard]] std::size_t rank(std::size_t which, double size) const {
        const std::vector<double>& sizes = sizes_[which];
        return static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), size) - sizes.begin());
    }

    std::array<std::vector<double>, 3> sizes_;
};

}  // namespace

FoldsOfShapes folds_of(const TimedKernels& kernels, const FoldsOfShapes& known) {
    FoldsOfShapes folds;
    for (const TimedKernel* kernel : kernels) folds.emplace(shape_of(*kernel), 0);
    const SizeRanks ranks(folds);
    std::array<std::size_t, kernel_folds> taken{};
    for (auto& [shape, fold] : folds) {
        const auto found = known.find(shape);
        fold = found == known.end() ? ranks.fold_of(shape) : found->second;
        // if the shapes are not a grid, this keeps the folds balanced
        const auto least = std::min_element(taken.begin(), taken.end());
        if (found == known.end() && taken[fold] > *least + 1) fold = static_cast<std::size_t>(least - taken.begin());
        ++taken[fold];
    }
    return folds;
}

std::array<TimedKernels, kernel_folds> in_folds(const TimedKernels& kernels, const FoldsOfShapes& folds) {
    std::array<TimedKernels, kernel_folds> all;
    for (const TimedKernel* kernel : kernels) all[folds.at(shape_of(*kernel))].push_back(kernel);
    const auto full = std::count_if(all.begin(), all.end(), [](const TimedKernels& each) { return !each.empty(); });
    if (full > 1) return all;
    for (TimedKernels& fold : all) fold.clear();
    for (std::size_t i = 0; i < kernels.size(); ++i) all[i % kernel_folds].push_back(kernels[i]);
    return all;
}

TimedKernels without_fold(const std::array<TimedKernels, kernel_folds>& folds, std::size_t held) {
    TimedKernels kept;
    for (std::size_t fold = 0; fold < kernel_folds; ++fold) {
        if (fold != held) kept.insert(kept.end(), folds[fold].begin(), folds[fold].end());
    }
    return kept;
}

}  // namespace roofline::core
