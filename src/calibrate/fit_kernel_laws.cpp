#include "calibrate/fit_kernel_laws.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace roofline {

namespace {

auto order(const KernelSample& sample) {
    const KernelPoint& point = sample.timed.point;
    return std::tie(sample.machine, sample.key, point.math_s, point.vector_s, point.memory_s, point.other_s,
                    point.depth, sample.timed.time_s, sample.source);
}

bool same(const KernelSample& a, const KernelSample& b) {
    return a.machine == b.machine && a.key == b.key && a.timed.point == b.timed.point &&
           a.timed.time_s == b.timed.time_s;
}

}  // namespace

KernelLawsFit fit_kernel_laws(std::vector<KernelSample> samples) {
    KernelLawsFit all;
    std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
    const auto kept = std::unique(samples.begin(), samples.end(), same);
    all.duplicates = samples.end() - kept;
    samples.erase(kept, samples.end());
    for (std::size_t begin = 0; begin < samples.size();) {
        std::vector<TimedKernel> kernels;
        std::set<std::string> sources;
        std::size_t end = begin;
        const KernelSample& first = samples[begin];
        for (; end < samples.size() && samples[end].machine == first.machine && samples[end].key == first.key; ++end) {
            kernels.push_back(samples[end].timed);
            if (!samples[end].source.empty()) sources.insert(samples[end].source);
        }
        begin = end;
        const auto rows = static_cast<std::int64_t>(kernels.size());
        auto fit = fit_kernels(std::move(kernels));
        if (!fit) {
            all.too_few += rows;
            continue;
        }
        all.rows += fit->rows;
        all.left_out += fit->left_out;
        if (all.calibrations.empty() || all.calibrations.back().machine != first.machine) {
            all.calibrations.push_back({first.machine, {}, {}, {}, {}});
        }
        all.calibrations.back().kernels.push_back({first.key, *fit, {sources.begin(), sources.end()}});
    }
    return all;
}

}  // namespace roofline
