#include "calibrate/law_groups.hpp"

namespace roofline::core {

LawGroup laws_of(CollectiveKind kind) { return {"law", "operation", std::string(collective_name(kind))}; }

LawGroup laws_of_kernels(KernelKind kind) { return {"kernel", "kind", std::string(name(kind))}; }

LawGroup laws_of_exchanges() { return {"exchange", "", ""}; }

bool LawGroup::holds(TomlNode law) const { return key.empty() || text_in(law, key) == text; }

std::vector<TomlNode> laws_in(TomlNode file, const LawGroup& group) {
    std::vector<TomlNode> laws;
    const TomlNode list = file ? file.find(group.list) : TomlNode();
    if (!list) return laws;
    for (const TomlNode law : list) {
        if (group.holds(law)) laws.push_back(law);
    }
    return laws;
}

std::string_view text_in(TomlNode law, std::string_view key) {
    const TomlNode found = law.find(key);
    return found ? found.text() : std::string_view();
}

}  // namespace roofline::core
