// Lists of words as they are written in sentences.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

namespace roofline::core {

/// Returns "1, 2 and 4"; "" for no items. Items are printed as fmt does.
template <class Item>
[[nodiscard]] std::string enumerated(const std::vector<Item>& items) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : i + 1 == items.size() ? " and " : ", ", items[i]);
    }
    return text;
}

}  // namespace roofline::core
