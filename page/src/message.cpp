#include "message.hpp"

#include <cstring>

namespace roofline::page {

namespace {

// WebAssembly is little-endian.
bool take_number(std::string_view& list, std::uint32_t& number) {
    if (list.size() < sizeof number) return false;
    std::memcpy(&number, list.data(), sizeof number);
    list.remove_prefix(sizeof number);
    return true;
}

void add_number(std::string& list, std::size_t number) {
    const auto small = static_cast<std::uint32_t>(number);
    list.append(reinterpret_cast<const char*>(&small), sizeof small);
}

}  // namespace

std::vector<std::string_view> strings_of(std::string_view list) {
    std::vector<std::string_view> strings;
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;
    take_number(list, count);
    while (strings.size() < count && take_number(list, bytes) && bytes <= list.size()) {
        strings.push_back(list.substr(0, bytes));
        list.remove_prefix(bytes);
    }
    return strings;
}

std::string list_of(const std::vector<std::string_view>& strings) {
    std::size_t bytes = sizeof(std::uint32_t);
    for (const std::string_view text : strings) bytes += sizeof(std::uint32_t) + text.size();
    std::string list;
    list.reserve(bytes);
    add_number(list, strings.size());
    for (const std::string_view text : strings) {
        add_number(list, text.size());
        list += text;
    }
    return list;
}

}  // namespace roofline::page
