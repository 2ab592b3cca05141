// What reports of fits end with: the measurements that were not used, and the file that was written.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace roofline::core {

/// Numbers of measurements by the reason for which they were left out.
using LeftOut = std::vector<std::pair<std::string, std::int64_t>>;

[[nodiscard]] nlohmann::ordered_json left_out_json(const LeftOut& skipped);
/// Returns a line for each reason, and one for the file; nothing for what is empty.
[[nodiscard]] std::string left_out_text(const LeftOut& skipped, const std::string& file);

}  // namespace roofline::core
