#include "predict/profile/module_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "predict/profile/profile_steps.hpp"

namespace roofline::core {

namespace {

constexpr double per_second = 1e9;

/// Events of one instruction, in an average step.
struct MeasuredInstruction {
    double seconds = 0;
    double count = 0;
};
using MeasuredInstructions = std::map<std::string, MeasuredInstruction, std::less<>>;

// "jit_step(1234567)" of the module "jit_step": the number is that of the program.
bool is_of_module(const std::string& text, std::string_view module) { return text.substr(0, text.find('(')) == module; }

MeasuredInstructions instructions_of(const RecordedProfile& profile, const std::vector<ProfileStep>& steps,
                                     std::string_view module, double counted) {
    const auto module_of = [&](const DeviceEvent& event) {
        return event.detail == no_index ? no_index : profile.details[event.detail].module;
    };
    const bool named = std::any_of(profile.events.begin(), profile.events.end(), [&](const DeviceEvent& event) {
        const std::uint32_t of = module_of(event);
        return of != no_index && is_of_module(profile.text(of), module);
    });
    MeasuredInstructions found;
    for (const ProfileStep& step : steps) {
        if (step.warm_up) continue;
        for (const std::uint32_t index : step.events) {
            const DeviceEvent& event = profile.events[index];
            if (event.detail == no_index) continue;
            const EventDetail& detail = profile.details[event.detail];
            if (detail.instruction == no_index) continue;
            if (named && (detail.module == no_index || !is_of_module(profile.text(detail.module), module))) continue;
            MeasuredInstruction& measured = found[profile.text(detail.instruction)];
            measured.seconds += static_cast<double>(event.duration_ns) / per_second / counted;
            measured.count += 1 / counted;
        }
    }
    return found;
}

}  // namespace

Status join_profile(const RecordedProfile& profile, std::string_view module, ModuleAnswer& answer) {
    const std::int32_t device = busiest_device(profile);
    const std::vector<ProfileStep> steps = find_steps(profile, device);
    ModuleMeasurement measurement;
    measurement.profile = profile.name;
    double counted = 0;
    double total_ns = 0;
    for (const ProfileStep& step : steps) {
        if (step.warm_up) continue;
        counted += 1;
        total_ns += static_cast<double>(step.duration_ns());
    }
    measurement.steps = counted;
    measurement.step_s = total_ns / per_second / counted;
    MeasuredInstructions found = instructions_of(profile, steps, module, counted);
    if (found.empty()) {
        return fail("other_module", fmt::format("{} names no instructions of XLA", profile.name),
                    "record it with jax.profiler while the module runs");
    }
    for (ModuleOp& op : answer.ops) {
        const auto measured = found.find(op.name);
        if (measured == found.end()) continue;
        op.measured_s = measured->second.seconds;
        measurement.matched_s += measured->second.seconds;
        found.erase(measured);
    }
    if (!(measurement.matched_s > 0)) {
        return fail("other_module", fmt::format("no instruction in {} is a kernel of {}", profile.name, answer.name),
                    "give the module that ran, as XLA left it for this device: compiled.as_text()");
    }
    for (const auto& [name, measured] : found) {
        measurement.other_s += measured.seconds;
        measurement.others.emplace_back(name, measured.seconds);
    }
    std::sort(measurement.others.begin(), measurement.others.end(), [](const auto& a, const auto& b) {
        return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
    });
    std::sort(answer.ops.begin(), answer.ops.end(), [](const ModuleOp& a, const ModuleOp& b) {
        return std::tuple(-a.measured_s.value_or(0), -a.seconds, a.name) <
               std::tuple(-b.measured_s.value_or(0), -b.seconds, b.name);
    });
    answer.measured = std::move(measurement);
    answer.notes.insert(answer.notes.end(), profile.notes.begin(), profile.notes.end());
    return {};
}

}  // namespace roofline::core
