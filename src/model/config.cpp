#include "model/config.hpp"

namespace roofline::core {

const FileValue* Config::find(std::string_view key) const {
    if (!language.empty()) {
        const FileValue* table = whole.find(language);
        const FileValue* value = table == nullptr ? nullptr : table->find(key);
        if (value != nullptr && !value->is_null()) return value;
    }
    const FileValue* value = whole.find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

std::string Config::path(std::string_view key) const {
    const bool outside = whole.find(key) != nullptr;
    const FileValue* table = language.empty() ? nullptr : whole.find(language);
    if (table == nullptr || (outside && table->find(key) == nullptr)) return std::string(key);
    return language + "." + std::string(key);
}

}  // namespace roofline::core
