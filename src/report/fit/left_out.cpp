#include "report/fit/left_out.hpp"

#include <fmt/format.h>

namespace roofline::core {

nlohmann::ordered_json left_out_json(const LeftOut& skipped) {
    auto json = nlohmann::ordered_json::array();
    for (const auto& [reason, rows] : skipped) json.push_back({{"reason", reason}, {"rows", rows}});
    return json;
}

std::string left_out_text(const LeftOut& skipped, const std::string& file) {
    std::string text;
    if (!skipped.empty()) text += "\n  skipped\n";
    for (const auto& [reason, rows] : skipped) {
        text += fmt::format("  - {} row{}: {}\n", rows, rows == 1 ? "" : "s", reason);
    }
    if (!file.empty()) text += fmt::format("\n  written to {}\n", file);
    return text;
}

}  // namespace roofline::core
