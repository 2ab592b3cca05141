#include "report/train/step_expectation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string part(double factor, double seconds, std::string_view what) {
    if (!(seconds > 0)) return "";
    const std::string time = fmt::format("{} of {}", to_text(Seconds{seconds}), what);
    return factor == 1 ? time : fmt::format("{} x {}", number_text(factor), time);
}

std::string sum_of(std::vector<std::string> parts) {
    std::erase(parts, "");
    return fmt::format("{}", fmt::join(parts, " + "));
}

/// Returns "models with experts in 16 bits".
std::string class_text(const StepClass& of) {
    return fmt::format("{} in {}", of.experts ? "models with experts" : "dense models",
                       of.narrow ? "fewer than 16 bits" : "16 bits");
}

/// Returns "1,188 runs of 6 publishers, each left out of the fit in turn".
std::string held_out_text(const StepClass& of) {
    const std::string_view unit = of.compiled ? "pair" : "publisher";
    return fmt::format("{} runs of {} {}{}{}, each left out of the fit in turn", grouped(of.rows), of.publishers, unit,
                       of.publishers == 1 ? "" : "s", of.compiled ? " of model and chip" : "");
}

std::string launches_text(const StepTimes& times) {
    return fmt::format("{} launches of {}", grouped(std::llround(times.parts->launches)),
                       to_text(Seconds{times.step_model.launch_s}));
}

/// Returns the sentences on a step that is one program.
std::vector<std::string> compiled_sentences(const StepTimes& times) {
    const StepParts& parts = *times.parts;
    const StepModel& model = times.step_model;
    std::vector<std::string> sentences;
    const auto say = [&](std::string sentence) { sentences.push_back(std::move(sentence)); };
    const double kernels = parts.kernels_s + parts.narrow_s + parts.promoted_s;
    say(fmt::format("the device: {} = {}", part(model.compiled.compute, kernels, "kernels by themselves"),
                    to_text(Seconds{device_seconds(model, parts)})));
    const std::vector<std::string> beside{
        part(1, parts.overlappable_s + parts.exchanged_s, "measured collectives"),
        part(1 / model.compiled.wires, parts.overlappable_wire_s + parts.exchanged_wire_s,
             "collectives at the rates of links")};
    if (const std::string sum = sum_of(beside); !sum.empty()) {
        say(fmt::format("collectives: {} = {}; combined by the norm of order {}", sum,
                        to_text(Seconds{beside_seconds(model, parts)}), number_text(model.compiled.overlap)));
    }
    const StepClass of = class_of(model, parts);
    say(
        fmt::format("together {}, and never below the lower bound; the step is one program of XLA, without launches; "
                    "mean error {} %: {}, {}",
                    to_text(Seconds{*times.expected}), percent_text(of.error), class_text(of), held_out_text(of)));
    return sentences;
}

}  // namespace

std::vector<std::string> step_sentences(const StepTimes& times) {
    if (!times.expected || !times.parts) return {};
    if (times.parts->compiled) return compiled_sentences(times);
    const StepParts& parts = *times.parts;
    const StepModel& step_model = times.step_model;
    std::vector<std::string> sentences;
    const auto say = [&](std::string sentence) { sentences.push_back(std::move(sentence)); };
    constexpr double tera = 1e12;
    const double slow = kernel_slowdown(step_model, parts);
    const std::vector<std::string> device{
        part(slow * step_model.compute, parts.kernels_s, "kernels by themselves"),
        part(slow * step_model.narrow, parts.narrow_s, "kernels with matmuls in fewer than 16 bits"),
        part(slow * step_model.promoted, parts.promoted_s,
             "such kernels, accumulated in f32 outside of the matrix units"),
        part(1, parts.exchanged_s, "exposed collectives"),
        part(1 / step_model.wires, parts.exchanged_wire_s, "those without measurements")};
    say(fmt::format("the device: {} = {}", sum_of(device), to_text(Seconds{device_seconds(step_model, parts)})));
    if (parts.flops_per_joule > 0) {
        const std::string spare = parts.flops_per_joule < step_model.coolest
                                      ? fmt::format("; {} is used, the lowest of a chip with measured steps",
                                                    number_text(step_model.coolest / tera))
                                      : "";
        say(fmt::format(
            "the factors include {}, the cube root of the chip's {} TFLOP/s per watt{}, because power limits its clock",
            number_text(power_slowdown(step_model, parts)), number_text(parts.flops_per_joule / tera), spare));
    }
    say(fmt::format("the host: {} = {}; combined by the norm of order {}", launches_text(times),
                    to_text(Seconds{host_seconds(step_model, parts)}), number_text(step_model.overlap)));
    const double beside = beside_seconds(step_model, parts);
    const bool outlasts = exposed_seconds(step_model, parts) > exposed_share(step_model, parts) * beside;
    const double share = outlasts ? 1 : exposed_share(step_model, parts);
    const std::vector<std::string> exposed{
        part(share, parts.overlappable_s, "collectives that overlap with kernels"),
        part(share / step_model.wires, parts.overlappable_wire_s, "those without measurements")};
    std::string hidden = sum_of(exposed);
    if (outlasts)
        hidden += fmt::format(" - {} of device and host, which is shorter",
                              to_text(Seconds{beside - exposed_seconds(step_model, parts)}));
    if (!hidden.empty()) {
        say(fmt::format("exposed: {} = {}", hidden, to_text(Seconds{exposed_seconds(step_model, parts)})));
    }
    say(
        fmt::format("together {}, and never below the lower bound; factors fitted to {} published runs of {} "
                    "publishers; mean error "
                    "on held-out publishers {} %, of {} {} %",
                    to_text(Seconds{*times.expected}), grouped(step_model.rows), step_model.publishers,
                    percent_text(step_model.error), class_text(class_of(step_model, parts)),
                    percent_text(class_of(step_model, parts).error)));
    return sentences;
}

std::string step_derivation(const StepTimes& times) {
    std::string text;
    for (const std::string& sentence : step_sentences(times)) {
        text += "  " + wrapped(sentence, 2, 6, page_width) + "\n";
    }
    return text.empty() ? text : "Expected time of a step\n" + text;
}

std::string error_text(const StepTimes& times) {
    if (!times.expected || !times.parts) return "";
    const StepClass of = class_of(times.step_model, *times.parts);
    const double error = times.expected_error.value_or(of.error);
    std::string text = fmt::format("mean error {} %: {}, {}", percent_text(error), class_text(of), held_out_text(of));
    constexpr double shown = 0.005;
    if (error > of.error + shown)
        text += fmt::format(", mean error {} %; larger here because machines are uncalibrated or sizes extrapolated",
                            percent_text(of.error));
    if (*times.expected > times.upper) text += "; above the no-overlap time";
    return text;
}

std::string host_text(const StepTimes& times) {
    if (!times.expected || !times.parts) return "";
    const double host = host_seconds(times.step_model, *times.parts);
    if (host <= device_seconds(times.step_model, *times.parts)) return "";
    return fmt::format(
        "The step is launch-bound: {} take {}, longer than the kernels that they launch; graphs or larger microbatches "
        "shorten that.",
        launches_text(times), to_text(Seconds{host}));
}

}  // namespace roofline::core
