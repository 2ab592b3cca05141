#include "calibrate/kernel/kernel_search.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibrate/constants.hpp"
#include "calibrate/kernel/kernel_steps.hpp"

namespace roofline::core {

namespace {

double loss_of(const KernelModel& model, TiledKernels kernels) {
    double loss = 0;
    for (const TiledKernel& kernel : kernels) {
        loss += std::abs(std::log(seconds_without_first(model, *kernel.timed) / kernel.timed->time_s));
    }
    return loss;
}

struct ModelSearch {
    KernelModel model;
    double loss = infinity;
};

/// Minimum number of least-squares steps, even without improvement, and maximum number.
struct StepLimits {
    int least = 5;
    int most = 12;
};
constexpr StepLimits refinement_steps{2, 12};
constexpr StepLimits few{5, 5};  // sufficient to compare values of p

/// The steps converge: all remaining ones together reduce the loss by at most this factor times the last reduction.
constexpr double remaining_gain_factor = 8;

/// Returns the best model with the terms and p of the start. Stops early if further steps cannot reduce the loss below
/// `below`.
ModelSearch settled(KernelModel model, TiledKernels kernels, StepLimits steps = {}, double below = infinity) {
    ModelSearch best;
    double previous = infinity;
    for (int i = 0; i <= steps.most; ++i) {
        const SearchStep step = step_from(model, kernels);
        if (step.loss < best.loss) best = {model, step.loss};
        if (i >= steps.least && step.loss > previous * 0.9995) break;
        const double gain = std::max(previous - step.loss, 0.0);
        if (best.loss - remaining_gain_factor * gain > below) break;
        previous = std::min(previous, step.loss);
        model = step.next;
    }
    return best;
}

double inverse_of(const KernelModel& model) { return std::isinf(model.p) ? 0 : 1 / model.p; }

/// The search uses 1/p: 0 is the maximum, 1 the sum.
ModelSearch settled_at(double inverse, KernelModel start, TiledKernels kernels, StepLimits steps, double below) {
    start.p = inverse > 0 ? 1 / inverse : infinity;
    return settled(start, kernels, steps, below);
}

/// Smallest relevant change of the loss: a hundredth of a percent per measurement.
double noticeable_loss(TiledKernels kernels) { return 1e-4 * static_cast<double>(kernels.size()); }

void refine_p(ModelSearch& best, TiledKernels kernels, double first_step) {
    for (double step = first_step; step > 0.02; step /= 2) {
        const double middle = inverse_of(best.model);
        for (const double inverse : {std::abs(middle - step) < 1e-9 ? 0 : middle - step, middle + step}) {
            if (inverse < 0 || inverse > 1) continue;
            const double below = best.loss - noticeable_loss(kernels);
            const ModelSearch next = settled_at(inverse, best.model, kernels, refinement_steps, below);
            if (next.loss < below) {
                best = next;
                break;  // the loss is unimodal in p, so the other direction leads upwards
            }
        }
    }
}

/// A quick evaluation of a p overestimates the loss by at most this factor; otherwise the p is not the best.
constexpr double quick_loss_margin = 1.5;
/// The loss after convergence is lower by at most this factor.
constexpr double settled_loss_margin = 1.25;

/// Returns the best model from a start, with less effort if its loss cannot fall below `below`.
ModelSearch search_from(const KernelModel& start, TiledKernels kernels, double below = infinity) {
    ModelSearch best;
    for (int tenth = 0; tenth <= 10; tenth += 2) {
        const double better = best.loss - noticeable_loss(kernels);
        const ModelSearch next =
            settled_at(tenth / 10.0, start, kernels, few, std::min(better, quick_loss_margin * below));
        if (next.loss < better) best = next;
    }
    if (best.loss > quick_loss_margin * below) return best;
    best = settled(best.model, kernels, {}, settled_loss_margin * below);
    if (best.loss < settled_loss_margin * below) refine_p(best, kernels, 0.1);
    return best;
}

/// Returns the loss below which a term is accepted that must gain `per_mille` per mille per measurement.
double worth_below(const ModelSearch& best, TiledKernels kernels, double per_mille = 1) {
    return best.loss - 10 * per_mille * noticeable_loss(kernels);
}

void take_if_worth(ModelSearch& best, const ModelSearch& next, TiledKernels kernels, double per_mille = 1) {
    if (next.loss < worth_below(best, kernels, per_mille)) best = next;
}

void search_if_worth(ModelSearch& best, const KernelModel& start, TiledKernels kernels, double per_mille = 1) {
    take_if_worth(best, search_from(start, kernels, worth_below(best, kernels, per_mille)), kernels, per_mille);
}

constexpr double half_per_cent = 5;  // gain that is required for terms that change how the kernel works, in per mille

bool any_of(TiledKernels kernels, double KernelPoint::* part, double above) {
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](const auto& each) { return each.timed->point.*part > above; });
}

/// Returns the best of some values of a parameter that least squares do not determine, or the given model if none is
/// better.
ModelSearch best_value(const ModelSearch& from, double KernelModel::* constant, const std::vector<double>& values,
                       TiledKernels kernels) {
    ModelSearch best = from;
    for (const double value : values) {
        KernelModel model = from.model;
        model.*constant = value;
        const ModelSearch next = settled(model, kernels, {}, best.loss);
        if (next.loss < best.loss) best = next;
    }
    return best;
}

/// Replaces the best model by the best of some values of a parameter, with p refined, if that is a sufficient
/// improvement.
void take_value_if_worth(ModelSearch& best, const ModelSearch& from, double KernelModel::* constant,
                         const std::vector<double>& values, TiledKernels kernels) {
    ModelSearch next = best_value(from, constant, values, kernels);
    if (!(next.loss < from.loss)) return;
    refine_p(next, kernels, 0.05);
    take_if_worth(best, next, kernels);
}

/// Returns candidates for core_Bps: the rates at which one half, or other fractions, of the cores achieve the full
/// memory rate of the machine that was measured. Empty if its memory rate or number of cores is unknown.
std::vector<double> core_rates(TiledKernels kernels) {
    const auto known = std::find_if(kernels.begin(), kernels.end(), [](const TiledKernel& each) {
        return each.timed->point.memory_Bps > 0 && each.timed->point.cores > 0;
    });
    if (known == kernels.end()) return {};
    const KernelPoint& point = known->timed->point;
    std::vector<double> rates;
    for (const double fraction : {0.5, 0.1, 0.2, 0.35, 0.75, 1.0}) {
        rates.push_back(point.memory_Bps / (fraction * point.cores));
    }
    return rates;
}

/// Searches for tiles, the number of heads that share keys, and the dependence of the memory rate on the number of
/// tiles. Each search starts anew, because the parameters of a model without the term are not a good start.
ModelSearch search_tiles(const KernelModel& uncut, TiledKernels kernels) {
    ModelSearch best;
    KernelModel start = uncut;
    start.tiled = true;
    start.ramp_s = 0.3e-9;
    start.split_s = 2e-6;
    start.wave_s = 0.3e-6;
    start.partial = 4;
    ModelSearch tiled = search_from(start, kernels);
    best = tiled;
    const double as_good = best.loss + 10 * noticeable_loss(kernels);
    const ModelSearch whole = search_from(uncut, kernels, as_good);
    if (whole.loss < as_good) best = whole;
    if (any_of(kernels, &KernelPoint::heads, 1)) {
        tiled.model.reread = 4;
        const ModelSearch shared = best_value(tiled, &KernelModel::share, {1, 2, 4, 8, 16, 32, 64}, kernels);
        start.share = shared.model.share;
        start.reread = 4;
        if (start.share > 0) search_if_worth(best, start, kernels, half_per_cent);
        start.share = best.model.share;
    }
    if (std::vector<double> rates = core_rates(kernels); !rates.empty()) {
        start.core_Bps = rates.front();
        rates.erase(rates.begin());
        take_if_worth(best, best_value(search_from(start, kernels), &KernelModel::core_Bps, rates, kernels), kernels);
    }
    if (any_of(kernels, &KernelPoint::heads, 0)) {
        // reading a KV cache takes long enough to overlap with the start of a wave's tiles; in other matmuls a wave is
        // additional matmul time
        KernelModel hidden = best.model;
        hidden.hidden = true;
        hidden.wave_s = 3e-6;
        if (hidden.tiled) search_if_worth(best, hidden, kernels, half_per_cent);
    }
    KernelModel rows = start;
    rows.by_rows = true;
    rows.core_Bps = best.model.core_Bps;
    if (rows.share == 0) search_if_worth(best, rows, kernels, half_per_cent);
    return best;
}

/// Searches for what systolic arrays and libraries of several kernels do: dimensions padded to whole sides, and results
/// between matmuls that cross main memory. Each search starts anew, as above.
void search_arrays(ModelSearch& best, const KernelModel& uncut, TiledKernels kernels) {
    for (const bool padded : {false, true}) {
        if (padded && !any_of(kernels, &KernelPoint::padding_s, 0)) break;
        for (const double inner : {0.0, 0.3}) {
            if (inner > 0 && !any_of(kernels, &KernelPoint::inner_s, 0)) break;
            KernelModel start = uncut;
            start.padded = padded;
            start.inner = inner;
            if (padded && !best.model.padded && any_of(kernels, &KernelPoint::heads, 0)) {
                // Sizes of heads are few and may be half of a side. That an array pads them is known: the times have to
                // refute it, not to show it.
                const double bearable = best.loss + (best.loss - worth_below(best, kernels, half_per_cent));
                const ModelSearch next = search_from(start, kernels, bearable);
                if (next.loss < bearable) best = next;
            } else if (padded || inner > 0) {
                search_if_worth(best, start, kernels, half_per_cent);
            }
        }
    }
    if (any_of(kernels, &KernelPoint::group, 0))
        take_value_if_worth(best, best, &KernelModel::straddle, {64, 128, 256, 512}, kernels);
}

KernelModel search_model(TiledKernels kernels) {
    const KernelModel start{1e-6, 0, 0.8, 0.8, 0.8, 2};
    ModelSearch best = any_of(kernels, &KernelPoint::m, 0) ? search_tiles(start, kernels) : search_from(start, kernels);
    search_arrays(best, start, kernels);
    if (any_of(kernels, &KernelPoint::rows, 1)) {
        take_value_if_worth(best, best, &KernelModel::row_s, {0.1e-6}, kernels);
    }
    take_value_if_worth(best, best, &KernelModel::write, {best.model.memory}, kernels);
    ModelSearch warm = best;
    warm.model.cache = 1.5;
    take_value_if_worth(best, warm, &KernelModel::warm, {0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.2}, kernels);
    for (int again = 0; again < 4; ++again) {  // the parameters of the last terms have been refined least
        const ModelSearch next = settled(best.model, kernels);
        if (!(next.loss < best.loss)) break;
        best = next;
    }
    // If all measured sizes have whole sides, their times do not show that the array pads the sizes between them.
    const bool on_array =
        std::any_of(kernels.begin(), kernels.end(), [](const TiledKernel& each) { return each.timed->point.on_array; });
    if (on_array && !any_of(kernels, &KernelPoint::padding_s, 0)) best.model.padded = true;
    return best.model;
}

KernelModel near(const KernelModel& model, TiledKernels kernels) {
    ModelSearch best = settled(model, kernels, refinement_steps);
    refine_p(best, kernels, 0.025);
    return best.model;
}

/// Two kernels in each time, fitted alternately: each to what the other's model leaves of the time.
class AlternatingTimes {
public:
    explicit AlternatingTimes(const TimedKernels& kernels) {
        for (const TimedKernel* kernel : kernels) {
            firsts_.push_back({*kernel->first, kernel->time_s});
            lasts_.push_back(*kernel);
        }
        cut_firsts_ = tile_all(all_of(firsts_));
        cut_lasts_ = tile_all(all_of(lasts_));
    }

    // the tilings refer to the members
    AlternatingTimes(const AlternatingTimes&) = delete;
    AlternatingTimes& operator=(const AlternatingTimes&) = delete;

    TiledKernels lasts(const KernelModel& first) {
        for (std::size_t i = 0; i < lasts_.size(); ++i) lasts_[i].known_s = seconds_of(first, firsts_[i].point);
        return cut_lasts_;
    }

    TiledKernels firsts(const KernelModel& last) {
        for (std::size_t i = 0; i < firsts_.size(); ++i) {
            lasts_[i].known_s = 0;
            firsts_[i].known_s = seconds_without_first(last, lasts_[i]);
        }
        return cut_firsts_;
    }

private:
    static TimedKernels all_of(const std::vector<TimedKernel>& kernels) {
        TimedKernels all;
        for (const TimedKernel& kernel : kernels) all.push_back(&kernel);
        return all;
    }

    std::vector<TimedKernel> firsts_;
    std::vector<TimedKernel> lasts_;
    std::vector<TiledKernel> cut_firsts_;
    std::vector<TiledKernel> cut_lasts_;
};

/// Gives both kernels half of the fixed cost. The times determine only the sum of the two, because each is added once
/// to every time, and both kernels are launched alike.
void share_fixed_cost(KernelModels& models) {
    const double half = (models.first.fixed_s + models.model.fixed_s) / 2;
    models.first.fixed_s = half;
    models.model.fixed_s = half;
}

KernelModels fit_alternately(KernelModels models, AlternatingTimes& turns) {
    constexpr int max_iterations = 8;
    double previous = infinity;
    for (int turn = 0; turn < max_iterations; ++turn) {
        models.first = near(models.first, turns.firsts(models.model));
        const TiledKernels lasts = turns.lasts(models.first);
        models.model = near(models.model, lasts);
        const double loss = loss_of(models.model, lasts);
        if (loss > previous - noticeable_loss(lasts)) break;
        previous = loss;
    }
    share_fixed_cost(models);
    return models;
}

bool has_first(const TimedKernels& kernels) { return !kernels.empty() && kernels.front()->first; }

}  // namespace

double seconds_of(const KernelModels& models, const TimedKernel& kernel) {
    return seconds_without_first(models.model, kernel) + (kernel.first ? seconds_of(models.first, *kernel.first) : 0);
}

KernelModels search_models(const TimedKernels& kernels) {
    if (!has_first(kernels)) return {search_model(tile_all(kernels)), {}};
    AlternatingTimes turns(kernels);
    KernelModels models;
    models.first.fixed_s = 1e-6;
    models.first.row_s = 0.3e-6;
    models.first.memory = 0.8;
    models.model = search_model(turns.lasts(models.first));
    return fit_alternately(models, turns);
}

KernelModels search_near(const KernelModels& models, const TimedKernels& kernels) {
    if (!has_first(kernels)) return {near(models.model, tile_all(kernels)), {}};
    AlternatingTimes turns(kernels);
    return fit_alternately(models, turns);
}

}  // namespace roofline::core
