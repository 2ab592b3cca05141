#include "predict/profile/operation_price.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "bound/network_pricing.hpp"
#include "bound/pricing.hpp"
#include "bound/times.hpp"
#include "import/profile/instruction_dtype.hpp"
#include "import/profile/kernel_class.hpp"
#include "import/profile/recorded_call.hpp"
#include "import/xla/fx/fx_text.hpp"
#include "notation/notation.hpp"
#include "predict/compare/predict_collective.hpp"
#include "predict/imported/module_answer.hpp"
#include "predict/predict.hpp"
#include "work/work.hpp"

namespace roofline::core {

namespace {

// Larger counts are not credible, and their sums would overflow.
constexpr double most_counted = 9e18;

OperationPrice unknown(std::string reason) {
    OperationPrice price;
    price.unknown = std::move(reason);
    return price;
}

/// On how many nodes the members of a group are, ranks being placed on nodes in their order: "[0, 8, 16, 24]" are on
/// four nodes of eight. Profilers cut long lists off; then the ranks go on by the step of those that are there. Without
/// ranks the members are taken to be neighbours.
std::int64_t nodes_of(std::string_view ranks, std::int64_t members, std::int64_t node) {
    if (node <= 0) return 1;
    std::vector<std::int64_t> known;
    while (true) {
        const std::size_t digit = ranks.find_first_of("0123456789");
        if (digit == std::string_view::npos) break;
        ranks.remove_prefix(digit);
        std::int64_t rank = 0;
        const auto [end, error] = std::from_chars(ranks.data(), ranks.data() + ranks.size(), rank);
        if (error != std::errc{}) break;
        known.push_back(rank);
        ranks.remove_prefix(static_cast<std::size_t>(end - ranks.data()));
    }
    const std::int64_t packed = (members + node - 1) / node;
    if (known.size() < 2 || static_cast<std::int64_t>(known.size()) > members) return packed;
    if (static_cast<std::int64_t>(known.size()) < members) {
        const std::int64_t step = known[1] - known[0];
        if (step < 1) return packed;
        return step >= node ? members : (members * step + node - 1) / node;
    }
    for (std::int64_t& rank : known) rank /= node;
    std::sort(known.begin(), known.end());
    return std::unique(known.begin(), known.end()) - known.begin();
}

/// Bytes of all arrays of a result.
std::int64_t bytes_of(const FxType& type) {
    std::int64_t bytes = 0;
    if (type.kind == FxType::Kind::tensor) {
        constexpr std::int64_t bits_of_byte = 8;
        bytes = (type.shape.elements() * type.shape.element->bits + bits_of_byte - 1) / bits_of_byte;
    }
    for (const FxType& item : type.items) bytes += bytes_of(item);
    return bytes;
}

}  // namespace

Result<OperationPricer> OperationPricer::make(SystemOverride on, std::string software,
                                              std::shared_ptr<Calibrations> calibrations) {
    ROOFLINE_TRY(auto whole, MeasuredSystems::make(on));
    ROOFLINE_TRY(auto groups, MeasuredSystems::make(SystemOverride{on.machine, ""}));
    return OperationPricer(std::move(on), std::move(software), std::move(whole), std::move(groups),
                           std::move(calibrations));
}

OperationPrice OperationPricer::price(const RecordedProfile& profile, const ProfiledOperation& operation) {
    // Collectives and copies are launched, too.
    OperationPrice price = operation.work == DeviceWork::collective ? price_collective(profile, operation)
                           : operation.work == DeviceWork::kernel   ? price_kernel(profile, operation)
                                                                    : price_copy(profile, operation);
    if (price.lower_s && !price.expected_s && floor_) price.floor_s = floor_->seconds;
    return price;
}

OperationPrice OperationPricer::price_kernel(const RecordedProfile& profile, const ProfiledOperation& operation) {
    if (operation.detail != no_index) {
        const EventDetail& detail = profile.details[operation.detail];
        const std::string_view category =
            detail.category == no_index ? std::string_view() : std::string_view(profile.text(detail.category));
        if (detail.flops >= 0 || detail.bytes >= 0) {
            const std::string& kernel = profile.text(operation.name());
            return price_counted(detail, kernel_class(operation.work, category, kernel), kernel);
        }
        if (detail.instruction != no_index) return unknown("the profile has neither FLOPs nor bytes of it");
    }
    if (operation.call != no_index) return price_call(profile, operation);
    return unknown("the operation that launched it is not in the profile");
}

OperationPrice OperationPricer::price_call(const RecordedProfile& profile, const ProfiledOperation& operation) {
    const HostCall& call = profile.calls[operation.call];
    const auto text = [&](std::uint32_t number) {
        return number == no_index ? std::string_view() : std::string_view(profile.text(number));
    };
    const bool tf32 = std::any_of(operation.kernels.begin(), operation.kernels.end(), [&](const ProfiledKernels& each) {
        return multiplies_tf32(profile.text(each.name));
    });
    std::string_view listed;
    for (const ProfiledKernels& each : operation.kernels) {
        if (listed.empty()) listed = listed_type(profile.text(each.name));
    }
    auto graph =
        graph_of({profile.text(call.name), text(call.shapes), text(call.types), text(call.values), tf32, listed});
    if (!graph) return unknown(graph.error().message);
    const std::int64_t written = bytes_of(graph->nodes[graph->nodes.size() - 2].type);
    auto module = make_fx_module(std::move(*graph), profile.text(call.name));
    if (!module) return unknown(module.error().message);
    // However many kernels it takes, no implementation can read inputs and write results less than once.
    fuse_entry(*module);
    auto slice = make_slice(on_.machine, "1");
    if (!slice) return unknown(slice.error().message);
    ModuleQuestion question;
    question.software = software_;
    const auto answer = answer_module(*module, profile.text(call.name), std::move(*slice), question, calibrations_);
    if (!answer) return unknown(answer.error().message);
    if (!answer->gaps.empty()) return unknown(answer->gaps.front());
    // A number that is stored, as by fill_() of one element: nothing is computed, and its bytes are written.
    if (!answer->prediction) return price_program("Y : uint8[N] = iota()", std::max<std::int64_t>(1, written));
    OperationPrice price = price_of(*answer->prediction);
    price.flops = answer->flops;
    price.bytes = answer->bytes;
    price.expected_error = answer->expected_error;
    return price;
}

OperationPrice OperationPricer::price_of(const Prediction& prediction) const {
    const Analysis& total = prediction.analysis.total;
    const std::vector<KernelWork>& kernels = prediction.analysis.work.kernels;
    OperationPrice price;
    price.lower_s = total.bounds.lower;
    price.expected_s = prediction.expected_s;
    price.expected_error = prediction.expected_error;
    if (const Resource* bound = total.bound_resource()) price.bound_by = bound->label;
    if (const Resource* memory = total.pricing.find("hbm")) {
        double bytes = 0;
        for (const Transfer& transfer : kernels.front().transfers) {
            if (const auto each = count(*prediction.local, transfer.bytes)) bytes += each->to_double();
        }
        price.resident_s = resident_bound(
            caches_, {total.least_seconds, static_cast<std::size_t>(memory - total.pricing.resources.data()),
                      memory->terms.front().rate.value, bytes, kernels.size()});
    }
    for (const Transfer& transfer : kernels.front().transfers) {
        if (price.dtype.empty() && !transfer.write)
            price.dtype = name(prediction.local->values[transfer.value].type.dtype);
    }
    for (const KernelWork& kernel : kernels) {
        const auto sizes = matmul_sizes(*prediction.local, kernel);
        price.matmuls.insert(price.matmuls.end(), sizes.begin(), sizes.end());
    }
    const auto runs = kernel_runs(*prediction.local, prediction.analysis, chip_traits(prediction.machine));
    if (kernels.size() != 1 || runs.size() != 1) {
        price.not_fitted = "the time covers several kernels that cannot be separated";
        return price;
    }
    price.kernel.emplace();
    price.kernel->machine = prediction.machine.id;
    price.kernel->key = kernel_key(*prediction.local, kernels.front());
    price.kernel->timed.point = runs.front().point;
    return price;
}

OperationPrice OperationPricer::price_collective(const RecordedProfile& profile, const ProfiledOperation& operation) {
    const EventDetail& detail = profile.details[operation.detail];
    if (!detail.collective) return unknown("which collective it is, its name does not say");
    if (operation.bytes <= 0) return unknown("the size of its message is not in the profile");
    if (detail.group <= 1) {
        return unknown(detail.group == 1 ? "a group of one device sends nothing" : "the size of its group is unknown");
    }
    MeasuredCollective row;
    row.system = on_.machine.id;
    row.members = detail.group;
    row.kind = *detail.collective;
    row.dtype = detail.dtype;
    row.bytes = static_cast<double>(operation.bytes);
    // PyTorch states the message of one member; all of them together hold the array that is exchanged.
    if (row.kind == CollectiveKind::all_to_all || row.kind == CollectiveKind::permute)
        row.bytes *= static_cast<double>(detail.group);
    row.software = software_;
    const std::int64_t node = groups_.chips_of_node(on_.machine.id);
    row.nodes = nodes_of(detail.ranks == no_index ? std::string_view() : std::string_view(profile.text(detail.ranks)),
                         row.members, node);
    const Result<MeasuredGroup>* group = &groups_.group(row);
    const bool packed = row.nodes == nodes_of("", row.members, node);
    if (!on_.shape.empty() && packed) {
        const Result<MeasuredGroup>& whole = whole_.group(row);
        if (whole) group = &whole;
    }
    if (!*group) return unknown(group->error().message);
    const PredictedTime time = predict(row, **group, *calibrations_);
    OperationPrice price;
    price.bytes = static_cast<double>(operation.bytes);
    price.lower_s = time.lower_s;
    price.expected_s = time.expected_s;
    price.expected_error = time.expected_error;
    if (row.dtype) price.dtype = name(*row.dtype);
    price.collective = sample_of(row, **group);
    if (!price.collective) price.not_fitted = "a collective of one chip sends nothing";
    const System& system = (*group)->on->system;
    const auto slowest = std::max_element(
        (*group)->load.tiers.begin(), (*group)->load.tiers.end(), [&](const TierLoad& a, const TierLoad& b) {
            const auto seconds = [&](const TierLoad& load) {
                const auto rate = rate_of(load, system);  // which the group has, or it would not be compared
                return rate ? load.link_bytes.to_double() / rate->value : 0;
            };
            return seconds(a) < seconds(b);
        });
    if (slowest != (*group)->load.tiers.end()) price.bound_by = name_of(*slowest, system).label;
    return price;
}

// A copy within the device reads and writes its memory; one from or to the host crosses the host's link.
OperationPrice OperationPricer::price_copy(const RecordedProfile& profile, const ProfiledOperation& operation) {
    if (operation.bytes <= 0) return unknown("its size is not in the profile");
    if (operation.work == DeviceWork::set) {
        OperationPrice price = price_program("Y : uint8[N] = iota()", operation.bytes);
        return price;
    }
    const std::string& name = profile.text(operation.name());
    const bool from_host = name.find("HtoD") != std::string::npos;
    const bool to_host = name.find("DtoH") != std::string::npos;
    if (name.find("PtoP") != std::string::npos) return unknown("a copy between devices");
    return price_program(
        fmt::format("X : uint8[N]{}\nY : uint8[N]{} = copy(X)", from_host ? " in host" : "", to_host ? " in host" : ""),
        operation.bytes);
}

OperationPrice OperationPricer::price_program(const std::string& text, std::int64_t size) {
    auto program = parse_program(text, "");
    if (!program) return unknown(program.error().message);
    program->sizes["N"] = size;
    System system;
    auto slice = make_slice(on_.machine, "1");
    if (!slice) return unknown(slice.error().message);
    system.slice = std::move(*slice);
    PredictOptions options;
    options.growth = false;
    options.software = software_;
    auto prediction = predict(std::move(*program), std::move(system), options, calibrations_);
    if (!prediction) return unknown(prediction.error().message);
    OperationPrice price = price_of(*prediction);
    price.bytes = static_cast<double>(size);
    price.kernel.reset();
    price.not_fitted = "no kernel model covers copies and memory sets";
    return price;
}

// XLA multiplies f32 at its default precision in TF32, or on a TPU in bf16.
std::optional<Dtype> OperationPricer::multiplied_dtype(const EventDetail& detail, std::string_view kernel) const {
    const std::optional<Dtype> stated = detail.dtype ? detail.dtype : dtype_of_kernel(kernel);
    if (stated != Dtype::f32) return stated;
    return on_.machine.peak(Unit::matmul, Dtype::tf32) != nullptr ? Dtype::tf32 : Dtype::bf16;
}

OperationPrice OperationPricer::price_counted(const EventDetail& detail, std::string_view kind,
                                              std::string_view kernel) {
    OperationPrice price;
    Work work;
    if (detail.flops > 0) {
        if (detail.flops > most_counted) return unknown("more FLOPs than can be counted");
        price.flops = detail.flops;
        const bool matrix = kind == "matmul" || kind == "convolution" || kind == "attention";
        if (matrix) {
            price.matmul_dtype = multiplied_dtype(detail, kernel);
            price.dtype_stated = price.matmul_dtype.has_value();
            if (!price.matmul_dtype) price.matmul_dtype = Dtype::bf16;
        }
        work.add_flops(matrix ? Unit::matmul : Unit::vector, matrix ? info(*price.matmul_dtype).arithmetic : Dtype::f32,
                       Polynomial{static_cast<std::int64_t>(std::llround(detail.flops))});
    }
    if (detail.bytes >= 0) {
        if (detail.bytes > most_counted) return unknown("more bytes than can be counted");
        price.bytes = detail.bytes;
        work.memory["hbm"].read = Polynomial{static_cast<std::int64_t>(std::llround(detail.bytes))};
    }
    const auto pricing = roofline::core::price(work, on_.machine);
    if (!pricing) return unknown(pricing.error().message);
    const CompiledTimes times(*pricing, {}, {});
    std::vector<double> seconds(times.places());
    const Bounds bounds = times.evaluate({}, seconds);
    price.lower_s = bounds.lower;
    if (bounds.bound_by) price.bound_by = pricing->resources[*bounds.bound_by].label;
    if (const Resource* memory = pricing->find("hbm")) {
        price.resident_s = resident_bound(caches_, {std::span(seconds).first(pricing->resources.size()),
                                                    static_cast<std::size_t>(memory - pricing->resources.data()),
                                                    memory->terms.front().rate.value, std::max(0.0, detail.bytes), 1});
    }
    price.not_fitted = "the profile has its FLOPs and bytes, but not the shapes that kernel models need";
    return price;
}

}  // namespace roofline::core
