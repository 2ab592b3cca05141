#include "predict/expect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/ascii.hpp"
#include "calibrate/compiled_expected.hpp"
#include "calibrate/kernel/extrapolation.hpp"
#include "calibrate/kernel/kernel_transfer.hpp"
#include "predict/expected_basis.hpp"
#include "predict/model_notes.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// What decides the models of a program.
struct ModelChoice {
    const std::string& software;
    Expect what = Expect::all;
    const ExchangeKernels* exchange = nullptr;
    std::unordered_map<std::string_view, Dtype> dtypes{};  ///< of the program's tensors, by name and label
};

/// As dtype_of(), for many tensors of one program.
std::unordered_map<std::string_view, Dtype> dtypes_by_name(const Program& program) {
    std::unordered_map<std::string_view, Dtype> dtypes;
    for (const Value& value : program.values) {
        dtypes.emplace(value.name, value.type.dtype);
        dtypes.emplace(value.label, value.type.dtype);
    }
    return dtypes;
}

/// Whether an exchange model is the one that was asked for.
bool is_asked(const CalibratedExchange& model, const ModelChoice& choice) {
    return choice.exchange != nullptr ? model.key.variant == choice.exchange->name
                                      : same_library(model.key.software, choice.software);
}

/// Expected time of an expert dispatch or combine, if its kernels are named, or `software` names a library whose
/// exchanges were measured. Otherwise the all-to-all model is used, because training frameworks use all-to-alls by
/// default and this model fits their steps better.
std::optional<ExpectedTime> expected_exchange(const Prediction& answer, const System& system, const Message& message,
                                              const CollectiveRequest& collective, double bytes,
                                              const ModelChoice& choice) {
    const auto rows = expert_rows(*answer.local, message);
    if (!rows || (choice.software.empty() && choice.exchange == nullptr)) return {};
    const auto load = load_of(message, system);
    const auto experts = rows->experts.evaluate(answer.program.sizes);
    const auto row_bytes = rows->row_bytes.evaluate(answer.program.sizes);
    if (!load || !experts || !row_bytes) return {};
    const auto wires = exchange_links(*load, axes_of(message, system), system.slice);
    if (!wires) return {};
    ExchangeRequest request;
    request.key.step = rows->back ? ExchangeStep::combine : ExchangeStep::dispatch;
    request.key.tiers = collective.tiers;
    // servers share the kernels of a library, which were measured with one of them
    if (choice.exchange != nullptr) {
        request.key.variant = choice.exchange->name;
    } else {
        request.key.software = choice.software;
    }
    request.link = collective.link;
    request.point = exchange_point(
        routed_tokens(bytes, rows->choices, experts->to_double(), row_bytes->to_double(), *wires), *wires);
    auto found = answer.calibrations->expected_exchange(answer.machine, request);
    if (!found || !is_asked(*found->model, choice)) return {};
    ExpectedTime expected;
    expected.seconds = found->seconds;
    expected.error = found->error;
    expected.transferred = found->transferred;
    expected.counted = found->counted;
    expected.machines = {found->machine};
    found->rows = *rows;
    expected.exchange = std::move(found);
    return expected;
}

std::optional<ExpectedTime> expected_of(const Prediction& answer, const System& system, const Message& message,
                                        const ModelChoice& choice) {
    const auto load = load_of(message, system);
    const auto counted = message.bytes.evaluate(answer.program.sizes);
    if (!load || !counted || counted->is_zero()) return std::nullopt;
    const double bytes = counted->to_double();
    auto request = request_for(*load, system, bytes);
    if (!request) return std::nullopt;
    if (!choice.software.empty()) request->software = choice.software;
    if (const auto named = choice.dtypes.find(message.tensor); named != choice.dtypes.end()) {
        request->dtype = named->second;
    }
    request->error = choice.what == Expect::all;
    const double sure = message.sure.to_double();
    auto expected = expected_exchange(answer, system, message, *request, bytes, choice);
    double sent = expected ? sure : 1;
    if (!expected) {
        if (choice.exchange != nullptr && choice.exchange->once && expert_rows(*answer.local, message)) sent = sure;
        if (const auto less = request_for(*load, system, bytes * sent)) request->point = less->point;
        expected = answer.calibrations->expected(*request);
        if (expected) expected->sent = sent;
    }
    const auto lower = time_of(*load, system, bytes * sent);
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
                    fmt::format("--software selects a calibration, but {} has none with a library for this program",
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
    return fail("unknown_software", fmt::format("there are no measurements of {}", in_ticks(software)),
                did_you_mean(software, libraries, fmt::format("known are {}", fmt::join(libraries, ", "))));
}

/// Selects the models of kernels and collectives, and records the first part without a model.
void choose_models(Prediction& answer, const ModelChoice& choice) {
    answer.models =
        kernel_models(*answer.calibrations, answer.machine, *answer.local, answer.analysis, choice.software);
    ProgramModels& fitted_models = answer.models;
    const std::vector<MessageWork>& messages = answer.analysis.total.work.messages;
    ModelChoice named = choice;
    if (!messages.empty())
        named.dtypes = dtypes_by_name(answer.program.values.empty() ? *answer.local : answer.program);
    // Calibrated parameters refer to the actual traffic of the links, so a textbook approximation that was requested
    // for the bounds does not apply.
    System system = answer.system;
    system.collectives = {};
    // Kernels that are equal but for names send equal messages.
    std::vector<std::size_t> same;
    std::vector<std::size_t> first;  // by kernel: its first message
    for (const KernelWork& kernel : answer.analysis.work.kernels) {
        const bool again = kernel.like < first.size();
        const std::size_t from = again ? first[kernel.like] : same.size();
        first.push_back(same.size());
        for (std::size_t i = 0; i < kernel.work.messages.size(); ++i) same.push_back(from + i);
    }
    for (const MessageWork& each : messages) {
        const std::size_t at = fitted_models.messages.size();
        if (at < same.size() && same[at] < at) {
            fitted_models.messages.push_back(fitted_models.messages[same[at]]);
            continue;
        }
        fitted_models.messages.push_back(expected_of(answer, system, each.message, named));
        const auto bytes = each.message.bytes.evaluate(answer.program.sizes);
        const bool moves = bytes && !bytes->is_zero();
        if (!fitted_models.messages.back() && moves && fitted_models.missing.empty())
            fitted_models.missing =
                fmt::format("{} of {}", collective_name(each.message.kind, true), each.message.tensor);
    }
}

/// If only some parts of a program are calibrated, their sum would be mistaken for the whole; therefore no total is
/// given, and this returns the reason.
std::string why_not(const Prediction& answer) {
    const ProgramModels& fitted_models = answer.models;
    if (fitted_models.missing.empty()) return "";
    const Calibration* own = answer.calibrations->find(answer.machine.id);
    const std::vector<const CalibratedKernel*>& kernels = fitted_models.kernels;
    const bool others_are_known =
        std::any_of(kernels.begin(), kernels.end(), [](const CalibratedKernel* each) { return each != nullptr; });
    if (others_are_known || kernels.empty() || (own != nullptr && !own->kernels.empty())) {
        return fmt::format("no calibration for {} on {}", fitted_models.missing, answer.machine.name);
    }
    const bool any = std::any_of(fitted_models.messages.begin(), fitted_models.messages.end(),
                                 [](const auto& each) { return each.has_value(); });
    return any ? "only collectives are calibrated on that machine, not computation" : "";
}

void add_total(Prediction& answer) {
    if (!answer.models.missing.empty() || !answer.analysis.total.seconds) return;
    const CompiledExpected compiled(answer.program, answer.analysis, answer.system, answer.models, {});
    std::vector<double> scratch(compiled.places());
    const ExpectedProgramTime expected = compiled.evaluate({}, scratch);
    if (!(expected.seconds > 0)) return;
    answer.expected_s = std::max(expected.seconds, answer.analysis.total.bounds.lower);
    answer.expected_error = expected.error;
}

// Notes on assumptions that readers would not expect.
void add_notes(Prediction& answer, const std::string& software, const ExchangeKernels* exchange) {
    std::vector<std::string> notes;
    add_kernel_notes(answer, notes);
    for (std::string note : {whole_passes_text(answer), wanted_measurements_text(answer)}) {
        if (!note.empty()) notes.push_back(std::move(note));
    }
    for (std::size_t i = 0; i < answer.models.messages.size(); ++i) {
        const auto& expected = answer.models.messages[i];
        if (!expected) continue;
        const std::string& measured =
            expected->exchange ? expected->exchange->model->key.software : expected->models.front()->key.software;
        if (expected->instead) {
            notes.push_back(stand_in_text(*expected, answer.analysis.total.work.messages[i].message.kind));
        }
        const bool any_software = expected->exchange && exchange != nullptr;
        if (!software.empty() && !any_software && !is_version(measured, software)) {
            notes.push_back(fmt::format("{} has not been measured on this network: expected times are those of {}",
                                        software, measured));
        }
        if (expected->transferred) {
            notes.push_back(fmt::format("{} is not calibrated for this: expected times are transferred from {}",
                                        answer.machine.name, fmt::join(expected->machines, ", ")));
        }
        if (!expected->fabric.empty()) {
            notes.push_back(fmt::format(
                "collectives between nodes were measured on the network of {}; the error covers other networks",
                expected->fabric));
        }
        if (expected->buffer_rate) {
            notes.push_back(fmt::format("groups of one chip per node were not measured: expected times are those of {}",
                                        expected->models.front()->key.tiers));
        }
        if (!expected->counted && expected->exchange) {
            notes.push_back(fmt::format(
                "exchanges with experts among that many chips were not measured: expected times are those of {}",
                expected->exchange->model->key.members));
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
const CalibratedKernel* included_quantisation(Calibrations& calibrations, const std::string& machine,
                                              const CalibratedKernel* fitted, const KernelKey& asked) {
    if (fitted == nullptr || fitted->key.kind != KernelKind::contraction || fitted->key.dtype != asked.dtype)
        return nullptr;
    const Calibration* all = calibrations.find(machine, models_of_kernels(KernelKind::quantisation));
    if (all == nullptr) return nullptr;
    const KernelKey key{KernelKind::quantisation, fitted->key.dtype, fitted->key.software, fitted->key.variant};
    const auto found = std::find_if(all->kernels.begin(), all->kernels.end(),
                                    [&](const CalibratedKernel& each) { return each.key == key; });
    return found == all->kernels.end() ? nullptr : &*found;
}

/// Returns the model of causal prefill with which a model of attention without a mask is blended: of the same library,
/// if it has one. Null if there is none, and if the model itself was fitted to as many query rows.
const CalibratedKernel* prefill_model(Calibrations& calibrations, const std::string& machine,
                                      const CalibratedKernel& decode, const std::string& software) {
    if (decode.key.kind != KernelKind::attention) return nullptr;
    KernelPoint largest;
    largest.m = decode.fit.ranges.front().most;
    if (prefill_share(largest) > 0) return nullptr;
    KernelKey key = decode.key;
    key.kind = KernelKind::causal_attention;
    const CalibratedKernel* model =
        choose_kernel(calibrations, machine, key, software.empty() ? decode.key.software : software);
    return model != nullptr && model->key.kind == KernelKind::causal_attention ? model : nullptr;
}

/// Returns the model of decode steps with which a model of causal attention is blended: of the same library, if it has
/// one that was fitted to so few query rows. Null if there is none.
const CalibratedKernel* decode_model(Calibrations& calibrations, const std::string& machine,
                                     const CalibratedKernel& causal, const std::string& software) {
    if (causal.key.kind != KernelKind::causal_attention) return nullptr;
    KernelKey key = causal.key;
    key.kind = KernelKind::attention;
    const CalibratedKernel* model =
        choose_kernel(calibrations, machine, key, software.empty() ? causal.key.software : software);
    if (model == nullptr || model->key.kind != KernelKind::attention) return nullptr;
    const KernelPoint least{.m = model->fit.ranges.front().least};
    return least.m > 0 && !(prefill_share(least) > 0) ? model : nullptr;
}

/// Returns the dtypes of a kernel with f16 for bf16 and bf16 for f16; "" if it has neither. Units multiply both at the
/// same rate, with the same bytes.
std::string twin_dtype(const std::string& dtypes) {
    std::string twin;
    std::string_view rest = dtypes;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        const std::string_view word = rest.substr(0, end);
        twin += word == name(Dtype::f16) ? name(Dtype::bf16) : word == name(Dtype::bf16) ? name(Dtype::f16) : word;
        if (end < rest.size()) twin += ' ';
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return twin == dtypes ? "" : twin;
}

/// Returns the machine's model of a kernel in f16 for one in bf16, or in bf16 for one in f16, possibly of a broader
/// kind. Null if there is none, or only one of kernels that a host launched.
const CalibratedKernel* twin_model(Calibrations& calibrations, const std::string& machine, KernelKey key,
                                   const std::string& software) {
    key.dtype = twin_dtype(key.dtype);
    if (key.dtype.empty()) return nullptr;
    const CalibratedKernel* const model = choose_kernel(calibrations, machine, key, software);
    return model != nullptr && !launched_by_host(model->key) ? model : nullptr;
}

/// Returns whether a matmul has operands of different dtypes of at most 32 bits, "bf16 x fp8".
bool multiplies_two_dtypes(const KernelKey& key) {
    constexpr std::string_view between = " x ";
    constexpr int widest = 32;
    std::string_view rest = key.dtype;
    std::size_t end = rest.find(between);
    if (end == std::string_view::npos) return false;
    while (true) {
        const auto dtype = find_dtype(rest.substr(0, end));
        if (!dtype || info(*dtype).bits > widest) return false;
        if (end == std::string_view::npos) return true;
        rest.remove_prefix(end + between.size());
        end = rest.find(between);
    }
}

/// Returns whether the machine multiplies activations of fewer than 16 bits in the units of a wider dtype, as one
/// without fp8 units does.
bool lacks_units(const Machine& machine, const KernelKey& key) {
    constexpr int wide = 16;
    const auto dtype = find_dtype(key.dtype.substr(0, key.dtype.find(" x ")));
    if (key.kind == KernelKind::quantisation || !dtype || info(*dtype).bits >= wide) return false;
    const auto units = assign(machine, Unit::matmul, info(*dtype).arithmetic);
    return units && info(units->peak->dtype).bits >= wide;
}

}  // namespace

std::optional<Dtype> dtype_of(const Program& program, const std::string& tensor) {
    for (const Value& value : program.values) {
        if (value.name == tensor || value.label == tensor) return value.type.dtype;
    }
    return std::nullopt;
}

ProgramModels kernel_models(Calibrations& calibrations, const Machine& machine, const Program& local,
                            const ProgramAnalysis& analysis, const std::string& software, const std::string& variant) {
    ProgramModels fitted_models;
    // the program quantizes itself, so that measurements of both together give the time of both
    bool quantises = false;
    for (const KernelWork& kernel : analysis.work.kernels) {
        if (kernel.like < fitted_models.kernels.size()) {
            fitted_models.kernels.push_back(fitted_models.kernels[kernel.like]);
            fitted_models.transferred_from.push_back(fitted_models.transferred_from[kernel.like]);
            fitted_models.instead.push_back(fitted_models.instead[kernel.like]);
            fitted_models.others.push_back(fitted_models.others[kernel.like]);
            fitted_models.twin_of.push_back(fitted_models.twin_of[kernel.like]);
            fitted_models.quantised.push_back(fitted_models.quantised[kernel.like]);
            continue;
        }
        fitted_models.kernels.push_back(nullptr);
        fitted_models.others.push_back(nullptr);
        fitted_models.twin_of.emplace_back();
        if (kernel.work.compute.empty() && kernel.work.memory.empty()) {
            fitted_models.transferred_from.emplace_back();
            fitted_models.instead.emplace_back();
            fitted_models.quantised.push_back(nullptr);
            continue;
        }
        KernelKey key = kernel_key(local, kernel);
        if (!variant.empty()) key.variant = variant;
        quantises = quantises || key.kind == KernelKind::quantisation;
        fitted_models.transferred_from.emplace_back();
        fitted_models.instead.emplace_back();
        fitted_models.kernels.back() = choose_kernel(calibrations, machine.id, key, software);
        // its matmuls take at least as long as those of the units' dtype, whatever other machines do with theirs
        const bool widened = fitted_models.kernels.back() == nullptr && lacks_units(machine, key);
        KernelKey measured = key;
        if (widened) {
            measured.dtype = name(Dtype::bf16);
            fitted_models.kernels.back() = choose_kernel(calibrations, machine.id, measured, software);
        }
        const CalibratedKernel* const twin =
            fitted_models.kernels.back() == nullptr ? twin_model(calibrations, machine.id, key, software) : nullptr;
        if (twin != nullptr && twin->key.kind == key.kind) fitted_models.kernels.back() = twin;
        if (fitted_models.kernels.back() == nullptr) {
            TransferredKernel transferred = transferred_kernel(calibrations, machine, measured, software);
            fitted_models.kernels.back() = transferred.model;
            fitted_models.transferred_from.back() = std::move(transferred.machine);
        }
        // If both dtype and kind differ, the nearest machine's model of the kernel itself is more accurate.
        const CalibratedKernel* const nearest = fitted_models.kernels.back();
        if (twin != nullptr && (nearest == nullptr || nearest->key.kind != key.kind)) {
            fitted_models.kernels.back() = twin;
            fitted_models.transferred_from.back().clear();
        }
        if (twin != nullptr && fitted_models.kernels.back() == twin) fitted_models.twin_of.back() = key.dtype;
        // no table has products of these two dtypes: they move the same bytes as those of 16-bit floats
        const bool unmeasured = fitted_models.kernels.back() == nullptr && multiplies_two_dtypes(key);
        if (unmeasured) {
            KernelKey other = key;
            other.dtype = name(Dtype::bf16);
            fitted_models.kernels.back() = choose_kernel(calibrations, machine.id, other, software);
            if (fitted_models.kernels.back() == nullptr) {
                TransferredKernel transferred = transferred_kernel(calibrations, machine, other, software);
                fitted_models.kernels.back() = transferred.model;
                fitted_models.transferred_from.back() = std::move(transferred.machine);
            }
        }
        const CalibratedKernel* const fitted = fitted_models.kernels.back();
        const std::string& measured_on =
            fitted_models.transferred_from.back().empty() ? machine.id : fitted_models.transferred_from.back();
        fitted_models.quantised.push_back(included_quantisation(calibrations, measured_on, fitted, key));
        if (key.kind == KernelKind::attention && fitted != nullptr)
            fitted_models.others.back() = prefill_model(calibrations, measured_on, *fitted, software);
        if (key.kind == KernelKind::causal_attention && fitted != nullptr)
            fitted_models.others.back() = decode_model(calibrations, measured_on, *fitted, software);
        if (fitted != nullptr && (unmeasured || widened || fitted->key.kind != key.kind)) {
            fitted_models.instead.back() = key.kind;
        }
        if (fitted == nullptr && fitted_models.missing.empty()) fitted_models.missing = spoken(key);
    }
    if (quantises) std::fill(fitted_models.quantised.begin(), fitted_models.quantised.end(), nullptr);
    return fitted_models;
}

std::string server_kernel_software(Calibrations& calibrations, const Machine& machine, const std::string& server) {
    const Calibration* own = calibrations.find(machine.id);
    const bool timed = own != nullptr && std::any_of(own->kernels.begin(), own->kernels.end(), [&](const auto& kernel) {
                           return same_library(kernel.key.software, server);
                       });
    return timed ? server : "";
}

Status expect(Prediction& answer, const std::string& software, std::shared_ptr<Calibrations> calibrations, Expect what,
              const ExchangeKernels* exchange) {
    answer.calibrations = std::move(calibrations);
    ROOFLINE_CHECK(check_software(answer, software));
    choose_models(answer, {software, what, exchange});
    answer.why_not_expected = why_not(answer);
    if (answer.models.missing.empty() && answer.analysis.total.seconds) {
        answer.runs = kernel_runs(answer.program, answer.analysis, chip_traits(answer.machine));
    }
    if (what == Expect::all) add_total(answer);
    add_notes(answer, software, exchange);
    for (Prediction& other : answer.alternative_predictions) {
        ROOFLINE_CHECK(expect(other, software, answer.calibrations, what, exchange));
    }
    return {};
}

}  // namespace roofline::core
