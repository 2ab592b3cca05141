#include "report/serve/serve_compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/serve/serve_json.hpp"
#include "report/serve/serve_text.hpp"
#include "report/table.hpp"
#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string usd_or_dash(const std::optional<double>& value) { return value ? fmt::format("{:.3g}", *value) : "-"; }

std::string fits(const ServeAnswer& answer) { return !answer.capacity ? "-" : answer.fits ? "yes" : "no"; }

/// What is said of each slice.
struct ComparedLine {
    const char* label;
    std::string (*text)(const ServeAnswer& answer);
    bool optional = false;  ///< left out where it says nothing of any slice
};
constexpr ComparedLine lines[] = {
    {"chips", [](const ServeAnswer& answer) { return fmt::format("{}", answer.slice.chips()); }},
    {"plan", [](const ServeAnswer& answer) { return plan_text(answer.plan); }},
    {"caches by", [](const ServeAnswer& answer) { return std::string(name(answer.caches)); }},
    {"fits", fits},
    {"memory a chip", [](const ServeAnswer& answer) { return to_text(Bytes{answer.chip_memory.total()}); }},
    {"room for", [](const ServeAnswer& answer) { return answer.capacity ? fmt::format("{}", answer.max_batch) : "-"; }},
    {"first token", [](const ServeAnswer& answer) { return to_text(Seconds{pass_seconds(answer.prefill)}); }},
    {"time a token", [](const ServeAnswer& answer) { return to_text(Seconds{pass_seconds(answer.decode)}); }},
    {"at least", [](const ServeAnswer& answer) { return to_text(Seconds{answer.least_decode.lower_s}); }},
    {"bound by", [](const ServeAnswer& answer) { return bound_label(answer.decode); }},
    {"tokens/s", [](const ServeAnswer& answer) { return rate_text(decode_tokens_per_s(answer)); }},
    {"a chip",
     [](const ServeAnswer& answer) {
         return rate_text(decode_tokens_per_s(answer) / static_cast<double>(answer.slice.chips()));
     }},
    {"$/M tokens",
     [](const ServeAnswer& answer) {
         return usd_or_dash(
             usd_per_million(answer, static_cast<double>(answer.slice.chips()), decode_tokens_per_s(answer)));
     }},
    {"with prefill",
     [](const ServeAnswer& answer) {
         return usd_or_dash(usd_per_million(answer, serving_chips(answer), served_tokens_per_s(answer)));
     }},
    {"as served",
     [](const ServeAnswer& answer) { return answer.under_load ? to_text(Seconds{answer.under_load->tpot_s}) : "-"; },
     true},
    {"first served",
     [](const ServeAnswer& answer) { return answer.under_load ? to_text(Seconds{answer.under_load->ttft_s}) : "-"; },
     true},
};

}  // namespace

std::string serve_compare_text(const std::vector<ServeAnswer>& answers) {
    const ServeAnswer& front = answers.front();
    Table table;
    table.head = {""};
    table.right = {false};
    for (const ServeAnswer& answer : answers) {
        table.head.push_back(slice_name(answer));
        table.right.push_back(true);
    }
    for (const ComparedLine& line : lines) {
        table.rows.push_back({line.label});
        for (const ServeAnswer& answer : answers) table.rows.back().push_back(line.text(answer));
        const auto nothing = [](const std::string& text) { return text == "-"; };
        if (line.optional && std::all_of(table.rows.back().begin() + 1, table.rows.back().end(), nothing)) {
            table.rows.pop_back();
        }
    }
    std::string text = fmt::format("{}: {} sequence{}, {} tokens in, {} out\n\n", front.model.name, front.batch,
                                   front.batch == 1 ? "" : "s", front.prompt, front.output);
    text += table_text(table, 2) + "\n";
    std::vector<std::string> notes;
    for (const ServeAnswer& answer : answers) {
        for (std::string& note : serve_notes(answer)) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
        }
    }
    for (const std::string& note : notes) text += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
    return text;
}

Table serve_compare_table(const std::vector<ServeAnswer>& answers) {
    Table table;
    table.head = {"slice",  "chips",   "plan",     "fits",     "bytes a chip",    "room for",     "ttft_s",
                  "tpot_s", "lower_s", "bound by", "tokens/s", "tokens/s a chip", "USD/M tokens", "USD/M with prefill"};
    for (const ServeAnswer& answer : answers) {
        const auto chips = static_cast<double>(answer.slice.chips());
        const double tokens = decode_tokens_per_s(answer);
        const auto number = [](const std::optional<double>& value) {
            return value ? fmt::format("{:.6g}", *value) : std::string();
        };
        table.rows.push_back({slice_name(answer), fmt::format("{}", answer.slice.chips()), split_text(answer),
                              fits(answer), number(answer.chip_memory.total()),
                              answer.capacity ? fmt::format("{}", answer.max_batch) : "",
                              number(pass_seconds(answer.prefill)), number(pass_seconds(answer.decode)),
                              number(answer.least_decode.lower_s), bound_label(answer.decode), number(tokens),
                              number(tokens / chips), number(usd_per_million(answer, chips, tokens)),
                              number(usd_per_million(answer, serving_chips(answer), served_tokens_per_s(answer)))});
    }
    return table;
}

std::string serve_compare_json(const std::vector<ServeAnswer>& answers) {
    std::string json = "{\"schema\":1,\"machines\":[";
    for (const ServeAnswer& answer : answers) {
        if (&answer != &answers.front()) json += ",";
        json += serve_json(answer);
    }
    return json + "]}\n";
}

}  // namespace roofline::core
