#include "report/fit/exchange_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "units/text.hpp"

namespace roofline::core {

Table exchange_models(const std::vector<Calibration>& calibrations, bool raw) {
    Table table;
    if (raw) {
        table.head = {"machine",     "system",       "over",          "step",          "software",
                      "variant",     "members",      "rows",          "left_out",      "error_fitted",
                      "error_sizes", "error_shapes", "error_members", "error_relative"};
    } else {
        table.head = {"machine", "over",     "step",      "software",  "members", "rows",
                      "fitted",  "size out", "shape out", "count out", "relative"};
    }
    table.right.assign(table.head.size(), true);
    std::fill_n(table.right.begin(), raw ? 6 : 4, false);
    const auto error = [&](const std::optional<double>& value) {
        if (!value) return std::string(raw ? "" : "-");
        return raw ? fmt::format("{:.4g}", *value) : percent_text(*value);
    };
    for (const Calibration& calibration : calibrations) {
        for (const CalibratedExchange& exchange : calibration.exchanges) {
            const ExchangeKey& key = exchange.key;
            std::vector<std::string> cells{calibration.machine};
            if (raw) cells.push_back(key.system);
            cells.push_back(key.tiers);
            cells.emplace_back(exchange_name(key.step));
            cells.push_back(raw || key.variant.empty() ? key.software : key.software + " " + key.variant);
            if (raw) cells.push_back(key.variant);
            cells.push_back(std::to_string(key.members));
            cells.push_back(raw ? std::to_string(exchange.rows) : grouped(exchange.rows));
            if (raw) cells.push_back(std::to_string(exchange.left_out));
            const ExchangeErrors& errors = exchange.errors;
            for (const std::optional<double>& each : {std::optional(errors.fitted), std::optional(errors.sizes),
                                                      errors.shapes, errors.members, errors.relative})
                cells.push_back(error(each));
            table.rows.push_back(std::move(cells));
        }
    }
    return table;
}

nlohmann::ordered_json exchanges_json(const std::vector<Calibration>& calibrations) {
    using Json = nlohmann::ordered_json;
    const auto optional = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
    Json models = Json::array();
    for (const Calibration& calibration : calibrations) {
        for (const CalibratedExchange& exchange : calibration.exchanges) {
            Json each;
            each["machine"] = calibration.machine;
            each["system"] = exchange.key.system;
            each["tiers"] = exchange.key.tiers;
            each["step"] = exchange_name(exchange.key.step);
            each["software"] = exchange.key.software;
            each["variant"] = exchange.key.variant;
            each["members"] = exchange.key.members;
            each["rows"] = exchange.rows;
            each["left_out"] = exchange.left_out;
            each["error"] = {{"fitted", exchange.errors.fitted},
                             {"sizes", exchange.errors.sizes},
                             {"shapes", optional(exchange.errors.shapes)},
                             {"members", optional(exchange.errors.members)},
                             {"relative", optional(exchange.errors.relative)}};
            models.push_back(std::move(each));
        }
    }
    return models;
}

}  // namespace roofline::core
