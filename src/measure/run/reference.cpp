#include "measure/run/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/stop.hpp"

namespace roofline::core {

namespace {

/// Compares computed elements with the reference.
class CheckedElements {
public:
    /// Returns true if this element has the largest error so far relative to its bound.
    bool add(double got, const Bounded& right) {
        ++result_.checked;
        if (std::isnan(got) && std::isnan(right.value)) return false;
        if (std::isfinite(right.value)) largest_ = std::max(largest_, std::abs(right.value));
        if (got == right.value || (std::isinf(right.bound) && !std::isnan(got))) return false;
        const double error = std::abs(got - right.value);
        furthest_ = std::max(furthest_, error);
        const double of_bound = std::isfinite(error) ? error / right.bound : unbounded;
        if (of_bound <= result_.of_bound) return false;
        result_.of_bound = std::isnan(of_bound) ? unbounded : of_bound;
        return true;
    }

    void worst(std::string text) { result_.worst = std::move(text); }

    [[nodiscard]] CheckResult result() const {
        CheckResult result = result_;
        result.max_rel_error = furthest_ > 0 ? furthest_ / std::max(largest_, 1e-300) : 0;
        return result;
    }

private:
    CheckResult result_;
    double largest_ = 0;
    double furthest_ = 0;
};

}  // namespace

Result<CheckResult> check_statement(const Program& program, const Statement& statement, const HeldValues& held,
                                    const CheckOptions& options) {
    const HeldValue output = held(statement.result);
    if (output.bytes == nullptr) return CheckResult{};
    ReferenceElement element(program, statement, held, options.shares);
    const std::int64_t elements = element.count();
    const double affordable = std::floor(options.max_steps / element.cost());
    const bool all = elements <= options.elements && static_cast<double>(elements) <= affordable;
    const auto wanted = static_cast<std::int64_t>(
        std::min({static_cast<double>(elements), static_cast<double>(options.elements), affordable}));
    RandomBits random(0xc4ec + statement.result);
    CheckedElements checked;
    for (std::int64_t i = 0; i < wanted; ++i) {
        if (i % 64 == 0 && stop_requested()) return fail(interrupted());
        element.go_to(all ? i : random.below(elements));
        if (element.scatters()) element.go_to_update(random);
        if (element.beyond_window(program.values[statement.result])) continue;
        const double got = element_at(output, element.index());
        const Bounded right = stored(element.value(), output.dtype);
        if (!checked.add(got, right)) continue;
        checked.worst(fmt::format("{}[{}] is {:.9g}, should be {:.9g} within {:.2g}",
                                  value_name(program, statement.result), fmt::join(element.indices(), ", "), got,
                                  right.value, right.bound));
    }
    return checked.result();
}

}  // namespace roofline::core
