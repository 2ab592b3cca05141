// The figures of an answer. Each is named once, with its key, label, unit and value, and every printed form is made of
// that.
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

/// What a figure comes to: null where there is none, a number, a whole number, yes or no, or a text. A list or an
/// object is a structure, which JSON has in full.
using FigureValue = nlohmann::ordered_json;

/// How people read a number: in its unit, "1.2 ms".
using NumberText = std::string (*)(double value);

template <class Answer>
struct AnswerFigure {
    /// The path in JSON, "step.lower_s". A figure with a '#' before its key stands in tables alone.
    std::string_view key;
    std::string_view label;  ///< for people; "" where no form for people has it
    NumberText unit;         ///< null for texts, yes and no, and structures
    /// Null of a figure that only names a member of a structure: the structure's value holds its value.
    FigureValue (*value)(const Answer& answer);
    std::string (*words)(const Answer& answer) = nullptr;  ///< for people in the place of the value; "-" for nothing
};

/// A column of a table for programs. A structure is a column for each of its members, whose name stands in for '*'.
struct FigureColumn {
    std::string_view key;
    std::string_view head = {};  ///< "": the last part of the key
    bool words = false;          ///< its cells are what people read
};

/// A line of a comparison of several answers.
struct FigureLine {
    std::string_view key;
    bool optional = false;  ///< left out where no answer has it
};

/// How tables for programs write values.
struct CellStyle {
    int digits = 0;  ///< significant ones of a number; 0: as many as it has
    std::string_view yes = "yes";
    std::string_view no = "no";
};

/// Null for none.
template <class T>
[[nodiscard]] FigureValue figure_value(const std::optional<T>& value) {
    return value ? FigureValue(*value) : FigureValue();
}
[[nodiscard]] inline FigureValue figure_value(double value) { return value; }
/// Null for an empty text.
[[nodiscard]] inline FigureValue name_value(const std::string& name) {
    return name.empty() ? FigureValue() : FigureValue(name);
}
/// Of a structure whose members are figures of their own: null where there is none, and then JSON leaves its members
/// out.
[[nodiscard]] inline FigureValue group_value(bool present) { return present ? FigureValue::object() : FigureValue(); }
/// Of a figure that JSON leaves out.
[[nodiscard]] inline FigureValue absent() { return FigureValue::value_t::discarded; }

/// The units of figures.
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

/// Puts a value at a path, below objects that are made where there are none; not below null.
void put(FigureValue& json, std::string_view path, FigureValue value);
/// The member of a structure, null where it has none.
[[nodiscard]] FigureValue member(const FigureValue& structure, const std::string& name);
[[nodiscard]] std::string value_text(const FigureValue& value, NumberText unit);
[[nodiscard]] std::string cell_text(const FigureValue& value, const CellStyle& style);
[[nodiscard]] std::string head_of(const FigureColumn& column, std::string_view member);
void drop_empty_line(Table& table);

}  // namespace figures

/// The figure with a key. The key must be one of them; see named().
template <class Figures>
[[nodiscard]] constexpr const auto& find_figure(const Figures& all, std::string_view key) {
    return *std::find_if(std::begin(all), std::end(all), [&](const auto& figure) { return figure.key == key; });
}

/// Whether each of the columns or lines is of a figure: for a static_assert beside the lists.
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

/// The value for people, "-" for nothing.
template <class Figures, class Answer>
[[nodiscard]] std::string text_of(const Figures& all, std::string_view key, const Answer& answer) {
    const auto& figure = find_figure(all, key);
    if (figure.words != nullptr) return figure.words(answer);
    return figures::value_text(value_of(all, key, answer), figure.unit);
}

/// The figures in their order as a JSON object.
template <class Figures, class Answer>
[[nodiscard]] FigureValue json_of(const Figures& all, const Answer& answer) {
    FigureValue json = FigureValue::object();
    for (const auto& figure : all) {
        if (figure.value != nullptr && !figure.key.starts_with('#'))
            figures::put(json, figure.key, figure.value(answer));
    }
    return json;
}

/// A row for each answer: for CSV and Markdown.
template <class Figures, class Columns, class Answers>
[[nodiscard]] Table figure_table(const Figures& all, const Columns& columns, const Answers& answers,
                                 const CellStyle& style = {}) {
    Table table;
    table.rows.resize(answers.size());
    for (const FigureColumn& column : columns) {
        const auto& figure = find_figure(all, column.key);
        std::vector<FigureValue> values;
        std::vector<std::string> members;  // of any of the structures
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
            for (std::size_t i = 0; i < values.size(); ++i)
                table.rows[i].push_back(figures::cell_text(pick(values[i]), style));
        };
        for (const std::string& name : members) {
            add(figures::head_of(column, name), [&](const FigureValue& value) { return figures::member(value, name); });
        }
        if (column.head.find('*') == std::string_view::npos)
            add(figures::head_of(column, ""), [](const FigureValue& value) { return value; });
    }
    return table;
}

/// A line for each figure and a column for each answer: for people. `heading` says what stands over an answer's column.
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
        for (const auto& answer : answers) table.rows.back().push_back(text_of(all, line.key, answer));
        if (line.optional) figures::drop_empty_line(table);
    }
    return table;
}

/// On one line, with what is no UTF-8 replaced.
[[nodiscard]] std::string dumped(const FigureValue& json);
/// {"schema":1,"machines":[...]}, of answers each of which is JSON.
[[nodiscard]] std::string machines_json(const std::vector<std::string>& answers);
/// "  note: ..." for each, those that several answers have once.
[[nodiscard]] std::string notes_once(const std::vector<std::vector<std::string>>& notes);

}  // namespace roofline::core
