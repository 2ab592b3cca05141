#include "predict/model_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/kernel/extrapolation.hpp"
#include "predict/expected_basis.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string no_calibration(const std::string& machine) { return machine + " has no calibration for"; }

}  // namespace

std::string spoken(const KernelKey& key) {
    return fmt::format("{}{}{}", name(key.kind), key.dtype.empty() ? "" : " in ", key.dtype);
}

std::vector<std::string> notes_on_transfer(std::initializer_list<const Prediction*> answers) {
    std::vector<std::pair<std::string, std::vector<std::string>>> kinds_by_machine;
    std::string name;
    for (const Prediction* answer : answers) {
        name = answer->machine.name;
        for (std::size_t i = 0; i < answer->models.kernels.size(); ++i) {
            const std::string& from = answer->models.transferred_from[i];
            if (answer->models.kernels[i] == nullptr || from.empty()) continue;
            auto found = std::find_if(kinds_by_machine.begin(), kinds_by_machine.end(),
                                      [&](const auto& each) { return each.first == from; });
            if (found == kinds_by_machine.end()) found = kinds_by_machine.insert(found, {from, {}});
            const std::string kind = spoken(answer->models.kernels[i]->key);
            if (!has(found->second, kind)) found->second.push_back(kind);
        }
    }
    std::vector<std::string> notes;
    for (const auto& [machine, kinds] : kinds_by_machine) {
        notes.push_back(kinds.size() == 1 ? fmt::format("{} {}: that of {} is transferred", no_calibration(name),
                                                        kinds.front(), machine)
                                          : fmt::format("{} these: {}; those of {} are transferred",
                                                        no_calibration(name), fmt::join(kinds, ", "), machine));
    }
    return notes;
}

bool is_on_transfer(const std::string& note, const Machine& machine) {
    return note.starts_with(no_calibration(machine.name));
}

namespace {

/// Adds notes on attention that takes the time of another kind, and on decode steps where only prefill was measured.
void note_attention(const Prediction& answer, std::vector<std::string>& notes) {
    for (std::size_t i = 0; i < answer.runs.size(); ++i) {
        const KernelPoint& point = answer.runs[i].point;
        const CalibratedKernel* own = answer.models.kernels[i];
        const CalibratedKernel* other = answer.models.others[i];
        if (own == nullptr || !(answer.runs[i].count > 0)) continue;
        const double share = other != nullptr ? share_of(*other, own->fit, point) : 0;
        if (share > 0 && other->key.kind == KernelKind::attention) {
            notes.push_back(
                fmt::format("causal attention was measured with {} keys per query: with a longer context and few "
                            "queries its time goes over to that of {}, whose kernels split the keys",
                            number_text(std::max(own->fit.keys_per_query, 1.0)), spoken(other->key)));
        } else if (share > 0.5) {
            notes.push_back(
                fmt::format("attention without a mask was measured in decode steps only: with many queries the "
                            "model of {} is used, on the FLOPs that attention has without a mask",
                            spoken(other->key)));
        }
        if (point.whole_rows && lacks_decode(own->fit) && !(prefill_share(point) > 0)) {
            notes.push_back(fmt::format(
                "no decode step of {} was measured on that machine, only prefill of {} query rows and more: for few "
                "rows the launch overhead plus twice the bound is used, as in decode steps of servers",
                spoken(own->key), number_text(own->fit.ranges.front().least)));
        }
    }
}

/// Adds notes on kernels in a 16-bit dtype whose model is that of the other one.
void note_twins(const Prediction& answer, std::vector<std::string>& notes) {
    for (std::size_t i = 0; i < answer.models.twin_of.size(); ++i) {
        const CalibratedKernel* fitted = answer.models.kernels[i];
        if (fitted == nullptr || answer.models.twin_of[i].empty()) continue;
        const std::string& asked = answer.models.twin_of[i];
        notes.push_back(
            fmt::format("no {} in {} was measured on that machine: the model for {} is used, at the rates of {}",
                        name(fitted->key.kind), asked, fitted->key.dtype, asked));
    }
}

/// Adds notes on measured matmuls whose times include the quantization of activations, and on what the fit subtracts.
void note_quantised(const Prediction& answer, std::vector<std::string>& notes) {
    for (std::size_t i = 0; i < answer.runs.size(); ++i) {
        const CalibratedKernel* fitted = answer.models.kernels[i];
        const CalibratedKernel* with = answer.models.quantised[i];
        if (fitted == nullptr || with == nullptr || !(answer.runs[i].count > 0)) continue;
        notes.push_back(
            fmt::format("measurements of {} include the quantisation of activations to {}; the fit subtracts its "
                        "launch and rows, {} here; as much again may remain and is included in the error",
                        fitted->key.software, fitted->key.dtype,
                        to_text(Seconds{quantisation_s(with->fit, answer.runs[i].point)})));
    }
}

/// Adds notes on extrapolated sizes: on all of a few, otherwise on those with the greatest errors.
void note_extrapolated_sizes(const Prediction& answer, std::vector<std::string>& notes) {
    constexpr std::size_t few = 6;
    constexpr std::size_t most_named = 3;
    std::vector<ExtrapolatedSize> sizes = extrapolated(answer);
    const bool many = sizes.size() > few;
    if (many) {
        std::sort(sizes.begin(), sizes.end(), [](const ExtrapolatedSize& a, const ExtrapolatedSize& b) {
            return std::tie(b.error, a.size, a.value, a.limit) < std::tie(a.error, b.size, b.value, b.limit);
        });
    }
    const std::size_t named = many ? most_named : sizes.size();
    for (std::size_t i = 0; i < named; ++i) notes.push_back(extrapolation_text(sizes[i]));
    if (!many) return;
    notes.push_back(fmt::format("{} {} more sizes beyond what was measured, with mean errors of up to {} %",
                                extrapolation_mark, sizes.size() - named, percent_text(sizes[named].error)));
}

/// Adds notes on models that are used far outside their measured range.
void note_extrapolation(const Prediction& answer, std::vector<std::string>& notes) {
    note_extrapolated_sizes(answer, notes);
    for (std::size_t i = 0; i < answer.runs.size(); ++i) {
        const CalibratedKernel* fitted = answer.models.model_at(i, answer.runs[i].point);
        if (fitted == nullptr || !(answer.runs[i].count > 0) ||
            !sizes_out_of_range(fitted->fit, answer.runs[i].point).empty())
            continue;
        const double seconds = answer.models.seconds_at(i, answer.runs[i].point);
        if (seconds >= fitted->fit.least_s / 2 && seconds <= fitted->fit.most_s * 2) continue;
        notes.push_back(fmt::format(
            "expected times of {} were fitted to kernels of {} to {}: this one is outside of that range",
            spoken(fitted->key), to_text(Seconds{fitted->fit.least_s}), to_text(Seconds{fitted->fit.most_s})));
    }
}

}  // namespace

void add_kernel_notes(const Prediction& answer, std::vector<std::string>& notes) {
    for (std::string& note : notes_on_transfer({&answer})) notes.push_back(std::move(note));
    note_attention(answer, notes);
    note_twins(answer, notes);
    note_quantised(answer, notes);
    note_extrapolation(answer, notes);
}

}  // namespace roofline::core
