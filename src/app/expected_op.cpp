#include "app/expected_op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ascii.hpp"

namespace roofline {

namespace {

/// The dtype of the tensor that reports call so; it decides how partial sums are added up.
std::optional<Dtype> dtype_of(const Program& program, const std::string& tensor) {
    for (const Value& value : program.values) {
        if (value.name == tensor || value.label == tensor) return value.type.dtype;
    }
    return std::nullopt;
}

std::optional<ExpectedTime> expected_of(const OpAnswer& answer, const Message& message, const std::string& software) {
    // constants are fractions of what really crosses the wires, whatever approximation the bounds are asked with
    System system = answer.system;
    system.collectives = {};
    const auto load = load_of(message, system);
    const auto bytes = message.bytes.evaluate(answer.program.sizes);
    if (!load || !bytes || bytes->is_zero()) return std::nullopt;
    auto request = request_for(*load, system, bytes->to_double());
    if (!request) return std::nullopt;
    if (!software.empty()) request->software = software;
    request->dtype = dtype_of(answer.program, message.tensor);
    auto expected = answer.calibrations->expected(*request);
    const auto lower = time_of(*load, system, bytes->to_double());
    if (expected && lower) expected->seconds = std::max(expected->seconds, lower->lower_s);
    return expected;
}

Status check_software(const OpAnswer& answer, const std::string& software) {
    if (software.empty()) return {};
    if (answer.analysis.total.work.messages.empty()) {
        return fail("bad_request", "--software chooses constants of collectives, and the program has none",
                    "leave it out");
    }
    std::vector<std::string> known;
    for (const std::string& machine : answer.calibrations->machines()) {
        const auto names = answer.calibrations->software(machine);
        known.insert(known.end(), names.begin(), names.end());
    }
    if (std::any_of(known.begin(), known.end(), [&](const auto& name) { return same_library(name, software); })) {
        return {};
    }
    std::vector<std::string> libraries;
    for (const std::string& name : known) libraries.push_back(name.substr(0, name.find(' ')));
    std::sort(libraries.begin(), libraries.end());
    libraries.erase(std::unique(libraries.begin(), libraries.end()), libraries.end());
    return fail("unknown_software", fmt::format("no table has measured {}", quoted(software)),
                did_you_mean(software, libraries, fmt::format("known are {}", fmt::join(libraries, ", "))));
}

void add_total(OpAnswer& answer) {
    const Analysis& total = answer.analysis.total;
    if (total.work.messages.empty()) return;
    const bool computes = !total.work.compute.empty() || !total.work.memory.empty();
    const bool any =
        std::any_of(answer.expected.begin(), answer.expected.end(), [](const auto& e) { return e.has_value(); });
    if (computes && !any) return;
    if (computes) {
        answer.why_not_expected = "computation is not calibrated yet, collectives alone are";
        return;
    }
    double seconds = 0;
    double error = 0;
    for (std::size_t i = 0; i < total.work.messages.size(); ++i) {
        const auto& expected = answer.expected[i];
        const auto count = total.work.messages[i].count.evaluate(answer.program.sizes);
        if (!expected || !count) return;
        seconds += expected->seconds * count->to_double();
        error += expected->seconds * count->to_double() * expected->error;
    }
    if (!(seconds > 0)) return;
    answer.expected_s = seconds;
    answer.expected_error = error / seconds;
}

// What a reader would not take for granted.
void add_notes(OpAnswer& answer, const std::string& software) {
    std::vector<std::string> notes;
    for (const auto& expected : answer.expected) {
        if (!expected) continue;
        const CalibratedLaw& law = *expected->laws.front();
        if (!software.empty() && !is_version(law.key.software, software)) {
            notes.push_back(fmt::format("{} has not been measured there: expected times are those of {}", software,
                                        law.key.software));
        }
        if (expected->carried) {
            notes.push_back(fmt::format("{} is not calibrated for that: expected times are carried over from {}",
                                        answer.machine.name, fmt::join(expected->machines, ", ")));
        }
        if (!expected->counted)
            notes.emplace_back(
                "groups of that many chips were not measured: expected times are those of a law for all counts");
    }
    for (std::string& note : notes) {
        if (std::find(answer.notes.begin(), answer.notes.end(), note) == answer.notes.end()) {
            answer.notes.push_back(std::move(note));
        }
    }
}

}  // namespace

Result<Calibrations> resolve_calibrations(const CalibrationRef& reference) {
    Calibrations calibrations = reference.none ? Calibrations(std::vector<Calibration>{}) : Calibrations::built_in();
    for (const NamedText& file : reference.files) {
        auto calibration = parse_calibration(file.text, file.name);
        if (!calibration) return fail(calibration.error());
        calibrations.replace(std::move(*calibration));
    }
    return calibrations;
}

Status expect(OpAnswer& answer, const std::string& software, std::shared_ptr<Calibrations> calibrations) {
    answer.calibrations = std::move(calibrations);
    if (auto status = check_software(answer, software); !status) return status;
    for (const MessageWork& each : answer.analysis.total.work.messages) {
        answer.expected.push_back(expected_of(answer, each.message, software));
    }
    add_total(answer);
    add_notes(answer, software);
    return {};
}

}  // namespace roofline
