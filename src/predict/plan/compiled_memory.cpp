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

// The product of the marks of the axes over which a gathered tensor is still split.
std::int64_t staying_mark(const MarkedStage& stage, ValueId id) {
    const auto staying = stage.planned.stay.find(id);
    if (staying == stage.planned.stay.end()) return 1;
    std::vector<std::string> axes;
    for (const Axis& axis : stage.types[id].axes) {
        for (const std::string& name : axis.mesh) {
            if (has(staying->second, name)) axes.push_back(name);
        }
    }
    return core::mark_of(axes);
}

std::uint32_t place_of(const std::string& dim, const std::vector<std::string>& names) {
    return static_cast<std::uint32_t>(std::find(names.begin(), names.end(), dim) - names.begin());
}

}  // namespace

double CompiledMemory::value_of(const Product& product, std::span<const double> sizes) {
    double value = 1;
    for (const std::uint32_t size : product) value *= sizes[size];
    return value;
}

std::uint32_t CompiledMemory::product_of(std::vector<std::string> dims, const std::vector<std::string>& names) {
    Product product;
    for (const std::string& dim : dims) product.push_back(place_of(dim, names));
    std::sort(product.begin(), product.end());
    const auto known = std::find(products_.begin(), products_.end(), product);
    const auto place = static_cast<std::uint32_t>(known - products_.begin());
    if (known == products_.end()) products_.push_back(std::move(product));
    return place;
}

void CompiledMemory::add(Kind kind, Shared shared) {
    std::sort(shared.sizes.begin(), shared.sizes.end());
    for (Shared& each : shared_[kind]) {
        if (each.sizes != shared.sizes || each.mark != shared.mark) continue;
        each.scale += shared.scale;
        return;
    }
    shared_[kind].push_back(std::move(shared));
}

void CompiledMemory::add_shared(Kind kind, double scale, const MarkedStage& stage, const StepTensor& tensor,
                                const std::vector<std::string>& names) {
    Shared shared{scale, {}, tensor.value < stage.types.size() ? mark_of(stage.types[tensor.value]) : 1};
    for (const Axis& axis : stage.planned.step.program.values[tensor.value].type.axes) {
        shared.sizes.push_back(place_of(axis.dim, names));
    }
    for (const std::string& count : tensor.repeats) shared.sizes.push_back(place_of(count, names));
    add(kind, std::move(shared));
}

// As unit_memory(): the root and the last layer stay gathered where any parameter is sharded.
void CompiledMemory::add_units(const MarkedStage& stage, const std::vector<std::string>& names) {
    const TrainingProgram& step = stage.planned.step;
    std::vector<const StepTensor*> parameters;
    bool sharded = false;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role != StepRole::param || tensor.value >= stage.types.size()) continue;
        parameters.push_back(&tensor);
        sharded = sharded || mark_of(stage.types[tensor.value]) > staying_mark(stage, tensor.value);
    }
    if (!sharded) return;
    std::vector<std::string> last;
    for (const StepTensor* tensor : parameters) {
        if (!tensor->repeats.empty()) last = tensor->repeats;
    }
    for (const StepTensor* tensor : parameters) {
        if (!tensor->repeats.empty() && tensor->repeats != last) continue;
        const Value& value = step.program.values[tensor->value];
        Shared whole{info(value.type.dtype).bits / 8.0, {}, staying_mark(stage, tensor->value)};
        for (const Axis& axis : value.type.axes) whole.sizes.push_back(place_of(axis.dim, names));
        add(units, std::move(whole));
    }
}

void CompiledMemory::add_buffers(const MarkedStage& stage, const std::vector<std::string>& names) {
    const auto buffers = pipeline_buffers_of(stage.local);
    if (!buffers) return;
    const auto scaled = [&](ValueId id) {
        const Value& value = stage.local.values[id];
        return Scaled{info(value.type.dtype).bits / 8.0, product_of(dims_of(value.type), names)};
    };
    buffers_.push_back(scaled(buffers->output));
    if (buffers->gradients) buffers_.push_back(scaled(buffers->output));
    if (!stage.first) received_ = scaled(buffers->input);
}

Result<CompiledMemory> CompiledMemory::compile(const MarkedStage& stage, const FrameworkHabits& habits,
                                               const std::vector<std::string>& dims) {
    CompiledMemory memory;
    memory.reserved_ = habits.reserved;
    memory.context_bytes_ = habits.context_bytes;
    const TrainingProgram& step = stage.planned.step;
    for (const StepTensor& tensor : step.tensors) {
        if (tensor.role == StepRole::activation) continue;
        const Kind kind = tensor.role == StepRole::param      ? params
                          : tensor.role == StepRole::gradient ? gradients
                                                              : optimizer;
        const double bytes = info(step.program.values[tensor.value].type.dtype).bits / 8.0;
        memory.add_shared(kind, bytes, stage, tensor, dims);
    }
    if (habits.unfused) {
        for (const auto& [tensor, bytes] : unfused_tensors(step)) {
            memory.add_shared(unfused_results, bytes, stage, *tensor, dims);
        }
    }
    if (habits.fsdp_units) memory.add_units(stage, dims);
    if (habits.pipeline_buffers) memory.add_buffers(stage, dims);
    ROOFLINE_TRY(const auto held, live_tensors(step, stage.local, habits));
    memory.keep_largest(held, dims);
    return memory;
}

void CompiledMemory::keep_largest(const LiveTensors& held, const std::vector<std::string>& names) {
    std::vector<std::uint32_t> of_tensor;
    for (const LiveTensor& tensor : held.tensors) of_tensor.push_back(product_of(tensor.bytes.dims, names));
    std::vector<std::uint32_t> of_kept;
    for (const LiveTensor& tensor : held.kept) of_kept.push_back(product_of(tensor.bytes.dims, names));
    for (const auto& alternatives : held.largest_of) {
        auto& all = largest_of_.emplace_back();
        for (const std::vector<LiveBytes>& together : alternatives) {
            auto& sum = all.emplace_back();
            for (const LiveBytes& bytes : together) sum.push_back({bytes.scale, product_of(bytes.dims, names)});
        }
    }
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

double CompiledMemory::largest_stand_ins(std::span<const double> products) const {
    double all = 0;
    for (const auto& alternatives : largest_of_) {
        double most = 0;
        for (const std::vector<Scaled>& together : alternatives) {
            double sum = 0;
            for (const Scaled& each : together) sum += each.scale * products[each.product * in_flights];
            most = std::max(most, sum);
        }
        all += most;
    }
    return all;
}

double CompiledMemory::buffers(std::span<const double> products, double layers_in_flight, double microbatches) const {
    const auto bytes = [&](const Scaled& each) { return each.scale * products[each.product * in_flights]; };
    double all = 0;
    for (const Scaled& each : buffers_) all += microbatches * bytes(each);
    if (received_) all += std::max(microbatches - layers_in_flight, 0.0) * bytes(*received_);
    return all;
}

TrainingMemory CompiledMemory::evaluate(std::span<const double> sizes, const MeshDegrees& degrees,
                                        const InFlight& in_flight, std::int64_t microbatches) const {
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
    memory.reserved = reserved_;
    memory.context_bytes = context_bytes_;
    memory.params = sum_of(params, sizes, degrees);
    memory.gradients = sum_of(gradients, sizes, degrees);
    memory.optimizer = sum_of(optimizer, sizes, degrees);
    memory.activations = kept;
    peak += largest_stand_ins(values) + sum_of(units, sizes, degrees);
    peak = std::max(peak, sum_of(unfused_results, sizes, degrees));
    memory.working = std::max(peak - kept, 0.0) + buffers(values, in_flight.layers, static_cast<double>(microbatches));
    return memory;
}

}  // namespace roofline::core
