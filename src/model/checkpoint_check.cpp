#include "model/checkpoint_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace roofline::core {

namespace {

constexpr std::int64_t outside = -1;

/// Tensors of one layer (all experts together): their names and numbers of elements.
using TensorSizes = std::map<std::string, std::int64_t>;

struct LayerTensors {
    std::int64_t sum = 0;
    TensorSizes tensors;

    void add(const std::string& name, std::int64_t elements) {
        sum += elements;
        tensors[name] += elements;
    }
};

std::string shape_text(const StoredTensor& tensor) { return fmt::format("[{}]", fmt::join(tensor.shape, ", ")); }

/// Tensors according to the program: those of each layer (the same for a whole group) and those outside of layers.
struct ExpectedTensors {
    LayerTensors rest;
    std::vector<LayerTensors> groups;
    std::vector<std::size_t> group_of;  ///< by layer
};

std::int64_t size_of(const Program& program, const Axis& axis) {
    const auto found = program.sizes.find(axis.dim);
    return found == program.sizes.end() ? 1 : found->second;
}

ExpectedTensors expected_of(const Model& model) {
    ExpectedTensors expected;
    expected.groups.resize(model.groups.size());
    expected.group_of.assign(static_cast<std::size_t>(model.layer_count), 0);
    for (std::size_t g = 0; g < model.groups.size(); ++g) {
        for (const std::int64_t layer : model.groups[g].layers) expected.group_of[static_cast<std::size_t>(layer)] = g;
    }
    for (std::size_t id = 0; id < model.program.values.size(); ++id) {
        const Value& value = model.program.values[id];
        if (!value.param || value.part == "mtp") continue;
        std::int64_t elements = 1;
        std::vector<std::string> dims;
        for (const Axis& axis : value.type.axes) {
            const std::int64_t size = size_of(model.program, axis);
            dims.push_back(std::to_string(size));
            if (__builtin_mul_overflow(elements, size, &elements)) elements = 0;  // no file has that many
        }
        const auto group = std::find_if(model.groups.begin(), model.groups.end(), [&](const LayerGroup& one) {
            return id >= one.values_before && id < one.values_after;
        });
        LayerTensors& side = group == model.groups.end()
                                 ? expected.rest
                                 : expected.groups[static_cast<std::size_t>(group - model.groups.begin())];
        side.add(fmt::format("{} [{}]", value.name, fmt::join(dims, ", ")), elements);
    }
    return expected;
}

/// Names of tensors for which the other side has no tensor of the same size.
std::vector<std::string> unmatched(const LayerTensors& here, const LayerTensors& there) {
    std::multimap<std::int64_t, std::string> sizes;
    for (const auto& [name, elements] : there.tensors) sizes.emplace(elements, name);
    std::vector<std::string> names;
    for (const auto& [name, elements] : here.tensors) {
        if (const auto same = sizes.find(elements); same != sizes.end()) {
            sizes.erase(same);
        } else {
            names.push_back(name);
        }
    }
    return names;
}

void compare(CheckpointCheck& check, std::int64_t layer, const LayerTensors& file, const LayerTensors& configuration) {
    check.in_file += file.sum;
    check.in_configuration += configuration.sum;
    if (file.sum == configuration.sum) return;
    TensorDifference difference{
        {}, file.sum, configuration.sum, unmatched(file, configuration), unmatched(configuration, file)};
    const auto alike =
        std::find_if(check.differences.begin(), check.differences.end(), [&](const TensorDifference& other) {
            return layer != outside && !other.layers.empty() && other.only_file == difference.only_file &&
                   other.only_configuration == difference.only_configuration && other.in_file == difference.in_file;
        });
    if (alike != check.differences.end()) {
        alike->layers.push_back(layer);
        return;
    }
    if (layer != outside) difference.layers.push_back(layer);
    check.differences.push_back(std::move(difference));
}

}  // namespace

CheckpointCheck check_checkpoint(const Checkpoint& checkpoint, const Model& model) {
    CheckpointCheck check;
    std::map<std::int64_t, LayerTensors> sides;
    // elements and last shape, by layer and name
    std::map<std::pair<std::int64_t, std::string>, std::pair<std::int64_t, std::string>> stacked;
    for (const StoredTensor& tensor : checkpoint.tensors) {
        if (use_of(tensor) != TensorUse::parameter) continue;
        const std::string part = part_of_tensor(tensor);
        const auto layer = layer_of_tensor(tensor.name);
        if (part == "vision") {
            check.vision += tensor.elements;
        } else if (part == "mtp" || (layer && *layer >= model.layer_count)) {
            check.further += tensor.elements;
        } else {
            auto& [elements, shape] = stacked[{layer.value_or(outside), name_in_layer(tensor.name)}];
            elements += tensor.elements;
            shape = shape_text(tensor);
        }
    }
    for (const auto& [place, size] : stacked)
        sides[place.first].add(fmt::format("{} {}", place.second, size.second), size.first);
    const ExpectedTensors expected = expected_of(model);
    compare(check, outside, sides[outside], expected.rest);
    for (std::int64_t layer = 0; layer < model.layer_count; ++layer) {
        compare(check, layer, sides[layer], expected.groups[expected.group_of[static_cast<std::size_t>(layer)]]);
    }
    return check;
}

}  // namespace roofline::core
