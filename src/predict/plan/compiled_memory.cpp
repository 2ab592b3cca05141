#include "predict/plan/compiled_memory.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace roofline::core {

namespace {

constexpr std::size_t in_flights = 3;  // held once, by layers and by others in flight

// Whether one place never holds more than another.
bool never_more(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i]) return false;
    }
    return true;
}

std::int64_t mark_of(const TensorType& type) {
    std::int64_t mark = 1;
    for (const Axis& axis : type.axes) mark *= core::mark_of(axis.mesh);
    return mark;
}

}  // namespace

double CompiledMemory::value_of(const Product& product, std::span<const double> sizes) {
    double value = 1;
    for (const std::uint32_t size : product) value *= sizes[size];
    return value;
}

std::uint32_t CompiledMemory::product_of(std::vector<std::string> dims, const std::vector<std::string>& names) {
    Product product;
    for (const std::string& dim : dims) {
        product.push_back(static_cast<std::uint32_t>(std::find(names.begin(), names.end(), dim) - names.begin()));
    }
    std::sort(product.begin(), product.end());
    const auto known = std::find(products_.begin(), products_.end(), product);
    const auto place = static_cast<std::uint32_t>(known - products_.begin());
    if (known == products_.end()) products_.push_back(std::move(product));
    return place;
}

void CompiledMemory::add_shared(Kind kind, double scale, const Program& program, const StepTensor& tensor,
                                const std::vector<TensorType>& types, const std::vector<std::string>& names) {
    Shared shared{scale, {}, tensor.value < types.size() ? mark_of(types[tensor.value]) : 1};
    const auto add = [&](const std::string& dim) {
        shared.sizes.push_back(static_cast<std::uint32_t>(std::find(names.begin(), names.end(), dim) - names.begin()));
    };
    for (const Axis& axis : program.values[tensor.value].type.axes) add(axis.dim);
    for (const std::string& count : tensor.repeats) add(count);
    std::sort(shared.sizes.begin(), shared.sizes.end());
    for (Shared& each : shared_[kind]) {
        if (each.sizes != shared.sizes || each.mark != shared.mark) continue;
        each.scale += scale;
        return;
    }
    shared_[kind].push_back(std::move(shared));
}

Result<CompiledMemory> CompiledMemory::compile(const TrainingProgram& step, const Program& local,
                                               const std::vector<TensorType>& types, bool unfused,
                                               const std::vector<std::string>& dims) {
    CompiledMemory memory;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role == StepRole::activation) continue;
        const Kind kind = tensor.role == StepRole::param      ? params
                          : tensor.role == StepRole::gradient ? gradients
                                                              : optimizer;
        const double bytes = info(step.program.values[tensor.value].type.dtype).bits / 8.0;
        memory.add_shared(kind, bytes, step.program, tensor, types, dims);
    }
    if (unfused) {
        for (const auto& [tensor, bytes] : unfused_tensors(step)) {
            memory.add_shared(unfused_results, bytes, step.program, *tensor, types, dims);
        }
    }
    FrameworkHabits habits;
    habits.unfused = unfused;
    ROOFLINE_TRY(const auto held, live_tensors(step, local, habits));
    memory.keep_largest(held, dims);
    return memory;
}

void CompiledMemory::keep_largest(const LiveTensors& held, const std::vector<std::string>& names) {
    std::vector<std::uint32_t> of_tensor;
    for (const LiveTensor& tensor : held.tensors) of_tensor.push_back(product_of(tensor.bytes.dims, names));
    std::vector<std::uint32_t> of_kept;
    for (const LiveTensor& tensor : held.kept) of_kept.push_back(product_of(tensor.bytes.dims, names));
    const std::size_t width = products_.size() * in_flights;
    const auto place_in = [](std::uint32_t product, LiveTimes times) {
        return product * in_flights + static_cast<std::size_t>(times);
    };
    std::map<std::size_t, std::vector<std::pair<std::size_t, double>>> at;
    for (std::size_t i = 0; i < held.tensors.size(); ++i) {
        const LiveTensor& tensor = held.tensors[i];
        const std::size_t product = place_in(of_tensor[i], tensor.times);
        at[tensor.first].emplace_back(product, tensor.bytes.scale);
        at[tensor.last + 1].emplace_back(product, -tensor.bytes.scale);
    }
    std::vector<double> now(width, 0);
    for (const auto& [place, all] : at) {
        for (const auto& [product, bytes] : all) now[product] += bytes;
        if (std::any_of(places_.begin(), places_.end(), [&](const auto& other) { return never_more(now, other); })) {
            continue;
        }
        std::erase_if(places_, [&](const auto& other) { return never_more(other, now); });
        places_.push_back(now);
    }
    std::vector<double> kept(width, 0);
    for (std::size_t i = 0; i < held.kept.size(); ++i) {
        kept[place_in(of_kept[i], held.kept[i].times)] += held.kept[i].bytes.scale;
    }
    places_.push_back(std::move(kept));
}

double CompiledMemory::sum_of(Kind kind, std::span<const double> sizes, const MeshDegrees& degrees) const {
    double sum = 0;
    for (const Shared& each : shared_[kind]) {
        sum += each.scale * value_of(each.sizes, sizes) / static_cast<double>(degree_of(degrees, each.mark));
    }
    return sum;
}

TrainingMemory CompiledMemory::evaluate(std::span<const double> sizes, const MeshDegrees& degrees,
                                        const InFlight& in_flight) const {
    const std::array<double, in_flights> times{1, in_flight.layers, in_flight.others};
    std::vector<double> values;
    values.reserve(products_.size() * in_flights);
    for (const Product& product : products_) {
        const double value = value_of(product, sizes);
        for (const double each : times) values.push_back(value * each);
    }
    double peak = 0;
    double kept = 0;
    for (std::size_t place = 0; place < places_.size(); ++place) {
        double bytes = 0;
        for (std::size_t i = 0; i < values.size(); ++i) bytes += places_[place][i] * values[i];
        if (place + 1 == places_.size()) {
            kept = bytes;
        } else {
            peak = std::max(peak, bytes);
        }
    }
    TrainingMemory memory;
    memory.params = sum_of(params, sizes, degrees);
    memory.gradients = sum_of(gradients, sizes, degrees);
    memory.optimizer = sum_of(optimizer, sizes, degrees);
    memory.activations = kept;
    peak = std::max(peak, sum_of(unfused_results, sizes, degrees));
    memory.working = std::max(peak - kept, 0.0);
    return memory;
}

}  // namespace roofline::core
