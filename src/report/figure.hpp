// The quantities that an answer reports. Each is defined once, with its key, label, unit and value, and all printed
// forms are derived from that definition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/table.hpp"

namespace roofline::core {

/// The value of a reported quantity: null if there is none, else a number, an integer, a boolean or a string. An array
/// or an object is a structure; only JSON prints it in full.
using FigureValue = nlohmann::ordered_json;

/// Formats a number with its unit for people: "1.2 ms".
using NumberText = std::string (*)(double value);

template <class Answer>
struct AnswerFigure {
    /// The path in JSON, "step.lower_s". A key that begins with '#' appears in tables only.
    std::string_view key;
    std::string_view label;  ///< for people; "" if no human-readable form prints it
    NumberText unit;         ///< null for strings, booleans and structures
    /// Null if the key only names a member of a structure, whose value comes from the structure.
    FigureValue (*value)(const Answer& answer);
    /// Replaces the value in human-readable forms; it returns "-" if there is nothing to print.
    std::string (*words)(const Answer& answer) = nullptr;
};

/// A column of a machine-readable table. A structure expands to one column per member; the member's name replaces '*'.
struct FigureColumn {
    std::string_view key;
    std::string_view head = {};  ///< heading; "" stands for the last component of the key
    bool words = false;          ///< cells contain the human-readable text
};

/// A row of a comparison of several answers.
struct FigureLine {
    std::string_view key;
    bool optional = false;  ///< omitted if no answer has it
};

/// Formatting of values in machine-readable tables.
struct CellStyle {
    int digits = 0;  ///< significant digits of a number; 0: as many as round-trip
    std::string_view yes = "yes";
    std::string_view no = "no";
};

/// Returns null for an empty optional.
template <class T>
[[nodiscard]] FigureValue figure_value(const std::optional<T>& value) {
    return value ? FigureValue(*value) : FigureValue();
}
[[nodiscard]] inline FigureValue figure_value(double value) { return value; }
/// Returns null for an empty string.
[[nodiscard]] inline FigureValue optional_string(const std::string& name) {
    return name.empty() ? FigureValue() : FigureValue(name);
}
/// Returns the value of a structure whose members are defined as quantities of their own: null if it is absent, and
/// then JSON omits its members.
[[nodiscard]] inline FigureValue group_value(bool present) { return present ? FigureValue::object() : FigureValue(); }
/// Returns the value of a quantity that JSON omits.
[[nodiscard]] inline FigureValue omitted_value() { return FigureValue::value_t::discarded; }

/// Formatters for the units of reported quantities.
[[nodiscard]] std::string in_seconds(double value);
[[nodiscard]] std::string in_bytes(double value);
[[nodiscard]] std::string in_flops(double value);
[[nodiscard]] std::string in_flop_rate(double value);
[[nodiscard]] std::string in_bandwidth(double value);
[[nodiscard]] std::string in_percent(double fraction);    ///< "43 %"
[[nodiscard]] std::string in_whole(double value);         ///< "1234567"
[[nodiscard]] std::string in_groups(double value);        ///< "1,234,567"
[[nodiscard]] std::string in_three_digits(double value);  ///< "1.23e+06"

namespace figures {

/// Sets a value at a path and creates missing objects on the way. Does nothing below a null.
void put(FigureValue& json, std::string_view path, FigureValue value);
/// Returns the member of a structure, null if it has none of this name.
[[nodiscard]] FigureValue member(const FigureValue& structure, const std::string& name);
[[nodiscard]] std::string value_text(const FigureValue& value, NumberText unit);
/// Returns a number with all digits and the unit that its key names: "step.lower_s" is in seconds. "" if it is none.
[[nodiscard]] std::string exact_text(const FigureValue& value, std::string_view key);
[[nodiscard]] std::string cell_text(const FigureValue& value, const CellStyle& style);
[[nodiscard]] std::string head_of(const FigureColumn& column, std::string_view member);
void drop_empty_line(Table& table);

}  // namespace figures

/// Returns the quantity with this key, which must exist; named() checks that at compile time.
template <class Figures>
[[nodiscard]] constexpr const auto& find_figure(const Figures& all, std::string_view key) {
    return *std::find_if(std::begin(all), std::end(all), [&](const auto& figure) { return figure.key == key; });
}

/// Whether each column or row refers to an existing quantity: for a static_assert next to the lists.
template <class Figures, class Items>
[[nodiscard]] consteval bool named(const Figures& all, const Items& items) {
    return std::ranges::all_of(items, [&](const auto& item) {
        return std::ranges::any_of(all, [&](const auto& figure) { return figure.key == item.key; });
    });
}

template <class Figures, class Answer>
[[nodiscard]] FigureValue value_of(const Figures& all, std::string_view key, const Answer& answer) {
    const auto& figure = find_figure(all, key);
    if (figure.value != nullptr) return figure.value(answer);
    const std::size_t dot = key.rfind('.');
    return figures::member(value_of(all, key.substr(0, dot), answer), std::string(key.substr(dot + 1)));
}

/// Returns the value for people, "-" if there is none.
template <class Figures, class Answer>
[[nodiscard]] std::string text_of(const Figures& all, std::string_view key, const Answer& answer) {
    const auto& figure = find_figure(all, key);
    if (figure.words != nullptr) return figure.words(answer);
    return figures::value_text(value_of(all, key, answer), figure.unit);
}

/// Returns all quantities in their order as a JSON object.
template <class Figures, class Answer>
[[nodiscard]] FigureValue json_of(const Figures& all, const Answer& answer) {
    FigureValue json = FigureValue::object();
    for (const auto& figure : all) {
        if (figure.value != nullptr && !figure.key.starts_with('#'))
            figures::put(json, figure.key, figure.value(answer));
    }
    return json;
}

/// Returns a table with one row per answer, for CSV and Markdown; columns for people have exact values.
template <class Figures, class Columns, class Answers>
[[nodiscard]] Table figure_table(const Figures& all, const Columns& columns, const Answers& answers,
                                 const CellStyle& style = {}) {
    Table table;
    table.rows.resize(answers.size());
    table.exact.resize(answers.size());
    for (const FigureColumn& column : columns) {
        const auto& figure = find_figure(all, column.key);
        std::vector<FigureValue> values;
        std::vector<std::string> members;  // union over all structures
        for (const auto& answer : answers) {
            values.push_back(column.words ? FigureValue(text_of(all, column.key, answer))
                                          : value_of(all, column.key, answer));
            if (!values.back().is_object()) continue;
            for (const auto& [name, value] : values.back().items()) {
                if (std::ranges::find(members, name) == members.end()) members.push_back(name);
            }
        }
        const auto add = [&](std::string head, const auto& pick) {
            table.head.push_back(std::move(head));
            table.right.push_back(figure.unit != nullptr);
            for (std::size_t i = 0; i < values.size(); ++i) {
                table.rows[i].push_back(figures::cell_text(pick(values[i]), style));
                if (!column.words) continue;
                table.exact[i].resize(table.rows[i].size());
                table.exact[i].back() = figures::exact_text(value_of(all, column.key, answers[i]), column.key);
            }
        };
        for (const std::string& name : members) {
            add(figures::head_of(column, name), [&](const FigureValue& value) { return figures::member(value, name); });
        }
        if (column.head.find('*') == std::string_view::npos)
            add(figures::head_of(column, ""), [](const FigureValue& value) { return value; });
    }
    return table;
}

/// Returns a table for people with one row per quantity and one column per answer. `heading` returns the heading of an
/// answer's column.
template <class Figures, class Lines, class Answers, class Heading>
[[nodiscard]] Table comparison_table(const Figures& all, const Lines& lines, const Answers& answers,
                                     const Heading& heading) {
    Table table;
    table.head = {""};
    table.right = {false};
    for (const auto& answer : answers) {
        table.head.push_back(heading(answer));
        table.right.push_back(true);
    }
    for (const FigureLine& line : lines) {
        table.rows.push_back({std::string(find_figure(all, line.key).label)});
        table.exact.push_back({""});
        for (const auto& answer : answers) {
            table.rows.back().push_back(text_of(all, line.key, answer));
            table.exact.back().push_back(figures::exact_text(value_of(all, line.key, answer), line.key));
        }
        if (line.optional) figures::drop_empty_line(table);
    }
    return table;
}

/// Serializes JSON on one line and replaces invalid UTF-8.
[[nodiscard]] std::string dumped(const FigureValue& json);
/// Returns {"schema":1,"machines":[...]} for answers that are JSON objects.
[[nodiscard]] std::string machines_json(const std::vector<std::string>& answers);
/// Formats each note as "  note: ..."; a note that several answers share is printed once.
[[nodiscard]] std::string notes_once(const std::vector<std::vector<std::string>>& notes);

}  // namespace roofline::core
