#include "predict/profile/profile_measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "predict/profile/operation_price.hpp"
#include "predict/profile/profile_row.hpp"
#include "predict/profile/profile_steps.hpp"
#include "program/collective_info.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// An operation with the time of one execution.
struct TimedOperation {
    const ProfiledOperation* operation = nullptr;
    ProfileRow row;  ///< of one execution
    OperationPrice price;
    double time_s = 0;
};

/// The operations of the busiest device, those that take longest first.
struct TimedOperations {
    ProfiledOperations operations;
    std::vector<TimedOperation> all;
    double counted_s = 0;  ///< of all executions
};

Result<TimedOperations> timed_operations(const RecordedProfile& profile, const SystemOverride& on,
                                         const std::shared_ptr<Calibrations>& calibrations) {
    constexpr double nanosecond = 1e-9;
    TimedOperations timed;
    timed.operations = operations_of(profile, find_steps(profile, busiest_device(profile)));
    ROOFLINE_TRY(auto pricer, OperationPricer::make(on, "", calibrations));
    for (const ProfiledOperation& operation : timed.operations.all) {
        timed.counted_s += static_cast<double>(operation.duration_ns) * nanosecond;
        TimedOperation each;
        each.operation = &operation;
        each.price = pricer.price(profile, operation);
        each.row = profile_row(profile, operation, each.price, static_cast<double>(operation.count));
        const bool waits = operation.work == DeviceWork::collective;
        each.time_s = static_cast<double>(waits ? operation.least_ns : operation.median_ns) * nanosecond;
        timed.all.push_back(std::move(each));
    }
    return timed;
}

Comparison comparison_of(const RecordedProfile& profile, const TimedOperation& timed, const SystemOverride& on) {
    Comparison comparison;
    const bool collective = timed.operation->work == DeviceWork::collective;
    comparison.kind = collective ? MeasuredKind::collective : MeasuredKind::kernel;
    comparison.system = on.machine.id;
    comparison.slice = on.shape.empty() ? on.machine.id : fmt::format("{}:{}", on.machine.id, on.shape);
    comparison.operation = collective ? timed.row.operation : std::string(timed.row.kind);
    if (!collective) {
        comparison.shape = timed.row.operation.empty() ? timed.row.name : timed.row.operation;
        if (!timed.row.shapes.empty()) comparison.shape += " " + timed.row.shapes;
    }
    comparison.bytes = timed.price.bytes.value_or(0);
    comparison.dtype = timed.price.dtype;
    if (collective) comparison.devices = profile.details[timed.operation->detail].group;
    comparison.software = lowered(profile.tool);
    comparison.measured_s = timed.time_s;
    comparison.prediction = {*timed.price.lower_s, timed.price.resident_s, timed.price.expected_s,
                             timed.price.expected_error};
    return comparison;
}

}  // namespace

Result<Validation> compare_recorded(const RecordedProfile& profile, const SystemOverride& on,
                                    const std::shared_ptr<Calibrations>& calibrations) {
    ROOFLINE_TRY(const auto timed, timed_operations(profile, on, calibrations));
    Validation validation;
    validation.table = profile.name;
    validation.kind = "recorded operation";
    double measured_s = 0;
    double predicted_s = 0;
    double compared_s = 0;
    std::map<std::string, std::size_t> skipped;
    for (const TimedOperation& each : timed.all) {
        if (!each.price.lower_s || !(each.time_s > 0)) {
            ++skipped[each.price.unknown.empty() ? "its time is 0" : each.price.unknown];
            continue;
        }
        validation.rows.push_back(comparison_of(profile, each, on));
        const Comparison& row = validation.rows.back();
        const auto runs = static_cast<double>(each.operation->count);
        compared_s += static_cast<double>(each.operation->duration_ns) * 1e-9;
        measured_s += runs * row.measured_s;
        predicted_s += runs * row.predicted_s();
    }
    for (const auto& [reason, rows] : skipped) validation.skipped.push_back({reason, rows, 0});
    std::sort(validation.skipped.begin(), validation.skipped.end(), [](const SkippedRows& a, const SkippedRows& b) {
        return std::pair(b.rows, a.reason) < std::pair(a.rows, b.reason);
    });
    if (measured_s > 0) {
        validation.notes.push_back(fmt::format(
            "the compared operations take {:.1f} % of the total time; over all their executions {} is predicted and "
            "{} was measured",
            100 * compared_s / timed.counted_s, to_text(Seconds{predicted_s}), to_text(Seconds{measured_s})));
    }
    const auto faster = std::count_if(validation.rows.begin(), validation.rows.end(),
                                      [](const Comparison& row) { return row.below_lower(); });
    if (faster > 0) {
        validation.notes.push_back(
            fmt::format("{} operation{} faster than {} can be: the profile may come from a faster machine than the "
                        "one that --on names, or the arithmetic may use a narrower dtype than the inputs",
                        faster, faster == 1 ? " is" : "s are", on.machine.name));
    }
    validation.notes.emplace_back(
        "all executions of an operation with the same inputs are one row, which has their median without warm-up; a "
        "collective has the shortest one, because the others include waiting");
    validation.notes.insert(validation.notes.end(), profile.notes.begin(), profile.notes.end());
    return validation;
}

Status collect_recorded(const RecordedProfile& profile, const SystemOverride& on, TableSamples& samples,
                        Reasons& skipped) {
    ROOFLINE_TRY(auto timed, timed_operations(profile, on, std::make_shared<Calibrations>(std::vector<Calibration>{})));
    for (TimedOperation& each : timed.all) {
        OperationPrice& price = each.price;
        if (!(each.time_s > 0)) {
            ++skipped["its time is 0"];
        } else if (price.kernel) {
            price.kernel->timed.time_s = each.time_s;
            price.kernel->source = profile.name;
            samples.kernels.push_back(std::move(*price.kernel));
        } else if (price.collective) {
            price.collective->timed.time_s = each.time_s;
            price.collective->source = profile.name;
            samples.collectives.push_back(std::move(*price.collective));
        } else {
            ++skipped[price.unknown.empty() ? price.not_fitted : price.unknown];
        }
    }
    return {};
}

}  // namespace roofline::core
