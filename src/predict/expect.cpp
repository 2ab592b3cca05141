#include "predict/expect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ascii.hpp"
#include "calibrate/kernel/extrapolation.hpp"
#include "calibrate/kernel/kernel_relatives.hpp"
#include "predict/expected_basis.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// Returns the dtype of a tensor by the name that reports use. The dtype determines how partial sums are added.
std::optional<Dtype> dtype_of(const Program& program, const std::string& tensor) {
    for (const Value& value : program.values) {
        if (value.name == tensor || value.label == tensor) return value.type.dtype;
    }
    return std::nullopt;
}

/// Expected time of an expert dispatch or combine, if `software` names a library whose exchanges were measured. Without
/// `software` the all-to-all model is used, because training frameworks use all-to-alls by default and this model fits
/// their steps better.
std::optional<ExpectedTime> expected_exchange(const Prediction& answer, const System& system, const Message& message,
                                              const CollectiveRequest& collective, double bytes,
                                              const std::string& software) {
    const auto rows = expert_rows(answer.local, message);
    if (!rows || software.empty()) return {};
    const auto load = load_of(message, system);
    const auto experts = rows->experts.evaluate(answer.program.sizes);
    const auto row_bytes = rows->row_bytes.evaluate(answer.program.sizes);
    if (!load || !experts || !row_bytes) return {};
    const auto wires = exchange_wires(*load, axes_of(message, system), system.slice);
    if (!wires) return {};
    ExchangeRequest request;
    request.key.step = rows->back ? ExchangeStep::combine : ExchangeStep::dispatch;
    request.key.tiers = collective.tiers;
    request.key.software = software;
    request.link = collective.link;
    request.point = exchange_point(
        routed_tokens(bytes, rows->choices, experts->to_double(), row_bytes->to_double(), *wires), *wires);
    auto found = answer.calibrations->expected_exchange(answer.machine, request);
    if (!found || !same_library(found->law->key.software, software)) return {};
    ExpectedTime expected;
    expected.seconds = found->seconds;
    expected.error = found->error;
    expected.carried = found->carried;
    expected.counted = found->counted;
    expected.machines = {found->machine};
    found->rows = *rows;
    expected.exchange = std::move(found);
    return expected;
}

std::optional<ExpectedTime> expected_of(const Prediction& answer, const Message& message, const std::string& software,
                                        Expect what) {
    // Calibrated parameters refer to the actual traffic of the links, so a textbook approximation that was requested
    // for the bounds does not apply.
    System system = answer.system;
    system.collectives = {};
    const auto load = load_of(message, system);
    const auto bytes = message.bytes.evaluate(answer.program.sizes);
    if (!load || !bytes || bytes->is_zero()) return std::nullopt;
    auto request = request_for(*load, system, bytes->to_double());
    if (!request) return std::nullopt;
    if (!software.empty()) request->software = software;
    request->dtype = dtype_of(answer.program, message.tensor);
    request->error = what == Expect::all;
    auto expected = expected_exchange(answer, system, message, *request, bytes->to_double(), software);
    if (!expected) expected = answer.calibrations->expected(*request);
    const double sure = message.sure.to_double();
    const auto lower = time_of(*load, system, bytes->to_double() * (expected && expected->exchange ? sure : 1));
    if (expected && lower) expected->seconds = std::max(expected->seconds, lower->lower_s);
    return expected;
}

/// Returns the software of all measurements that are relevant to the prediction.
std::vector<std::string> known_software(const Prediction& answer) {
    std::vector<std::string> known;
    if (!answer.analysis.total.work.messages.empty()) {
        for (const std::string& machine : answer.calibrations->machines()) {
            const auto names = answer.calibrations->software(machine);
            known.insert(known.end(), names.begin(), names.end());
        }
    }
    if (const Calibration* own = answer.calibrations->find(answer.machine.id)) {
        for (const CalibratedKernel& kernel : own->kernels) known.push_back(kernel.key.software);
    }
    std::erase(known, "");
    return known;
}

Status check_software(const Prediction& answer, const std::string& software) {
    if (software.empty()) return {};
    const std::vector<std::string> known = known_software(answer);
    if (known.empty()) {
        return fail("bad_request",
                    fmt::format("--software chooses between constants, and {} has none for this program that name one",
                                answer.machine.name),
                    "leave it out");
    }
    if (std::any_of(known.begin(), known.end(), [&](const auto& name) { return same_library(name, software); })) {
        return {};
    }
    std::vector<std::string> libraries;
    for (const std::string& name : known) libraries.push_back(name.substr(0, name.find(' ')));
    std::sort(libraries.begin(), libraries.end());
    libraries.erase(std::unique(libraries.begin(), libraries.end()), libraries.end());
    return fail("unknown_software", fmt::format("no table has measured {}", in_ticks(software)),
                did_you_mean(software, libraries, fmt::format("known are {}", fmt::join(libraries, ", "))));
}

std::string spoken(const KernelKey& key) {
    return fmt::format("{}{}{}", name(key.kind), key.dtype.empty() ? "" : " in ", key.dtype);
}

/// Selects the models of kernels and collectives, and records the first part without a model.
void choose_laws(Prediction& answer, const std::string& software, Expect what) {
    answer.laws = kernel_laws(*answer.calibrations, answer.machine, answer.local, answer.analysis, software);
    ProgramLaws& laws = answer.laws;
    const std::vector<MessageWork>& messages = answer.analysis.total.work.messages;
    for (const MessageWork& each : messages) {
        laws.messages.push_back(expected_of(answer, each.message, software, what));
        const auto bytes = each.message.bytes.evaluate(answer.program.sizes);
        const bool moves = bytes && !bytes->is_zero();
        if (!laws.messages.back() && moves && laws.missing.empty())
            laws.missing = fmt::format("{} of {}", collective_name(each.message.kind, true), each.message.tensor);
    }
}

/// If only some parts of a program are calibrated, their sum would be mistaken for the whole; therefore no total is
/// given, and this returns the reason.
std::string why_not(const Prediction& answer) {
    const ProgramLaws& laws = answer.laws;
    if (laws.missing.empty()) return "";
    const Calibration* own = answer.calibrations->find(answer.machine.id);
    if (own != nullptr && !own->kernels.empty()) {
        return fmt::format("nothing is calibrated for {} on {}", laws.missing, answer.machine.name);
    }
    const bool any =
        std::any_of(laws.messages.begin(), laws.messages.end(), [](const auto& each) { return each.has_value(); });
    return any ? "computation is not calibrated there, collectives alone are" : "";
}

void add_total(Prediction& answer) {
    if (!answer.laws.missing.empty() || !answer.analysis.total.seconds) return;
    const CompiledExpected compiled(answer.program, answer.analysis, answer.system, answer.laws, {});
    std::vector<double> scratch(compiled.places());
    const ExpectedProgramTime expected = compiled.evaluate({}, scratch);
    if (!(expected.seconds > 0)) return;
    answer.expected_s = std::max(expected.seconds, answer.analysis.total.bounds.lower);
    answer.expected_error = expected.error;
}

void note_transferred(const Prediction& answer, std::vector<std::string>& notes) {
    for (std::size_t i = 0; i < answer.laws.kernels.size(); ++i) {
        if (answer.laws.kernels[i] == nullptr || answer.laws.carried[i].empty()) continue;
        notes.push_back(fmt::format("{} has no calibration for {}: that of {} is transferred", answer.machine.name,
                                    spoken(answer.laws.kernels[i]->key), answer.laws.carried[i]));
    }
}

/// Adds notes on measured matmuls whose times include the quantization of activations, and on what the fit subtracts.
void note_quantised(const Prediction& answer, std::vector<std::string>& notes) {
    for (std::size_t i = 0; i < answer.runs.size(); ++i) {
        const CalibratedKernel* law = answer.laws.kernels[i];
        const CalibratedKernel* with = answer.laws.quantised[i];
        if (law == nullptr || with == nullptr || !(answer.runs[i].count > 0)) continue;
        notes.push_back(fmt::format(
            "{} was measured with the quantisation of activations to {} in the same time; a fit takes it "
            "out, its launch and rows by {} here, and as much again may be left: that is in the error",
            law->key.software, law->key.dtype, to_text(Seconds{quantisation_s(with->fit, answer.runs[i].point)})));
    }
}

/// Adds notes on models that are used far outside their measured range.
void note_extrapolation(const Prediction& answer, std::vector<std::string>& notes) {
    for (const ExtrapolatedSize& each : extrapolated(answer)) notes.push_back(extrapolation_text(each));
    for (std::size_t i = 0; i < answer.runs.size(); ++i) {
        const CalibratedKernel* law = answer.laws.kernels[i];
        if (law == nullptr || !(answer.runs[i].count > 0) ||
            !sizes_out_of_range(law->fit, answer.runs[i].point).empty())
            continue;
        const double seconds = seconds_of(law->fit, answer.runs[i].point);
        if (seconds >= law->fit.least_s / 2 && seconds <= law->fit.most_s * 2) continue;
        notes.push_back(fmt::format("expected times of {} were fitted to kernels of {} to {}: this is beyond them",
                                    spoken(law->key), to_text(Seconds{law->fit.least_s}),
                                    to_text(Seconds{law->fit.most_s})));
    }
}

// Notes on assumptions that readers would not expect.
void add_notes(Prediction& answer, const std::string& software) {
    std::vector<std::string> notes;
    note_transferred(answer, notes);
    note_quantised(answer, notes);
    note_extrapolation(answer, notes);
    for (std::size_t i = 0; i < answer.laws.messages.size(); ++i) {
        const auto& expected = answer.laws.messages[i];
        if (!expected) continue;
        const std::string& measured =
            expected->exchange ? expected->exchange->law->key.software : expected->laws.front()->key.software;
        if (expected->instead) {
            notes.push_back(stand_in_text(*expected, answer.analysis.total.work.messages[i].message.kind));
        }
        if (!software.empty() && !is_version(measured, software)) {
            notes.push_back(
                fmt::format("{} has not been measured there: expected times are those of {}", software, measured));
        }
        if (expected->carried) {
            notes.push_back(fmt::format("{} is not calibrated for that: expected times are transferred from {}",
                                        answer.machine.name, fmt::join(expected->machines, ", ")));
        }
        if (!expected->fabric.empty()) {
            notes.push_back(fmt::format(
                "collectives between nodes were measured on the network of {}: on another they may well take longer or "
                "shorter, which their error says",
                expected->fabric));
        }
        if (expected->buffer_rate) {
            notes.push_back(fmt::format("groups of one chip per node were not measured: expected times are those of {}",
                                        expected->laws.front()->key.tiers));
        }
        if (!expected->counted && expected->exchange) {
            notes.push_back(fmt::format(
                "exchanges with experts among that many chips were not measured: expected times are those of {}",
                expected->exchange->law->key.members));
        } else if (!expected->counted)
            notes.emplace_back(
                "no measurements exist for groups of this size: the model fitted to all group sizes is used");
    }
    for (std::string& note : notes) {
        if (std::find(answer.notes.begin(), answer.notes.end(), note) == answer.notes.end()) {
            answer.notes.push_back(std::move(note));
        }
    }
}

}  // namespace

namespace {

/// Returns the model of the quantization that is included in a matmul's measurements. The two belong together if the
/// library has no other measurements of either.
const CalibratedKernel* quantised_with(Calibrations& calibrations, const std::string& machine,
                                       const CalibratedKernel* law, const KernelKey& asked) {
    if (law == nullptr || law->key.kind != KernelKind::contraction || law->key.dtype != asked.dtype) return nullptr;
    const Calibration* all = calibrations.find(machine, laws_of_kernels(KernelKind::quantisation));
    if (all == nullptr) return nullptr;
    const KernelKey key{KernelKind::quantisation, law->key.dtype, law->key.software, law->key.variant};
    const auto found = std::find_if(all->kernels.begin(), all->kernels.end(),
                                    [&](const CalibratedKernel& each) { return each.key == key; });
    return found == all->kernels.end() ? nullptr : &*found;
}

}  // namespace

ProgramLaws kernel_laws(Calibrations& calibrations, const Machine& machine, const Program& local,
                        const ProgramAnalysis& analysis, const std::string& software, const std::string& variant) {
    ProgramLaws laws;
    // the program quantizes itself, so that measurements of both together give the time of both
    bool quantises = false;
    for (const KernelWork& kernel : analysis.work.kernels) {
        laws.kernels.push_back(nullptr);
        if (kernel.work.compute.empty() && kernel.work.memory.empty()) {
            laws.carried.emplace_back();
            laws.instead.emplace_back();
            laws.quantised.push_back(nullptr);
            continue;
        }
        KernelKey key = kernel_key(local, kernel);
        key.variant = variant;
        quantises = quantises || key.kind == KernelKind::quantisation;
        laws.carried.emplace_back();
        laws.instead.emplace_back();
        laws.kernels.back() = choose_kernel(calibrations, machine.id, key, software);
        if (laws.kernels.back() == nullptr) {
            TransferredKernel carried = transferred_kernel(calibrations, machine, key, software);
            laws.kernels.back() = carried.law;
            laws.carried.back() = std::move(carried.machine);
        }
        const CalibratedKernel* const law = laws.kernels.back();
        const std::string& measured_on = laws.carried.back().empty() ? machine.id : laws.carried.back();
        laws.quantised.push_back(quantised_with(calibrations, measured_on, law, key));
        if (law != nullptr && law->key.kind != key.kind) laws.instead.back() = key.kind;
        if (law == nullptr && laws.missing.empty()) laws.missing = spoken(key);
    }
    if (quantises) std::fill(laws.quantised.begin(), laws.quantised.end(), nullptr);
    return laws;
}

std::string server_kernel_software(Calibrations& calibrations, const Machine& machine, const std::string& server) {
    const Calibration* own = calibrations.find(machine.id);
    const bool timed = own != nullptr && std::any_of(own->kernels.begin(), own->kernels.end(), [&](const auto& kernel) {
                           return same_library(kernel.key.software, server);
                       });
    return timed ? server : "";
}

Status expect(Prediction& answer, const std::string& software, std::shared_ptr<Calibrations> calibrations,
              Expect what) {
    answer.calibrations = std::move(calibrations);
    ROOFLINE_CHECK(check_software(answer, software));
    choose_laws(answer, software, what);
    answer.why_not_expected = why_not(answer);
    if (answer.laws.missing.empty() && answer.analysis.total.seconds) {
        answer.runs = kernel_runs(answer.program, answer.analysis, chip_traits(answer.machine));
    }
    if (what == Expect::all) add_total(answer);
    add_notes(answer, software);
    for (Prediction& other : answer.alternative_predictions) {
        ROOFLINE_CHECK(expect(other, software, answer.calibrations, what));
    }
    return {};
}

}  // namespace roofline::core
