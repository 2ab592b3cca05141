// The errors of models that are used for other machines or on other networks, found by predicting the measurements of
// these.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/collective/fit_collectives.hpp"
#include "calibrate/collective/mean_error.hpp"

namespace roofline::core {

namespace {

CollectiveRequest request_of(const CollectiveSample& sample) {
    CollectiveRequest request;
    request.machine = sample.machine;
    request.tiers = sample.key.tiers;
    request.link = sample.link;
    request.inner_tiers = sample.inner_tiers;
    request.kind = sample.key.kind;
    request.point = sample.timed.point;
    request.software = sample.key.software;
    request.variant = sample.key.variant;
    if (sample.key.dtypes == "integer") request.dtype = Dtype::int8;
    return request;
}

/// Returns the samples that tell how well a model predicts others: on several nodes those of other systems, on a torus
/// those of other machines. By system or machine.
using SamplesElsewhere = std::map<std::string, std::vector<const CollectiveSample*>>;

bool on_torus(const CollectiveLink& link) { return link.topology.starts_with("torus"); }

/// Returns whether both groups span the same tiers, or one of them has one chip on each node and the other has whole
/// nodes. `inner_tiers` are those of the model's machine inside its tiers.
bool same_network(const CalibratedCollective& model, const std::string& inner_tiers, const CollectiveSample& sample) {
    const std::string& tiers = model.key.tiers;
    if (tiers == sample.key.tiers) return same_wiring(model.link.topology, sample.link.topology);
    return tiers == sample.inner_tiers + "+" + sample.key.tiers || sample.key.tiers == inner_tiers + "+" + tiers;
}

SamplesElsewhere elsewhere(const CalibratedCollective& model, const std::string& machine,
                           const std::vector<CollectiveSample>& samples) {
    SamplesElsewhere found;
    const bool torus = on_torus(model.link);
    if (is_custom(model.key) || (!torus && !leaves_node(model.key.tiers, model.link))) return found;
    const auto own = std::find_if(samples.begin(), samples.end(), [&](const CollectiveSample& sample) {
        return sample.machine == machine && sample.key == model.key;
    });
    const std::string inner_tiers = own == samples.end() ? "" : own->inner_tiers;
    for (const CollectiveSample& sample : samples) {
        if (sample.key.kind != model.key.kind || is_custom(sample.key) || is_impossible(sample)) continue;
        if (sample.key.dtypes != model.key.dtypes || !same_network(model, inner_tiers, sample)) continue;
        const bool same = torus ? sample.machine == machine : sample.key.system == model.key.system;
        if (!same) found[torus ? sample.machine : sample.key.system].push_back(&sample);
    }
    return found;
}

/// Returns the error of a model on others' samples, each system or machine with the same weight.
std::optional<double> error_on(const SamplesElsewhere& elsewhere, const CalibratedCollective& model) {
    if (elsewhere.empty()) return std::nullopt;
    double sum = 0;
    for (const auto& [name, samples] : elsewhere) {
        MeanError error;
        for (const CollectiveSample* sample : samples) {
            CollectivePoint point = sample->timed.point;
            if (model.key.tiers != sample->key.tiers)
                point.buffer_s *= sample->link.bytes_per_s / model.link.bytes_per_s;
            error.add(std::max(seconds_of(model.model, point), sample->lower_s), sample->timed.time_s);
        }
        sum += error.mean();
    }
    return sum / static_cast<double>(elsewhere.size());
}

bool speak_for(const std::vector<TransferCandidate>& transfer_candidates, const CollectiveKey& key) {
    return !transfer_candidates.empty() &&
           std::all_of(transfer_candidates.begin(), transfer_candidates.end(),
                       [&](const TransferCandidate& relative) { return relative.model->key.variant == key.variant; });
}

}  // namespace

void add_transfer_errors(std::vector<Calibration>& calibrations, const std::vector<CollectiveSample>& samples) {
    Calibrations all(calibrations);
    struct TransferErrors {
        std::map<std::int64_t, std::vector<TransferCandidate>> by_members;
        MeanError error;
    };
    using Series = std::pair<std::string, CollectiveKey>;
    std::map<std::pair<Series, bool>, TransferErrors> errors;  // `true`: transferred from links with the same rate
    for (const CollectiveSample& sample : samples) {
        if (is_impossible(sample)) continue;
        const CollectiveRequest request = request_of(sample);
        for (const bool same_rate : {true, false}) {
            TransferErrors& transferred = errors[{{sample.machine, sample.key}, same_rate}];
            auto found = transferred.by_members.find(request.point.members);
            if (found == transferred.by_members.end()) {
                found =
                    transferred.by_members.emplace(request.point.members, all.transfer_candidates(request, same_rate))
                        .first;
            }
            if (!speak_for(found->second, sample.key)) continue;
            const ExpectedTime expected = mean_of(found->second, request);
            if (expected.software_found) transferred.error.add(expected.seconds, sample.timed.time_s);
        }
    }
    for (Calibration& calibration : calibrations) {
        for (CalibratedCollective& model : calibration.models) {
            if (const auto error = error_on(elsewhere(model, calibration.machine, samples), model)) {
                model.errors.elsewhere = std::max(*error, model.errors.elsewhere.value_or(0));
            }
            for (const bool same_rate : {true, false}) {
                const auto found = errors.find({{calibration.machine, model.key}, same_rate});
                if (found == errors.end() || found->second.error.empty()) continue;
                (same_rate ? model.errors.relative : model.errors.far) = found->second.error.mean();
            }
        }
    }
}

}  // namespace roofline::core
