#include "calibrate/expected_program.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "calibrate/kernel/few_measurements.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

namespace {

const Analysis& analysis_of(const ProgramAnalysis& analysis, std::size_t kernel) {
    return analysis.kernels.empty() ? analysis.total : analysis.kernels[kernel];
}

/// Returns a kind and its broader kinds, the nearest first.
std::vector<KernelKind> kinds_for(KernelKind kind) {
    std::vector<KernelKind> kinds;
    for (std::optional<KernelKind> each = kind; each; each = info(*each).broader) kinds.push_back(*each);
    return kinds;
}

/// Returns the dtype in which a matmul is computed if the library quantizes a wider operand to it: "fp8" for "fp8 x
/// bf16" and for "mxfp8 x bf16", because no model of 8-bit matmuls accounts for block scales. The model of matmuls
/// whose operands already have this dtype is used. "" for other dtypes.
std::string quantised_to(const std::string& dtypes) {
    const std::size_t end = dtypes.find(" x ");
    if (end == std::string::npos) return "";
    std::string first = dtypes.substr(0, end);
    const auto dtype = find_dtype(first);
    const auto other = find_dtype(dtypes.substr(end + 3));
    if (!dtype || info(*dtype).kind != DtypeKind::floating || info(*dtype).bits > 8) return "";
    if (!other || info(*other).bits <= info(*dtype).bits) return "";
    return first == "mxfp8" ? "fp8" : first;
}

/// Returns whether kernels of a variant do more than a matmul, so that they say little about plain ones: gated units,
/// most of whose time may be that of their halves, and LM heads that compute the loss.
bool does_more(std::string_view variant) {
    return variant == "gated" || variant.find("with loss") != std::string_view::npos;
}

}  // namespace

const CalibratedKernel* choose_kernel(const Calibration& calibration, const KernelKey& key, const std::string& software,
                                      const LibraryRank& library_rank) {
    const std::string quantised = quantised_to(key.dtype);
    // Kernels for weights in a narrow format may leave activations wider, which multiplies the same weights.
    const auto same_weights = [&](const CalibratedKernel& model) {
        return !quantised.empty() && model.key.dtype.ends_with(" x " + quantised);
    };
    const std::vector<KernelKind> kinds = kinds_for(key.kind);
    const auto breadth = [&](const CalibratedKernel& model) {
        return std::find(kinds.begin(), kinds.end(), model.key.kind) - kinds.begin();
    };
    const auto rank = [&](const CalibratedKernel& model) {
        const bool asked = !software.empty() && same_library(model.key.software, software);
        // A time that includes the launches of one host says little about another host.
        const bool last = launched_by_host(model.key) && !launched_by_host(key) && !asked;
        return std::tuple(!last, -breadth(model), model.key.dtype == key.dtype, model.key.dtype == quantised,
                          same_weights(model), asked, asked && is_version(model.key.software, software),
                          model.key.variant == key.variant, model.key.variant.empty(),
                          model.key.variant != "wall clock");
    };
    const CalibratedKernel* best = nullptr;
    for (const CalibratedKernel& model : calibration.kernels) {
        if (breadth(model) == std::ssize(kinds) || (model.key.dtype != key.dtype && model.key.dtype != quantised &&
                                                    !model.key.dtype.empty() && !same_weights(model))) {
            continue;
        }
        if (does_more(model.key.variant) && !does_more(key.variant)) continue;
        bool better = best == nullptr || rank(model) > rank(*best);
        if (best != nullptr && rank(model) == rank(*best)) {
            const auto order = [&](const CalibratedKernel& each) {
                return std::tuple(library_rank ? library_rank(each.key) : 0, each.fit.error_held_out, -each.fit.rows);
            };
            better = same_library(model.key.software, best->key.software) && model.key.software != best->key.software
                         ? older(best->key.software, model.key.software)
                         : order(model) < order(*best);
        }
        if (better) best = &model;
    }
    return best;
}

namespace {

/// If several libraries have models of expert layers, selects the library whose GEMM model the program uses elsewhere.
/// A low error on its own expert layers is no evidence that the program uses a library.
std::string library_of_gemms(Calibrations& calibrations, std::string_view machine, const KernelKey& grouped) {
    const CalibratedKernel* model =
        choose_kernel(calibrations, machine, {KernelKind::contraction, grouped.dtype, "", grouped.variant}, "");
    return model == nullptr ? "" : model->key.software.substr(0, model->key.software.find(' '));
}

}  // namespace

const CalibratedKernel* choose_kernel(Calibrations& calibrations, std::string_view machine, const KernelKey& key,
                                      const std::string& software) {
    if (software.empty() && key.kind == KernelKind::grouped_contraction) {
        const std::string library = library_of_gemms(calibrations, machine, key);
        if (!library.empty()) return choose_kernel(calibrations, machine, key, library);
    }
    // a model of the kind itself takes precedence over those of broader kinds, so these are read only if it is missing
    // or is one of kernels that a host launched
    const LibraryRank rank = [&](const KernelKey& model) {
        const std::vector<std::string>& libraries = calibrations.libraries(model);
        const auto same = [&](const std::string& name) { return same_library(model.software, name); };
        return static_cast<std::size_t>(std::find_if(libraries.begin(), libraries.end(), same) - libraries.begin());
    };
    const CalibratedKernel* best = nullptr;
    for (const KernelKind kind : kinds_for(key.kind)) {
        const Calibration* models = calibrations.find(machine, models_of_kernels(kind));
        if (models == nullptr) break;
        const CalibratedKernel* model = choose_kernel(*models, key, software, rank);
        if (model != nullptr && (best == nullptr || !launched_by_host(model->key))) best = model;
        if (best != nullptr && !launched_by_host(best->key)) break;
    }
    return best;
}

ChipTraits chip_traits(const Machine& machine) {
    ChipTraits chip;
    chip.cores = static_cast<double>(machine.cores);
    if (machine.matrix_unit) chip.array_side = static_cast<double>(machine.matrix_unit->side);
    for (const MemoryLevel& level : machine.memory) {
        const auto capacity = level.total_capacity();
        if (level.id == "hbm" || level.managed != Managed::hardware || !capacity) continue;
        chip.cache_bytes = std::max(chip.cache_bytes, capacity->value);
    }
    return chip;
}

namespace {

/// Indices of a kernel's counts. For each matmul its depth and the size given by keys_of() follow, then for each its
/// columns and its multiply-adds.
enum Count : std::size_t {
    runs_of,
    write_s,
    side_m,
    side_n,
    products_of,
    rows,
    columns,
    heads,
    cache_keys,
    shared_bytes_of,
    inner_elements,
    group_rows,
    depths
};

}  // namespace

CompiledSums program_traffic(const ProgramAnalysis& analysis, const std::vector<std::string>& swept,
                             const Sizes& fixed) {
    WeightedSum bytes;
    const auto traffic = analysis.work.total.memory.find("hbm");
    if (traffic != analysis.work.total.memory.end()) bytes = {{traffic->second.total(), 1.0}};
    return CompiledSums({bytes}, swept, fixed);
}

CompiledKernel::CompiledKernel(const ProgramAnalysis& analysis, std::size_t index, const ChipTraits& chip,
                               const std::vector<std::string>& swept, const Sizes& fixed)
    : times_(analysis_of(analysis, index).pricing, swept, fixed), chip_(chip) {
    const KernelWork& kernel = analysis.work.kernels[index];
    const Pricing& pricing = analysis_of(analysis, index).pricing;
    const auto traffic = kernel.work.memory.find("hbm");
    const Resource* memory = pricing.find("hbm");
    if (memory != nullptr) memory_rate_ = memory->terms.front().rate.value;
    std::vector<WeightedSum> sums(depths);
    sums[runs_of] = {{kernel.count, 1.0}};
    if (memory_rate_ > 0 && traffic != kernel.work.memory.end())
        sums[write_s] = {{traffic->second.write, 1 / memory_rate_}};
    add_matmuls(analysis.work.local_dims, kernel, sums);
    const bool contracts = info(kernel_kind(kernel)).family == KernelFamily::contraction;
    if (const auto dim = contracts ? group_dim(analysis.work, kernel) : std::nullopt)
        sums[group_rows] = {{elements(analysis.work.local_dims, {*dim}), 1.0}};
    counts_ = CompiledSums(sums, swept, fixed);
    for (const Resource& resource : pricing.resources) parts_.push_back(part_of(resource, kernel));
}

namespace {

/// Returns the factor by which a size grows that is rounded up to whole sides of an array.
double padding(double size, double side) { return size > 0 && side > 0 ? std::ceil(size / side) * side / size : 1; }

/// Returns the dimensions that a matmul of attention contracts, without heads: gradients of keys are sums over all
/// heads that share the keys.
std::vector<std::string> keys_of(const KernelWork& kernel, const MatmulShape& scores, const MatmulShape& shape) {
    const std::vector<std::string> heads = head_dims(kernel, scores).value_or(std::vector<std::string>{});
    std::vector<std::string> keys = shape.k;
    std::erase_if(keys, [&](const std::string& dim) { return has(heads, dim) || has(scores.batch, dim); });
    return keys;
}

}  // namespace

void CompiledKernel::add_matmuls(const LocalDims& local, const KernelWork& kernel, std::vector<WeightedSum>& sums) {
    // A forward pass has matmuls for scores, possibly in two parts, and values; a backward pass has more.
    constexpr std::size_t max_forward_matmuls = 3;
    const bool attention = info(kernel_kind(kernel)).family == KernelFamily::attention;
    std::vector<const MatmulShape*> products;
    sums[inner_elements] = inner_results(local, kernel);
    for (const MatmulShape& shape : kernel.matmuls) {
        if (shape.unit != Unit::matmul) continue;
        const bool first = products.empty() || attention;
        products.push_back(&shape);
        sums.push_back({{elements(local, shape.k), 1.0}});
        sums.push_back({{elements(local, attention ? keys_of(kernel, *products.front(), shape) : shape.k), 1.0}});
        if (first) sums[side_n].clear();
        sums[side_n].emplace_back(elements(local, shape.n), 1.0);
        if (!first) continue;
        sums[side_m] = {{elements(local, shape.m), 1.0}};
        sums[products_of] = {{elements(local, shape.batch), 1.0}};
    }
    products_ = products.size();
    for (const MatmulShape* each : products) {
        const Polynomial columns_of = elements(local, each->n);
        sums.push_back({{columns_of, 1.0}});
        sums.push_back(
            {{elements(local, each->batch) * elements(local, each->m) * columns_of * elements(local, each->k), 1.0}});
    }
    if (const auto dim = windowed_dim(kernel); dim && attention) sums[cache_keys] = {{elements(local, {*dim}), 1.0}};
    whole_rows_ = attention && products.size() <= max_forward_matmuls;
    tiled_product_ = attention || (!products.empty() && side_by_side(products));
    if (products.empty()) {
        KernelRows worked = rows_of(local, kernel);
        sums[rows] = {{std::move(worked.rows), 1.0}};
        sums[columns] = {{std::move(worked.columns), 1.0}};
    } else if (attention && !has_latents(kernel)) {
        if (const auto dims = head_dims(kernel, *products.front())) sums[heads] = {{elements(local, *dims), 1.0}};
        if (products.size() <= max_forward_matmuls) sums[shared_bytes_of] = shared_bytes(kernel, *products.front());
    }
}

double KernelPoint::* CompiledKernel::part_of(const Resource& resource, const KernelWork& kernel) {
    if (resource.id == "math") return &KernelPoint::math_s;
    if (resource.id == "vector") return &KernelPoint::vector_s;
    if (resource.id == "hbm") return &KernelPoint::memory_s;
    return kernel.work.memory.contains(resource.id) ? &KernelPoint::other_s : nullptr;
}

CompiledKernel::Runs CompiledKernel::evaluate(std::span<const double> sizes, double traffic,
                                              std::span<double> scratch) const {
    const std::span<double> counts = scratch.first(counts_.size());
    const std::span<double> seconds = scratch.subspan(counts.size(), times_.places());
    counts_.evaluate(sizes, counts);
    times_.evaluate(sizes, seconds);
    Runs runs;
    runs.count = counts[runs_of];
    if (!(runs.count > 0)) return runs;
    KernelPoint& point = runs.point;
    point.write_s = counts[write_s];
    if (chip_.cache_bytes > 0) point.fill = traffic / chip_.cache_bytes;
    point.cores = chip_.cores;
    point.memory_Bps = memory_rate_;
    point.rows = counts[rows];
    point.columns = counts[columns];
    if (tiled_product_) {
        point.whole_rows = whole_rows_;
        point.m = counts[side_m];
        point.n = counts[side_n];
        point.batch = counts[products_of];
        point.heads = counts[heads];
        point.cache = counts[cache_keys];
        if (memory_rate_ > 0) point.shared_read_s = counts[shared_bytes_of] / memory_rate_;
        constexpr double written_and_read = 2 * 4;  // bytes of an f32 that is written and read
        if (memory_rate_ > 0) point.partial_sums_s = written_and_read * point.m * point.n * point.batch / memory_rate_;
    }
    double keys = 0;
    const std::size_t ends = depths + 2 * products_;
    point.group = counts[group_rows];
    if (memory_rate_ > 0) point.inner_s = 4 * counts[inner_elements] / memory_rate_;
    double work = 0;
    double padded = 0;
    for (std::size_t i = depths; i < ends; i += 2) {
        const std::size_t of = i + 2 * products_;
        work += counts[of + 1];
        padded += counts[of + 1] * padding(counts[i], chip_.array_side) * padding(counts[of], chip_.array_side);
        point.depth = std::max(point.depth, counts[i]);
        keys = std::max(keys, counts[i + 1]);
    }
    if (keys < point.depth) point.keys = keys;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i] != nullptr) runs.point.*parts_[i] += seconds[i] / runs.count;
    }
    if (work > 0) point.padding_s = point.math_s * (padded / work - 1);
    point.on_array = point.math_s > 0 && chip_.array_side > 0;
    return runs;
}

std::vector<CompiledKernel::Runs> kernel_runs(const Program& program, const ProgramAnalysis& analysis,
                                              const ChipTraits& chip) {
    std::vector<CompiledKernel::Runs> runs;
    if (!analysis.total.seconds) return runs;
    double traffic = 0;
    program_traffic(analysis, {}, program.sizes).evaluate({}, {&traffic, 1});
    for (std::size_t i = 0; i < analysis.work.kernels.size(); ++i) {
        if (const std::size_t like = analysis.work.kernels[i].like; like < i) {
            runs.push_back(runs[like]);
            continue;
        }
        const CompiledKernel compiled(analysis, i, chip, {}, program.sizes);
        std::vector<double> scratch(compiled.places());
        runs.push_back(compiled.evaluate({}, traffic, scratch));
    }
    return runs;
}

namespace {

/// Error of a broader kind's model on kernels of this kind, on the same machine: the means over all public tables,
/// which contain 16,566 expert layers, 7,588 measurements of causal or latent attention, and 455 of activation
/// functions, norms, rotations and gathers.
double broader_kind_error(KernelKind kind) {
    const KernelFamily family = info(kind).family;
    return family == KernelFamily::contraction ? 0.39 : family == KernelFamily::attention ? 0.36 : 0.49;
}

/// Error of the model of 16-bit matmuls on matmuls of two dtypes that have none of their own: the mean over 866 public
/// measurements of 16-bit activations and integer weights on an A100 and an H200.
constexpr double other_dtypes_error = 0.41;
/// Error of bf16's model on 703 public matmuls in f16 of another library on an A100 and an H100.
constexpr double twin_dtype_error = 0.10;

}  // namespace

const CalibratedKernel* ProgramModels::model_at(std::size_t kernel, const KernelPoint& point) const {
    const CalibratedKernel* const other = kernel < others.size() ? others[kernel] : nullptr;
    const bool mainly = other != nullptr && share_of(*other, kernels[kernel]->fit, point) > 0.5;
    return mainly ? other : kernels[kernel];
}

double ProgramModels::seconds_at(std::size_t kernel, const KernelPoint& point) const {
    return seconds_of(kernels[kernel]->fit, kernel < others.size() ? others[kernel] : nullptr, point);
}

double ProgramModels::error_of(std::size_t kernel) const {
    const KernelFit& fit = kernels[kernel]->fit;
    double error = error_in_range(fit, kernels[kernel]->key.kind);
    // a model fitted to a single machine has not been tested on another
    constexpr double untested_error = 0.4;
    if (kernel < transferred_from.size() && !transferred_from[kernel].empty())
        error = std::max(error, fit.error_transferred.value_or(untested_error));
    if (kernel < twin_of.size() && !twin_of[kernel].empty()) error = std::max(error, twin_dtype_error);
    if (kernel < instead.size() && instead[kernel]) {
        const bool same_kind = *instead[kernel] == kernels[kernel]->key.kind;
        error = std::max(error, same_kind ? other_dtypes_error : broader_kind_error(*instead[kernel]));
    }
    return error;
}

double quantisation_s(const KernelFit& quantisation, const KernelPoint& product) {
    KernelPoint rows;
    rows.rows = product.m;
    rows.cores = product.cores;
    return quantisation.model.fixed_s + quantisation.model.row_s * rows_of_core(rows);
}

double ProgramModels::error_inside(std::size_t kernel, const KernelPoint& point) const {
    const CalibratedKernel* const other = kernel < others.size() ? others[kernel] : nullptr;
    const double share = other != nullptr ? share_of(*other, kernels[kernel]->fit, point) : 0;
    const double own = error_of(kernel);
    return share > 0 ? own + share * (std::max(own, error_of_other(*other)) - own) : own;
}

double added_error(const KernelFit& fit, const Growths& growths, const KernelFit* quantised, const KernelPoint& point) {
    double error = extrapolation_error(fit, growths, point);
    if (quantised != nullptr) error += quantisation_s(*quantised, point) / seconds_of(fit, point);
    return error;
}

double ProgramModels::error_of(std::size_t kernel, const KernelPoint& point) const {
    const CalibratedKernel& model = *model_at(kernel, point);
    const CalibratedKernel* with = kernel < quantised.size() ? quantised[kernel] : nullptr;
    return error_inside(kernel, point) + added_error(model.fit, built_in_extrapolation().of(model.key.kind),
                                                     with != nullptr ? &with->fit : nullptr, point);
}

}  // namespace roofline::core
