#include "calibrate/kernel_law.hpp"

#include <algorithm>
#include <cmath>

namespace roofline {

std::array<double, kernel_parts> parts_of(const KernelLaw& law, const KernelPoint& point) {
    return {point.math_s / law.math, point.vector_s / law.vector, point.memory_s / law.memory, point.other_s};
}

double norm_of(const std::array<double, kernel_parts>& parts, double p) {
    const double most = *std::max_element(parts.begin(), parts.end());
    if (!(most > 0) || std::isinf(p)) return most;
    double sum = 0;
    for (const double part : parts) {
        // the longest is 1, and what is not there costs no logarithm
        if (part > 0) sum += part == most ? 1 : std::pow(part / most, p);
    }
    return sum == 1 ? most : most * std::pow(sum, 1 / p);
}

double seconds_of(const KernelLaw& law, const KernelPoint& point) {
    return law.fixed_s + law.ramp_s * point.depth + norm_of(parts_of(law, point), law.p);
}

}  // namespace roofline
