#include "import/table_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ascii.hpp"

namespace roofline::core {

std::optional<std::size_t> find_column(const std::vector<std::string>& columns,
                                       std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        const auto found = std::find(columns.begin(), columns.end(), name);
        if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
    }
    return std::nullopt;
}

std::vector<ScaledColumn> time_columns(const std::vector<std::string>& columns) {
    std::vector<ScaledColumn> times;
    if (const auto at = find_column(columns, {"time_s"})) times.push_back({*at, 1});
    if (const auto at = find_column(columns, {"time_ms"})) times.push_back({*at, 1e3});
    if (const auto at = find_column(columns, {"time_us"})) times.push_back({*at, 1e6});
    return times;
}

std::string_view TableFields::text(std::optional<std::size_t> at) const {
    return at ? trimmed(reader_.record()[*at].text) : std::string_view{};
}

Result<double> TableFields::number(std::size_t at) const {
    const CsvField& field = reader_.record()[at];
    const std::string_view digits = trimmed(field.text);
    if (digits.empty()) return 0.0;
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(value) || value <= 0) {
        return reader_.fail_at(
            field.offset, "bad_number",
            fmt::format("{} in column `{}` is not a positive number", in_ticks(digits), reader_.header()[at]),
            "write a positive number, or leave the field empty if it is unknown");
    }
    return value;
}

Result<std::int64_t> TableFields::whole(std::size_t at) const {
    ROOFLINE_TRY(const auto value, number(at));
    constexpr double most = 9e18;
    if (value > most || value != std::floor(value)) {
        const CsvField& field = reader_.record()[at];
        return reader_.fail_at(field.offset, "bad_number",
                               fmt::format("{} in column `{}` is not a whole number below 9e18",
                                           in_ticks(trimmed(field.text)), reader_.header()[at]));
    }
    return static_cast<std::int64_t>(value);
}

Result<double> TableFields::seconds(const std::vector<ScaledColumn>& times) const {
    for (const ScaledColumn& each : times) {
        const auto value = number(each.index);
        if (!value || *value > 0) return value ? Result<double>(*value / each.per) : value;
    }
    return 0.0;
}

}  // namespace roofline::core
