#include "calibrate/fit_kernel_laws.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "calibrate/expected_program.hpp"

namespace roofline {

namespace {

auto order(const KernelSample& sample) {
    const KernelPoint& point = sample.timed.point;
    return std::tie(sample.machine, sample.key, point.math_s, point.vector_s, point.memory_s, point.other_s,
                    point.depth, point.m, point.n, point.batch, point.cache, sample.timed.time_s, sample.source);
}

bool same(const KernelSample& a, const KernelSample& b) {
    return a.machine == b.machine && a.key == b.key && a.timed.point == b.timed.point &&
           a.timed.time_s == b.timed.time_s && a.timed.more == b.timed.more && a.others == b.others;
}

using Samples = std::vector<KernelSample>;

/// Where the samples of one machine and key end that begin here.
std::size_t end_of_key(const Samples& samples, std::size_t begin) {
    std::size_t end = begin;
    while (end < samples.size() && samples[end].machine == samples[begin].machine &&
           samples[end].key == samples[begin].key)
        ++end;
    return end;
}

/// The machine's calibration, a new one in its place where it has none.
Calibration& calibration_of(std::vector<Calibration>& all, const std::string& machine) {
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const Calibration& each) { return each.machine >= machine; });
    if (place != all.end() && place->machine == machine) return *place;
    return *all.insert(place, {machine, {}, {}, {}, {}});
}

/// When a sample's law is fitted: first those timed alone, then products behind a quantisation alone, whose laws may be told by
/// nothing else, then those with others in their time.
enum class Turn : std::uint8_t { alone, quantised, together };

Turn turn_of(const KernelSample& sample) {
    if (sample.others.empty()) return Turn::alone;
    const bool quantised = sample.others.size() == 1 && sample.others.front().key.kind == "quantisation" &&
                           sample.others.front().count == 1 && sample.timed.more.empty();
    return quantised ? Turn::quantised : Turn::together;
}

/// True where the kernel before the sample's has a law of the same library and kind, from rows of its own.
bool knows_first(const KernelSample& sample, const Calibration* known) {
    if (known == nullptr) return false;
    const KernelKey& first = sample.others.front().key;
    const CalibratedKernel* law = choose_kernel(*known, first, sample.key.software);
    return law != nullptr && law->key.kind == first.kind && same_library(law->key.software, sample.key.software);
}

/// The law of kernels that ran first, as told by the times of both together.
CalibratedKernel first_of(const KernelSample& sample, KernelFit& fit, const std::set<std::string>& sources) {
    CalibratedKernel first{sample.others.front().key, fit, {sources.begin(), sources.end()}};
    first.key.software = sample.key.software;
    first.key.variant = sample.key.variant;
    first.fit.law = *fit.first;
    first.fit.first.reset();
    first.fit.factors = {};
    first.fit.bands.clear();
    fit.first.reset();
    return first;
}

/// Fits laws to the samples that are in turn.
void fit_in_turn(const Samples& samples, Turn turn, KernelLawsFit& all) {
    std::vector<std::pair<std::string, CalibratedKernel>> found;
    for (std::size_t begin = 0; begin < samples.size();) {
        const std::size_t end = end_of_key(samples, begin);
        const KernelSample& first = samples[begin];
        const auto known = std::find_if(all.calibrations.begin(), all.calibrations.end(),
                                        [&](const Calibration& each) { return each.machine == first.machine; });
        const Calibration* const laws = known == all.calibrations.end() ? nullptr : &*known;
        const KernelSample* behind = nullptr;  // a kernel whose law is searched for as well
        std::vector<TimedKernel> kernels;
        std::vector<TimedKernel> firsts;  // the same with what ran first by a law of its own
        std::set<std::string> sources;
        for (; begin < end; ++begin) {
            const KernelSample& sample = samples[begin];
            if (turn_of(sample) != turn) continue;
            kernels.push_back(sample.timed);
            kernels.back().before_s = seconds_before(sample, laws);
            if (turn == Turn::quantised && !knows_first(sample, laws)) {
                behind = &sample;
                firsts.push_back({sample.timed});
                firsts.back().first = sample.others.front().point;
            }
            if (!sample.source.empty()) sources.insert(sample.source);
        }
        const auto rows = static_cast<std::int64_t>(kernels.size());
        if (rows == 0) continue;
        auto fit = fit_kernels(std::move(kernels));
        auto with_first = fit_kernels(std::move(firsts));
        // it does run: a law of products that has its time in it would count it twice where it is priced, too
        constexpr double as_good = 1.25;
        if (with_first && (!fit || with_first->error_held_out < as_good * fit->error_held_out)) fit = with_first;
        if (!fit) {
            all.too_few += rows;
            continue;
        }
        all.rows += fit->rows;
        all.left_out += fit->left_out;
        if (fit->first) found.emplace_back(first.machine, first_of(*behind, *fit, sources));
        found.push_back({first.machine, {first.key, *fit, {sources.begin(), sources.end()}}});
    }
    for (auto& [machine, kernel] : found) {
        std::vector<CalibratedKernel>& kernels = calibration_of(all.calibrations, machine).kernels;
        const bool has =
            std::any_of(kernels.begin(), kernels.end(), [&](const auto& each) { return each.key == kernel.key; });
        if (!has) kernels.push_back(std::move(kernel));
    }
}

}  // namespace

double seconds_before(const KernelSample& sample, const Calibration* known) {
    double seconds = 0;
    for (const OtherKernel& other : sample.others) {
        const CalibratedKernel* law =
            known == nullptr ? nullptr : choose_kernel(*known, other.key, sample.key.software);
        seconds += other.count * seconds_of(law == nullptr ? KernelFit{} : law->fit, other.point);
    }
    return seconds;
}

KernelLawsFit fit_kernel_laws(std::vector<KernelSample> samples) {
    KernelLawsFit all;
    std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
    const auto kept = std::unique(samples.begin(), samples.end(), same);
    all.duplicates = samples.end() - kept;
    samples.erase(kept, samples.end());
    for (const Turn turn : {Turn::alone, Turn::quantised, Turn::together}) fit_in_turn(samples, turn, all);
    for (Calibration& calibration : all.calibrations) {
        std::sort(calibration.kernels.begin(), calibration.kernels.end(),
                  [](const auto& a, const auto& b) { return a.key < b.key; });
    }
    return all;
}

}  // namespace roofline
