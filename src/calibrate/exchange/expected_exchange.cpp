// Selection of the model of an expert dispatch or combine.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/constants.hpp"

namespace roofline::core {

namespace {

/// How well a model matches a request; smaller values match better. Between equal ones, versions and times decide.
auto distance(const CalibratedExchange& model, const ExchangeRequest& request) {
    const ExchangeKey& asked = request.key;
    const bool other_library = !asked.software.empty() && !same_library(model.key.software, asked.software);
    const bool other_variant = !asked.variant.empty() && model.key.variant != asked.variant;
    const double count = std::abs(std::log2(static_cast<double>(model.key.members) / request.point.members));
    const bool other_system = !asked.system.empty() && model.key.system != asked.system;
    const bool other_version = !asked.software.empty() && !is_version(model.key.software, asked.software);
    // the buffers of kernels for few tokens are too small for more
    const bool too_many = request.point.tokens > 2 * model.most_tokens;
    return std::tuple(other_library, other_variant, count, other_system, too_many, other_version);
}

const CalibratedExchange* choose(const Calibration& calibration, const ExchangeRequest& request) {
    const CalibratedExchange* best = nullptr;
    for (const CalibratedExchange& model : calibration.exchanges) {
        const bool alike = model.key.step == request.key.step && model.key.tiers == request.key.tiers &&
                           model.link.topology == request.link.topology;
        if (!alike) continue;
        if (best == nullptr || distance(model, request) < distance(*best, request)) {
            best = &model;
            continue;
        }
        if (distance(*best, request) < distance(model, request)) continue;
        const bool newer = model.key.software != best->key.software && older(best->key.software, model.key.software);
        const bool faster = model.key.software == best->key.software &&
                            seconds_of(model.model, request.point) < seconds_of(best->model, request.point);
        if (newer || faster) best = &model;
    }
    return best;
}

double error_of(const CalibratedExchange& model, bool counted) {
    const double own = std::max(model.errors.sizes, model.errors.shapes.value_or(0));
    return counted ? own : std::max(own, model.errors.members.value_or(unvalidated_error));
}

std::optional<ExpectedExchange> expected_of(const CalibratedExchange* model, const std::string& machine,
                                            const ExchangeRequest& request) {
    if (model == nullptr) return std::nullopt;
    ExpectedExchange expected;
    expected.model = model;
    expected.machine = machine;
    expected.counted = static_cast<double>(model->key.members) == request.point.members;
    expected.point = request.point;
    expected.seconds = seconds_of(model->model, request.point);
    expected.error = error_of(*model, expected.counted);
    return expected;
}

}  // namespace

std::optional<ExpectedExchange> Calibrations::expected_exchange(const Machine& machine,
                                                                const ExchangeRequest& request) {
    if (const Calibration* own = find(machine.id, models_of_exchanges())) {
        if (auto expected = expected_of(choose(*own, request), machine.id, request)) return expected;
    }
    return transferred_exchange(machine, request);
}

std::optional<ExpectedExchange> Calibrations::transferred_exchange(const Machine& machine,
                                                                   const ExchangeRequest& request) {
    for (const std::string& id : most_similar_machines(machine)) {
        const Calibration* calibration = find(id, models_of_exchanges());
        if (calibration == nullptr) continue;
        auto expected = expected_of(choose(*calibration, request), id, request);
        if (!expected) continue;
        expected->transferred = true;
        // error observed when that machine was left out and predicted from its own nearest
        expected->error = std::max(expected->error, expected->model->errors.relative.value_or(unvalidated_error));
        return expected;
    }
    return std::nullopt;
}

}  // namespace roofline::core
