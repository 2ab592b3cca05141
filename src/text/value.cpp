#include "text/value.hpp"

#include <algorithm>

namespace roofline::core {

const FileValue* FileValue::find(std::string_view key) const {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
    return found == members.end() ? nullptr : &found->second;
}

std::string_view kind_name(FileValue::Kind kind) {
    switch (kind) {
        case FileValue::Kind::null:
            return "null";
        case FileValue::Kind::boolean:
            return "true or false";
        case FileValue::Kind::whole:
            return "a whole number";
        case FileValue::Kind::real:
            return "a number with a fraction";
        case FileValue::Kind::text:
            return "a text";
        case FileValue::Kind::list:
            return "a list";
        case FileValue::Kind::table:
            break;
    }
    return "a table";
}

}  // namespace roofline::core
