#include "calibrate/model_groups.hpp"

namespace roofline::core {

ModelGroup models_of(CollectiveKind kind) { return {"law", "operation", std::string(collective_name(kind))}; }

ModelGroup models_of_kernels(KernelKind kind) { return {"kernel", "kind", std::string(name(kind))}; }

ModelGroup models_of_exchanges() { return {"exchange", "", ""}; }

bool ModelGroup::holds(TomlNode model) const { return key.empty() || text_in(model, key) == text; }

std::vector<TomlNode> models_in(TomlNode file, const ModelGroup& group) {
    std::vector<TomlNode> models;
    const TomlNode list = file ? file.find(group.list) : TomlNode();
    if (!list) return models;
    for (const TomlNode model : list) {
        if (group.holds(model)) models.push_back(model);
    }
    return models;
}

std::string_view text_in(TomlNode model, std::string_view key) {
    const TomlNode found = model.find(key);
    return found ? found.text() : std::string_view();
}

}  // namespace roofline::core
