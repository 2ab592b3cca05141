#include "predict/expected_basis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "calibrate/kernel/extrapolation.hpp"
#include "calibrate/kernel/few_measurements.hpp"
#include "machine/identity.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

struct MeasuredBasis {
    std::vector<std::string> software;
    std::int64_t measurements = 0;
};

void add_software(MeasuredBasis& basis, const std::string& software) {
    const std::string name = software.empty() ? "unnamed software" : software;
    if (std::find(basis.software.begin(), basis.software.end(), name) == basis.software.end())
        basis.software.push_back(name);
}

MeasuredBasis basis_of(const Prediction& answer) {
    MeasuredBasis basis;
    for (const ModelBasis& each : model_bases(answer)) {
        add_software(basis, each.model->key.software);
        basis.measurements += each.model->fit.rows;
    }
    std::set<const void*> counted;
    for (const auto& expected : answer.models.messages) {
        if (!expected) continue;
        if (expected->exchange) {
            add_software(basis, expected->exchange->model->key.software);
            if (counted.insert(expected->exchange->model).second) basis.measurements += expected->exchange->model->rows;
        }
        for (const CalibratedCollective* model : expected->models) {
            add_software(basis, model->key.software);
            if (counted.insert(model).second) basis.measurements += model->rows;
        }
    }
    return basis;
}

/// Descriptions of the sizes of attention and of kernels without matmuls, because their dimension names say less.
constexpr std::array<std::string_view, size_count> attention_sizes{"rows of queries to the same keys", "size of a head",
                                                                   "keys", "groups of heads"};
constexpr std::array<std::string_view, size_count> row_sizes{"rows", "elements of a row", "", ""};

std::string size_text(const KernelWork& kernel, const KernelKey& key, std::size_t size) {
    if (info(key.kind).family == KernelFamily::attention) return std::string(attention_sizes[size]);
    const auto product = std::find_if(kernel.matmuls.begin(), kernel.matmuls.end(),
                                      [](const MatmulShape& shape) { return shape.unit == Unit::matmul; });
    if (product == kernel.matmuls.end()) return std::string(row_sizes[size]);
    const std::array<const std::vector<std::string>*, size_count> dims{&product->m, &product->n, &product->k,
                                                                       &product->batch};
    return dims[size]->empty() ? fmt::format("the product's {}", size_names[size])
                               : fmt::format("{}", fmt::join(*dims[size], "*"));
}

}  // namespace

std::vector<ModelBasis> model_bases(const Prediction& answer) {
    std::vector<ModelBasis> bases;
    for (std::size_t i = 0; i < answer.models.kernels.size(); ++i) {
        const bool sized = i < answer.runs.size();
        const CalibratedKernel* model =
            sized ? answer.models.model_at(i, answer.runs[i].point) : answer.models.kernels[i];
        if (model == nullptr) continue;
        const std::string& transferred = answer.models.transferred_from[i];
        const double error = sized ? answer.models.error_of(i, answer.runs[i].point) : 0;
        const auto known =
            std::find_if(bases.begin(), bases.end(), [&](const ModelBasis& basis) { return basis.model == model; });
        if (known == bases.end()) {
            bases.push_back(
                {model, transferred.empty() ? answer.machine.id : transferred, !transferred.empty(), error});
        } else {
            known->error = std::max(known->error, error);
        }
    }
    return bases;
}

std::string expected_software(const Prediction& answer) {
    return fmt::format("{}", fmt::join(basis_of(answer).software, " + "));
}

std::string expected_basis(const Prediction& answer) {
    const MeasuredBasis basis = basis_of(answer);
    if (basis.software.empty()) return "";
    constexpr std::size_t most_named = 2;
    std::vector<std::string> named(
        basis.software.begin(),
        basis.software.begin() + static_cast<std::ptrdiff_t>(std::min(most_named, basis.software.size())));
    std::string text = fmt::format("{}", fmt::join(named, " + "));
    if (basis.software.size() > most_named) text += fmt::format(" + {} more", basis.software.size() - most_named);
    return fmt::format("{}, {} measurements", text, grouped(basis.measurements));
}

double additional_error(const Prediction& answer) {
    double seconds = 0;
    double errors = 0;
    for (std::size_t i = 0; i < answer.runs.size(); ++i) {
        const KernelPoint& point = answer.runs[i].point;
        const CalibratedKernel* model = answer.models.model_at(i, point);
        if (model == nullptr || !(answer.runs[i].count > 0)) continue;
        const double time = answer.runs[i].count * answer.models.seconds_at(i, point);
        seconds += time;
        // models of servers and steps were fitted with kernels that were timed by themselves
        const double known = model->key.software == whole_passes ? 0 : error_in_range(model->fit, model->key.kind);
        errors += time * (answer.models.error_of(i, point) - known);
    }
    return seconds > 0 ? errors / seconds : 0;
}

std::vector<ExtrapolatedSize> extrapolated(const Prediction& answer) {
    std::vector<ExtrapolatedSize> all;
    for (std::size_t i = 0; i < answer.runs.size(); ++i) {
        const KernelPoint& point = answer.runs[i].point;
        const CalibratedKernel* model = answer.models.model_at(i, point);
        if (model == nullptr || !(answer.runs[i].count > 0)) continue;
        for (const SizeOutOfRange& beyond : sizes_out_of_range(model->fit, point)) {
            ExtrapolatedSize each{size_text(answer.analysis.work.kernels[i], model->key, beyond.size), beyond.value,
                                  beyond.limit, answer.models.error_of(i, point), answer.models.error_inside(i, point)};
            // if several kernels share a size, the one with the largest error
            const auto known = std::find_if(all.begin(), all.end(), [&](const ExtrapolatedSize& other) {
                return other.size == each.size && other.value == each.value;
            });
            if (known == all.end()) {
                all.push_back(std::move(each));
            } else if (each.error > known->error) {
                *known = std::move(each);
            }
        }
    }
    return all;
}

std::string whole_passes_text(const Prediction& answer) {
    for (std::size_t i = 0; i < answer.models.kernels.size(); ++i) {
        const CalibratedKernel* model = answer.models.kernels[i];
        if (model == nullptr || model->key.software != whole_passes) continue;
        const std::string& from = answer.models.transferred_from[i];
        return fmt::format(
            "no single kernel was measured on {}: the parameters are fitted to whole forward passes or training steps; "
            "the stated error is that of these, and that of a single kernel may be larger",
            from.empty() ? answer.machine.id : from);
    }
    return "";
}

std::string wanted_measurements_text(const Prediction& answer) {
    const auto listed = find_identity(answer.machine.id);
    const bool none = answer.calibrations->machines().empty();  // as --calibration none says
    if (none || answer.models.missing.empty() || !listed || listed->id != answer.machine.id) return "";
    const Calibration* own = answer.calibrations->find(answer.machine.id);
    const bool timed = own != nullptr && !own->kernels.empty();
    if (timed || !answer.calibrations->most_similar_machines(answer.machine).empty()) return "";
    return fmt::format(
        "no kernel was measured on {}: `roofline fit` makes expected times of a table with a few dozen matmuls of "
        "different sizes and some attention kernels and copies, and rough ones of the tokens/s of a served model",
        answer.machine.name);
}

std::string extrapolation_text(const ExtrapolatedSize& each) {
    const bool above = each.value > each.limit;
    const double ratio = above ? each.value / each.limit : each.limit / each.value;
    const std::string error = percent_text(each.error);
    const std::string inside = percent_text(each.error_inside);
    return fmt::format("{} {} = {} is {} times {} that was measured ({}): mean error of {} %{}", extrapolation_mark,
                       each.size, number_text(each.value, 4), number_text(ratio),
                       above ? "the largest" : "below the smallest", number_text(each.limit, 4), error,
                       inside == error ? " there, too" : fmt::format(" instead of {} %", inside));
}

std::string stand_in_text(const ExpectedTime& expected, CollectiveKind kind) {
    const std::string_view instead = collective_name(*expected.instead, true);
    if (expected.part == 1) {
        return fmt::format("no {} was measured on this network: the time of {}s over the same bytes is used",
                           collective_name(kind, true), instead);
    }
    const std::string_view part = expected.part < 1 ? "half" : "twice";
    return fmt::format(
        "no {} was measured on this network: the geometric mean of {} the time of {}s and their time for {} the array "
        "is used",
        collective_name(kind, true), part, instead, part);
}

}  // namespace roofline::core
