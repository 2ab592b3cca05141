#include "report/figure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>

#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

std::string in_seconds(double value) { return to_text(Seconds{value}); }
std::string in_bytes(double value) { return to_text(Bytes{value}); }
std::string in_flops(double value) { return to_text(Flops{value}); }
std::string in_flop_rate(double value) { return to_text(FlopRate{value}); }
std::string in_bandwidth(double value) { return to_text(Bandwidth{value}); }
std::string in_percent(double fraction) { return percent_text(fraction) + " %"; }
std::string in_whole(double value) { return fmt::format("{:.0f}", value); }
std::string in_groups(double value) { return grouped(static_cast<std::int64_t>(value)); }
std::string in_three_digits(double value) { return fmt::format("{:.3g}", value); }

namespace {

// The unit that a key names.
std::string_view unit_of(std::string_view key) {
    const std::string_view last = key.substr(key.find_last_of(".#") + 1);
    if (last.find("usd_per") != std::string_view::npos) return "USD";
    if (last.find("per_s") != std::string_view::npos) return "/s";
    if (last == "flops" || last == "train_flops") return "FLOP";
    if (key.find("bytes") != std::string_view::npos) return "B";
    if (last.starts_with("usd")) return "USD";
    if (last.ends_with("_j")) return "J";
    if (last.ends_with("_w")) return "W";
    const bool seconds = last.ends_with("_s") || key.find("time_s.") != std::string_view::npos;
    return seconds || key.find("seconds") != std::string_view::npos ? "s" : "";
}

}  // namespace

namespace figures {

void put(FigureValue& json, std::string_view path, FigureValue value) {
    if (value.is_discarded()) return;
    FigureValue* place = &json;
    for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
        const std::string name(path.substr(0, dot));
        path.remove_prefix(dot + 1);
        if (!place->contains(name)) (*place)[name] = FigureValue::object();
        place = &(*place)[name];
        if (place->is_null()) return;
    }
    (*place)[std::string(path)] = std::move(value);
}

FigureValue member(const FigureValue& structure, const std::string& name) {
    return structure.is_object() && structure.contains(name) ? structure.at(name) : FigureValue();
}

std::string value_text(const FigureValue& value, NumberText unit) {
    if (value.is_null()) return "-";
    return unit != nullptr && value.is_number() ? unit(value.get<double>()) : cell_text(value, {});
}

std::string exact_text(const FigureValue& value, std::string_view key) {
    return value.is_number() ? exact_number(value.get<double>(), unit_of(key)) : "";
}

std::string cell_text(const FigureValue& value, const CellStyle& style) {
    if (value.is_null()) return "";
    if (value.is_boolean()) return std::string(value.get<bool>() ? style.yes : style.no);
    if (value.is_string()) return value.get<std::string>();
    if (value.is_array()) return fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), " "));
    if (!value.is_number_float()) return value.dump();
    const auto number = value.get<double>();
    return style.digits > 0 ? fmt::format("{:.{}g}", number, style.digits) : fmt::format("{}", number);
}

std::string head_of(const FigureColumn& column, std::string_view member) {
    if (column.head.empty()) return std::string(column.key.substr(column.key.find_last_of(".#") + 1));
    std::string head(column.head);
    if (const std::size_t star = head.find('*'); star != std::string::npos) head.replace(star, 1, member);
    return head;
}

void drop_empty_line(Table& table) {
    const std::vector<std::string>& row = table.rows.back();
    if (std::all_of(row.begin() + 1, row.end(), [](const std::string& cell) { return cell == "-"; })) {
        table.rows.pop_back();
        table.exact.resize(table.rows.size());
    }
}

}  // namespace figures

std::string dumped(const FigureValue& json) { return json.dump(-1, ' ', false, FigureValue::error_handler_t::replace); }

std::string machines_json(const std::vector<std::string>& answers) {
    return fmt::format("{{\"schema\":1,\"machines\":[{}]}}\n", fmt::join(answers, ","));
}

std::string notes_once(const std::vector<std::vector<std::string>>& notes) {
    std::vector<std::string> said;
    for (const std::vector<std::string>& of_one : notes) {
        for (const std::string& note : of_one) {
            if (std::find(said.begin(), said.end(), note) == said.end()) said.push_back(note);
        }
    }
    std::string text;
    for (const std::string& note : said) text += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
    return text;
}

}  // namespace roofline::core
