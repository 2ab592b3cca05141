#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "import/xla/named/program_naming.hpp"

namespace roofline::core {

namespace {

// "", "b", "c" ... "z", "bb", "bc" ...: an "a" would be easy to miss.
std::string letters_of(std::size_t number) {
    constexpr std::size_t letters = 25;
    std::string text;
    for (; number > 0; number = (number - 1) / letters) {
        text.insert(text.begin(), static_cast<char>('b' + (number - 1) % letters));
    }
    return text;
}

}  // namespace

void DimNaming::count(const std::vector<DimClasses::Id>& parts) {
    for (const DimClasses::Id part : parts) {
        const auto [place, added] = uses_.try_emplace(part, Uses{0, uses_.size()});
        ++place->second.tensors;
    }
}

void DimNaming::assign(const DimClasses& classes) {
    std::vector<std::tuple<std::size_t, std::size_t, DimClasses::Id>> order;
    constexpr std::size_t most = ~std::size_t{0};
    for (const auto& [part, uses] : uses_) order.emplace_back(most - uses.tensors, uses.first, part);
    std::sort(order.begin(), order.end());
    std::map<std::int64_t, std::size_t> of_size;
    for (const auto& [fewer, first, part] : order) {
        const std::int64_t size = classes.size(part);
        names_[part] = fmt::format("D{}{}", size, letters_of(of_size[size]++));
    }
}

}  // namespace roofline::core
