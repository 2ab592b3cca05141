#include "plan/training_thresholds.hpp"

#include <algorithm>

#include "bound/network_pricing.hpp"

namespace roofline::core {

double collective_seconds(const Program& program, const Analysis& total, const System& system,
                          const std::vector<std::string>& axes) {
    double seconds = 0;
    for (const MessageWork& each : total.work.messages) {
        const bool meant = std::any_of(each.message.axes.begin(), each.message.axes.end(),
                                       [&](const std::string& axis) { return has(axes, axis); });
        if (!meant) continue;
        const auto load = load_of(each.message, system);
        const auto bytes = each.message.bytes.evaluate(program.sizes);
        const auto count = each.count.evaluate(program.sizes);
        if (!load || !bytes || !count) continue;
        const auto time = time_of(*load, system, bytes->to_double());
        if (time) seconds += time->lower_s * count->to_double();
    }
    return seconds;
}

std::vector<PlanThreshold> training_thresholds(const Program& program, const Analysis& total, const System& system,
                                               const Plan& plan, double tokens_per_chip) {
    std::vector<PlanThreshold> thresholds;
    const double math = total.seconds_of("math").value_or(0);
    if (!(math > 0)) return thresholds;
    if (plan.data > 1 || plan.fsdp > 1) {
        const double weights = collective_seconds(program, total, system, {"data", "fsdp"});
        thresholds.push_back(
            {"tokens_per_chip",
             "Collectives of weights and gradients overlap completely with matmuls from about this many tokens per "
             "chip and micro-batch",
             tokens_per_chip * weights / math, tokens_per_chip});
    }
    if (plan.tensor > 1) {
        const double tensor = collective_seconds(program, total, system, {"tensor", "queries"});
        const auto degree = static_cast<double>(plan.tensor);
        if (tensor > 0) {
            thresholds.push_back({"tensor",
                                  "Tensor-parallel collectives overlap completely with matmuls up to a degree of about",
                                  degree * math / tensor, degree});
        }
    }
    return thresholds;
}

}  // namespace roofline::core
