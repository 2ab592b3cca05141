#include "report/trace/kernel_label.hpp"

#include "report/table.hpp"

namespace roofline::core {

std::string kernel_label(std::string_view name, std::size_t width) {
    std::string_view text = name;
    if (text.starts_with("void ")) text.remove_prefix(5);
    constexpr std::string_view unnamed = "(anonymous namespace)::";
    std::string plain;
    while (!text.empty()) {
        if (text.starts_with(unnamed)) {
            text.remove_prefix(unnamed.size());
            continue;
        }
        if (!plain.empty() && (text.front() == '<' || text.front() == '(')) break;
        plain.push_back(text.front());
        text.remove_prefix(1);
    }
    while (!plain.empty() && plain.back() == ' ') plain.pop_back();
    const std::size_t colons = plain.rfind("::");
    if (colons != std::string::npos && colons + 2 < plain.size()) plain.erase(0, colons + 2);
    return fitted(plain, width);
}

}  // namespace roofline::core
