#include "predict/swept_expectation.hpp"

#include <algorithm>
#include <string>

namespace roofline::core {

SweptExpectation::SweptExpectation(const Prediction& answer, const std::vector<SweepAxis>& axes) : axes_(&axes) {
    std::vector<std::string> dims;
    for (const SweepAxis& axis : axes) dims.insert(dims.end(), axis.dims.begin(), axis.dims.end());
    if (!answer.models.missing.empty() || answer.runs.empty()) return;
    compiled_.emplace(answer.program, answer.analysis, answer.system, answer.models, dims);
    sizes_.resize(dims.size());
    scratch_.resize(compiled_->places());
}

std::optional<double> SweptExpectation::at(std::span<const std::int64_t> sizes, const Bounds& bounds) {
    if (!compiled_) return std::nullopt;
    auto next = sizes_.begin();
    for (std::size_t i = 0; i < axes_->size(); ++i) {
        next = std::fill_n(next, (*axes_)[i].dims.size(), static_cast<double>(sizes[i]));
    }
    const double seconds = compiled_->evaluate(sizes_, scratch_).seconds;
    if (!(seconds > 0)) return std::nullopt;
    return std::max(seconds, bounds.lower);
}

}  // namespace roofline::core
