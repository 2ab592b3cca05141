#include "calibrate/kernel/fit_kernel_models.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "calibrate/expected_program.hpp"
#include "calibrate/kernel/fit_kernels.hpp"
#include "calibrate/kernel/kernel_kind.hpp"
#include "calibrate/kernel/kernel_transfer.hpp"
#include "machine/catalogue.hpp"

namespace roofline::core {

namespace {

auto order(const KernelSample& sample) {
    const KernelPoint& point = sample.timed.point;
    return std::tie(sample.machine, sample.key, point.math_s, point.vector_s, point.memory_s, point.other_s,
                    point.depth, point.m, point.n, point.batch, point.rows, point.columns, point.cache,
                    sample.timed.time_s, sample.source);
}

bool same(const KernelSample& a, const KernelSample& b) {
    return a.machine == b.machine && a.key == b.key && a.timed.point == b.timed.point &&
           a.timed.time_s == b.timed.time_s && a.timed.more == b.timed.more && a.others == b.others;
}

/// Fits by machine and key, with the fits without each fold.
using Folded = std::map<std::pair<std::string, KernelKey>, FoldedFit>;

using Samples = std::vector<KernelSample>;

/// Returns the end of the samples with the machine and key of the sample at `begin`.
std::size_t end_of_key(const Samples& samples, std::size_t begin) {
    std::size_t end = begin;
    while (end < samples.size() && samples[end].machine == samples[begin].machine &&
           samples[end].key == samples[begin].key)
        ++end;
    return end;
}

/// Returns the calibration of a machine; it is inserted if there is none.
Calibration& calibration_of(std::vector<Calibration>& all, const std::string& machine) {
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const Calibration& each) { return each.machine >= machine; });
    if (place != all.end() && place->machine == machine) return *place;
    return *all.insert(place, {machine, {}, {}, {}, {}});
}

/// The order of the fits: first kernels that were timed alone, then matmuls after a single quantization, whose model
/// may have to be fitted to the same times, then kernels with others in their times.
enum class FitTurn : std::uint8_t { alone, quantised, together };

FitTurn turn_of(const KernelSample& sample) {
    if (sample.others.empty()) return FitTurn::alone;
    const bool quantised = sample.others.size() == 1 && sample.others.front().key.kind == KernelKind::quantisation &&
                           sample.others.front().count == 1 && sample.timed.more.empty();
    return quantised ? FitTurn::quantised : FitTurn::together;
}

/// Returns whether the kernel before the sample's has a model of the same library and kind, from measurements of its
/// own.
bool has_model_of_first(const KernelSample& sample, const Calibration* known) {
    if (known == nullptr) return false;
    const KernelKey& first = sample.others.front().key;
    const CalibratedKernel* model = choose_kernel(*known, first, sample.key.software);
    return model != nullptr && model->key.kind == first.kind && same_library(model->key.software, sample.key.software);
}

/// Returns the key of the first kernel in a sample's time, with the sample's library.
KernelKey first_key(const KernelSample& sample) {
    KernelKey key = sample.others.front().key;
    key.software = sample.key.software;
    key.variant = sample.key.variant;
    return key;
}

/// Returns the model of the first kernels, as fitted to the times of both together.
CalibratedKernel first_of(const KernelSample& sample, KernelFit& fit, const std::set<std::string>& sources) {
    CalibratedKernel first{first_key(sample), fit, {sources.begin(), sources.end()}};
    first.fit.model = *fit.first;
    first.fit.first.reset();
    first.fit.factors = {};
    first.fit.bands.clear();
    fit.first.reset();
    return first;
}

/// Fits models to the samples of this turn.
void fit_turn(const Samples& samples, FitTurn turn, KernelModelsFit& all, Folded& folded) {
    std::vector<std::pair<std::string, CalibratedKernel>> found;
    for (std::size_t begin = 0; begin < samples.size();) {
        const std::size_t end = end_of_key(samples, begin);
        const KernelSample& first = samples[begin];
        const auto known = std::find_if(all.calibrations.begin(), all.calibrations.end(),
                                        [&](const Calibration& each) { return each.machine == first.machine; });
        const Calibration* const models = known == all.calibrations.end() ? nullptr : &*known;
        const KernelSample* behind = nullptr;  // a sample whose preceding kernel needs a model from the same times
        std::vector<TimedKernel> kernels;
        std::vector<TimedKernel> firsts;  // the same kernels, with the preceding kernel and its own model
        std::set<std::string> sources;
        for (; begin < end; ++begin) {
            const KernelSample& sample = samples[begin];
            if (turn_of(sample) != turn) continue;
            kernels.push_back(sample.timed);
            kernels.back().known_s = seconds_of_others(sample, models);
            if (turn == FitTurn::quantised && !has_model_of_first(sample, models)) {
                behind = &sample;
                firsts.push_back({sample.timed});
                firsts.back().first = sample.others.front().point;
            }
            if (!sample.source.empty()) sources.insert(sample.source);
        }
        const auto rows = static_cast<std::int64_t>(kernels.size());
        if (rows == 0) continue;
        auto fit = fit_kernels_in_folds(std::move(kernels));
        auto with_first = fit_kernels_in_folds(std::move(firsts));
        // the preceding kernel does run: a matmul model that includes its time would count it twice in predictions
        constexpr double as_good = 1.25;
        if (with_first && (!fit || with_first->fit.error_held_out < as_good * fit->fit.error_held_out))
            fit = with_first;
        if (!fit) {
            all.too_few += rows;
            continue;
        }
        all.rows += fit->fit.rows;
        all.left_out += fit->fit.left_out;
        if (fit->fit.first) found.emplace_back(first.machine, first_of(*behind, fit->fit, sources));
        found.push_back({first.machine, {first.key, fit->fit, {sources.begin(), sources.end()}}});
        folded.try_emplace({first.machine, first.key}, std::move(*fit));
    }
    for (auto& [machine, kernel] : found) {
        std::vector<CalibratedKernel>& kernels = calibration_of(all.calibrations, machine).kernels;
        const bool has =
            std::any_of(kernels.begin(), kernels.end(), [&](const auto& each) { return each.key == kernel.key; });
        if (!has) kernels.push_back(std::move(kernel));
    }
}

/// Returns the kernels of one machine and key, whose samples are adjacent, for the correction of another model: those
/// timed alone if there are any, otherwise those after a single quantization.
std::vector<TimedKernel> kernels_of(std::span<const KernelSample> samples, const Calibration& models) {
    FitTurn first = FitTurn::together;
    for (const KernelSample& sample : samples) first = std::min(first, turn_of(sample));
    std::vector<TimedKernel> kernels;
    for (const KernelSample& sample : samples) {
        if (turn_of(sample) != first) continue;
        kernels.push_back(sample.timed);
        kernels.back().known_s = seconds_of_others(sample, &models);
    }
    return kernels;
}

/// Returns the keys of models that those of one key may resemble: for the same kernels, of the machine's other software
/// and of the nearest machine, each with more measurements.
std::vector<Folded::key_type> similar_keys(Calibrations& known, const Calibration& own,
                                           const CalibratedKernel& kernel) {
    std::vector<Folded::key_type> relatives;
    const auto add = [&](const std::string& machine, const CalibratedKernel& other) {
        const bool alike = other.key.kind == kernel.key.kind && other.key.dtype == kernel.key.dtype;
        if (alike && !launched_by_host(other.key) && other.fit.rows > 2 * kernel.fit.rows)
            relatives.emplace_back(machine, other.key);
    };
    for (const CalibratedKernel& other : own.kernels) add(own.machine, other);
    const auto machine = find_machine(own.machine);
    if (!machine || machine->id != own.machine) return relatives;
    const TransferredKernel transferred = transferred_kernel(known, *machine, kernel.key, kernel.key.software);
    if (transferred.model != nullptr) add(transferred.machine, *transferred.model);
    return relatives;
}

/// Returns a name such as "sglang 0.5.10" or "b200-sxm trtllm 1.3.0 ungated".
std::string name_of(const Folded::key_type& relative, const std::string& machine) {
    std::string name = relative.first == machine ? "" : relative.first;
    for (const std::string& part : {relative.second.software, relative.second.variant}) {
        if (!name.empty() && !part.empty()) name += " ";
        name += part;
    }
    return name;
}

/// Returns the model of the single quantization that precedes a kernel and was fitted to the same measurements. Its
/// errors are those of both together.
std::vector<CalibratedKernel>::iterator quantisation_of(std::span<const KernelSample> samples,
                                                        const CalibratedKernel& kernel,
                                                        std::vector<CalibratedKernel>& kernels) {
    const bool behind = turn_of(samples.front()) == FitTurn::quantised;
    return std::find_if(kernels.begin(), kernels.end(), [&](const CalibratedKernel& each) {
        return behind && each.key == first_key(samples.front()) && each.sources == kernel.sources &&
               each.fit.rows == kernel.fit.rows;
    });
}

/// Replaces models with few measurements by those of another library or machine with additional shape corrections, if
/// this reduces the held-out error.
void fit_like_similar(const Samples& samples, const Folded& folded, KernelModelsFit& all) {
    Calibrations known{all.calibrations};
    for (std::size_t begin = 0; begin < samples.size();) {
        const std::size_t end = end_of_key(samples, begin);
        const KernelSample& first = samples[begin];
        const std::span rows(samples.data() + begin, end - begin);
        begin = end;
        const Calibration* const own = known.find(first.machine);
        if (own == nullptr) continue;
        std::vector<CalibratedKernel>& kernels = calibration_of(all.calibrations, first.machine).kernels;
        const auto has_key = [&](const CalibratedKernel& each) { return each.key == first.key; };
        const auto kernel = std::find_if(kernels.begin(), kernels.end(), has_key);
        if (kernel == kernels.end()) continue;
        for (const Folded::key_type& relative : similar_keys(known, *own, *kernel)) {
            const auto with_folds = folded.find(relative);
            if (with_folds == folded.end()) continue;  // a model of kernels that precede others
            const auto fit = fit_like(with_folds->second, kernels_of(rows, *own));
            if (!fit || !(fit->error_held_out < max_error_ratio * kernel->fit.error_held_out)) continue;
            if (const auto before = quantisation_of(rows, *kernel, kernels); before != kernels.end()) {
                before->fit.error_fitted = fit->error_fitted;
                before->fit.error_held_out = fit->error_held_out;
            }
            all.rows += fit->rows - kernel->fit.rows;
            all.left_out += fit->left_out - kernel->fit.left_out;
            kernel->fit = *fit;
            kernel->like = name_of(relative, first.machine);
        }
    }
}

/// The kinds that share a model, by machine and the model's key.
using MergedKinds = std::map<std::pair<std::string, KernelKey>, std::set<KernelKind>>;

/// Assigns kernels without matmuls that are too few for a model to the broader kind.
MergedKinds merge_small_kinds(Samples& samples) {
    std::map<std::pair<std::string, KernelKey>, std::size_t> rows;
    for (const KernelSample& sample : samples) ++rows[{sample.machine, sample.key}];
    MergedKinds joined;
    for (KernelSample& sample : samples) {
        const KernelKind own = sample.key.kind;
        std::size_t few = rows[{sample.machine, sample.key}];
        while (sample.key.dtype.empty() && few < min_kernels && info(sample.key.kind).broader) {
            sample.key.kind = *info(sample.key.kind).broader;
            few += rows[{sample.machine, sample.key}];
        }
        if (sample.key.kind != own) joined[{sample.machine, sample.key}].insert(own);
    }
    return joined;
}

/// Adds the shared model for each of its kinds.
void add_merged(const MergedKinds& joined, std::vector<Calibration>& calibrations) {
    for (Calibration& calibration : calibrations) {
        std::vector<CalibratedKernel> more;
        for (const CalibratedKernel& kernel : calibration.kernels) {
            const auto kinds = joined.find({calibration.machine, kernel.key});
            if (kinds == joined.end()) continue;
            for (const KernelKind kind : kinds->second) {
                more.push_back(kernel);
                more.back().key.kind = kind;
            }
        }
        calibration.kernels.insert(calibration.kernels.end(), more.begin(), more.end());
    }
}

}  // namespace

double seconds_of_others(const KernelSample& sample, const Calibration* known) {
    double seconds = 0;
    for (const OtherKernel& other : sample.others) {
        const CalibratedKernel* model =
            known == nullptr ? nullptr : choose_kernel(*known, other.key, sample.key.software);
        seconds += other.count * seconds_of(model == nullptr ? KernelFit{} : model->fit, other.point);
    }
    return seconds;
}

KernelModelsFit fit_kernel_models(std::vector<KernelSample> samples) {
    KernelModelsFit all;
    const MergedKinds joined = merge_small_kinds(samples);
    std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
    const auto kept = std::unique(samples.begin(), samples.end(), same);
    all.duplicates = samples.end() - kept;
    samples.erase(kept, samples.end());
    Folded folded;
    for (const FitTurn turn : {FitTurn::alone, FitTurn::quantised, FitTurn::together})
        fit_turn(samples, turn, all, folded);
    fit_like_similar(samples, folded, all);
    add_merged(joined, all.calibrations);
    for (Calibration& calibration : all.calibrations) {
        std::sort(calibration.kernels.begin(), calibration.kernels.end(),
                  [](const auto& a, const auto& b) { return a.key < b.key; });
    }
    return all;
}

}  // namespace roofline::core
