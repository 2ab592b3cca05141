#include "model/config.hpp"

#include <algorithm>

namespace roofline {

const ConfigValue* ConfigValue::find(std::string_view key) const {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
    return found == members.end() ? nullptr : &found->second;
}

std::string_view kind_name(ConfigValue::Kind kind) {
    switch (kind) {
        case ConfigValue::Kind::null:
            return "null";
        case ConfigValue::Kind::boolean:
            return "true or false";
        case ConfigValue::Kind::whole:
            return "a whole number";
        case ConfigValue::Kind::real:
            return "a number with a fraction";
        case ConfigValue::Kind::text:
            return "a text";
        case ConfigValue::Kind::list:
            return "a list";
        case ConfigValue::Kind::table:
            break;
    }
    return "a table";
}

const ConfigValue* Config::find(std::string_view key) const {
    if (!language.empty()) {
        const ConfigValue* table = whole.find(language);
        const ConfigValue* value = table == nullptr ? nullptr : table->find(key);
        if (value != nullptr && !value->is_null()) return value;
    }
    const ConfigValue* value = whole.find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

std::string Config::path(std::string_view key) const {
    const bool outside = whole.find(key) != nullptr;
    const ConfigValue* table = language.empty() ? nullptr : whole.find(language);
    if (table == nullptr || (outside && table->find(key) == nullptr)) return std::string(key);
    return language + "." + std::string(key);
}

}  // namespace roofline
