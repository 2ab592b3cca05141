#include "calibrate/compiled_expected.hpp"

#include <algorithm>

#include "bound/network_pricing.hpp"

namespace roofline::core {

namespace {

/// Removes the dimensions that are swept.
Sizes without(Sizes sizes, const std::vector<std::string>& swept) {
    for (const std::string& dim : swept) sizes.erase(dim);
    return sizes;
}

}  // namespace

CompiledExpected::CompiledExpected(const Program& program, const ProgramAnalysis& analysis, const System& system,
                                   const ProgramModels& models, const std::vector<std::string>& swept) {
    const Sizes fixed = without(program.sizes, swept);
    const ChipTraits chip = chip_traits(system.machine());
    traffic_ = program_traffic(analysis, swept, fixed);
    std::vector<std::size_t> place(models.kernels.size(), 0);  // in kernels_
    for (std::size_t i = 0; i < models.kernels.size(); ++i) {
        if (models.kernels[i] == nullptr) continue;
        if (const std::size_t like = analysis.work.kernels[i].like;
            like < i && models.kernels[like] == models.kernels[i]) {
            kernels_[place[like]].alike += 1;
            continue;
        }
        place[i] = kernels_.size();
        const KernelFit& fit = models.kernels[i]->fit;
        const Growths& growths = built_in_extrapolation().of(models.kernels[i]->key.kind);
        kernels_.push_back(
            {CompiledKernel(analysis, i, chip, swept, fixed), fit, models.error_of(i), nullptr, 0, &growths, nullptr});
        if (i < models.quantised.size() && models.quantised[i] != nullptr)
            kernels_.back().quantised = &models.quantised[i]->fit;
        if (i < models.others.size() && models.others[i] != nullptr) {
            kernels_.back().other = models.others[i];
            kernels_.back().other_error = std::max(kernels_.back().error, error_of_other(*models.others[i]));
        }
        places_ = std::max(places_, kernels_.back().compiled.places());
    }
    // calibrated parameters refer to the actual traffic of the links, so a textbook approximation of the bounds does
    // not apply
    System wires = system;
    wires.collectives = {};
    std::vector<WeightedSum> sums;
    for (std::size_t i = 0; i < models.messages.size(); ++i) {
        const MessageWork& each = analysis.total.work.messages[i];
        const auto load = load_of(each.message, wires);
        if (!models.messages[i] || !load) continue;
        constexpr double many = 1e18;
        const auto point = collective_point(*load, wires, 1);
        const auto latency = time_of(*load, wires, 0);
        const auto transfer = time_of(*load, wires, many);
        if (!point || !latency || !transfer) continue;
        message_models_.push_back({*models.messages[i], *point, transfer->lower_s / many, latency->lower_s});
        const std::size_t first = sums.size();
        sums.resize(first + counts_of_message);
        sums[first + bytes_place] = {{each.message.bytes, 1.0}};
        sums[first + times_place] = {{each.count, 1.0}};
        message_models_.back().lower_s_per_byte *= models.messages[i]->sent;
        if (!models.messages[i]->exchange) continue;
        const ExpertRows& routed = models.messages[i]->exchange->rows;
        MessageModel& model = message_models_.back();
        model.wires = exchange_links(*load, axes_of(each.message, wires), wires.slice);
        model.choices = routed.choices;
        sums[first + row_bytes_place] = {{routed.row_bytes, 1.0}};
        sums[first + experts_place] = {{routed.experts, 1.0}};
        // of a token that goes to several experts, only one copy is certain to cross the network
        model.lower_s_per_byte *= each.message.sure.to_double();
    }
    messages_ = CompiledSums(sums, swept, fixed);
    places_ = std::max(places_, messages_.size());
}

double CompiledExpected::seconds(const MessageModel& model, std::span<const double> counts) {
    const double bytes = counts[bytes_place];
    const double lower = std::max(bytes * model.lower_s_per_byte, model.latency_s);
    if (model.expected.exchange && model.wires) {
        const RoutedTokens tokens =
            routed_tokens(bytes, model.choices, counts[experts_place], counts[row_bytes_place], *model.wires);
        return std::max(seconds_of(model.expected.exchange->model->model, exchange_point(tokens, *model.wires)), lower);
    }
    CollectivePoint point = model.point_per_byte;
    for (double* const part : {&point.buffer_bytes, &point.wire_s, &point.buffer_s}) {
        *part *= bytes * model.expected.sent;
    }
    return std::max(seconds_of(model.expected, point), lower);
}

ExpectedProgramTime CompiledExpected::evaluate(std::span<const double> sizes, std::span<double> scratch) const {
    ExpectedProgramTime total;
    const auto add = [&](double seconds, double error) {
        total.seconds += seconds;
        total.error += seconds * error;
    };
    double traffic = 0;
    traffic_.evaluate(sizes, {&traffic, 1});
    double math_s = 0;
    double vector_s = 0;
    double memory_s = 0;
    for (const Kernel& kernel : kernels_) {
        const auto runs = kernel.compiled.evaluate(sizes, traffic, scratch);
        if (!(runs.count > 0)) continue;
        const double times = kernel.alike * runs.count;
        math_s += times * runs.point.math_s;
        vector_s += times * runs.point.vector_s;
        memory_s += times * runs.point.memory_s;
        const double share = kernel.other != nullptr ? share_of(*kernel.other, kernel.fit, runs.point) : 0;
        const double inside = kernel.error + share * (kernel.other_error - kernel.error);
        const KernelFit& mainly = share > 0.5 ? kernel.other->fit : kernel.fit;
        const double error = inside + added_error(mainly, *kernel.growths, kernel.quantised, runs.point);
        add(times * seconds_of(kernel.fit, kernel.other, runs.point), error);
    }
    messages_.evaluate(sizes, scratch.first(messages_.size()));
    for (std::size_t i = 0; i < message_models_.size(); ++i) {
        const std::span<const double> counts = scratch.subspan(i * counts_of_message, counts_of_message);
        if (!(counts[bytes_place] > 0)) continue;
        const double all_s = counts[times_place] * seconds(message_models_[i], counts);
        total.collectives_s += all_s;
        add(all_s, message_models_[i].expected.error);
    }
    total.bound_s = std::max({math_s, vector_s, memory_s});
    if (total.seconds > 0) total.error /= total.seconds;
    return total;
}

}  // namespace roofline::core
