#include "text/toml_value.hpp"

#include <string>

namespace roofline::core {

FileValue file_value(const toml::node& node) {
    FileValue value;
    if (const auto* whole = node.as_integer()) {
        value.kind = FileValue::Kind::whole;
        value.whole = whole->get();
        value.real = static_cast<double>(whole->get());
    } else if (const auto* real = node.as_floating_point()) {
        value.kind = FileValue::Kind::real;
        value.real = real->get();
    } else if (const auto* flag = node.as_boolean()) {
        value.kind = FileValue::Kind::boolean;
        value.boolean = flag->get();
    } else if (const auto* text = node.as_string()) {
        value.kind = FileValue::Kind::text;
        value.text = text->get();
    } else if (const auto* list = node.as_array()) {
        value.kind = FileValue::Kind::list;
        for (const toml::node& item : *list) value.items.push_back(file_value(item));
    } else if (const auto* table = node.as_table()) {
        value.kind = FileValue::Kind::table;
        for (const auto& [key, member] : *table) value.members.emplace_back(std::string(key.str()), file_value(member));
    }
    return value;
}

}  // namespace roofline::core
