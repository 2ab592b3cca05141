#include "report/model/checkpoint_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/model/model_words.hpp"
#include "report/page/page_writer.hpp"
#include "report/table.hpp"
#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t max_named = 6;

std::string bytes_text(std::int64_t bytes) { return to_text(Bytes{static_cast<double>(bytes)}); }

std::vector<std::string> row_of(const std::string& name, const StoredShare& share, double all) {
    return {name, grouped(share.tensors), grouped(share.params), grouped(share.bytes),
            fmt::format("{:.1f} %", all > 0 ? 100 * static_cast<double>(share.bytes) / all : 0)};
}

std::string shares_text(std::string_view head, const std::map<std::string, StoredShare>& shares,
                        const StoredShare& total, PageWriter& page) {
    Table table;
    table.head = {std::string(head), "tensors", "parameters", "bytes", ""};
    table.right = {false, true, true, true, true};
    const auto all = static_cast<double>(total.bytes);
    for (const auto& [name, share] : shares) table.rows.push_back(row_of(name, share, all));
    if (shares.size() > 1) table.rows.push_back(row_of("total", total, all));
    std::string text = table_text(table, 2) + "\n";
    page.section(PagePlace::answer, fmt::format("By {}", head));
    page.table(std::move(table));
    return text;
}

std::string named(const std::vector<std::string>& tensors) {
    std::vector<std::string> shown(tensors.begin(),
                                   tensors.begin() + static_cast<std::ptrdiff_t>(std::min(tensors.size(), max_named)));
    if (tensors.size() > max_named) shown.push_back(fmt::format("{} more", tensors.size() - max_named));
    return fmt::format("{}", fmt::join(shown, ", "));
}

std::string difference_text(const TensorDifference& difference) {
    const std::string where = difference.layers.empty() ? "outside of the layers"
                              : difference.layers.size() == 1
                                  ? fmt::format("in layer {}", layer_ranges(difference.layers))
                                  : fmt::format("in each of the layers {}", layer_ranges(difference.layers));
    std::string text = fmt::format("{} the files hold {} parameters, the configuration says {}", where,
                                   grouped(difference.in_file), grouped(difference.in_configuration));
    if (!difference.only_file.empty()) text += fmt::format("; only in the files: {}", named(difference.only_file));
    if (!difference.only_configuration.empty()) {
        text += fmt::format("; only in the configuration: {}", named(difference.only_configuration));
    }
    return text;
}

std::string whole_bytes(const Rational& bytes) {
    const auto whole = bytes.to_int64();
    return whole ? grouped(*whole) : fmt::format("{:.0f}", bytes.to_double());
}

std::string configured_text(const ConfiguredCheckpoint& configured, const CheckpointSums& sums, PageWriter& page) {
    std::string out = fmt::format("  {}\n", configured.config);
    page.section(PagePlace::detail, "Beside " + configured.config);
    const auto line = [&](std::string_view label, const std::string& value, const std::string& remark) {
        out += fmt::format("    {:<15} {:>19}   {}\n", label, value, remark);
        page.fact(label, value, remark);
    };
    if (configured.check) {
        const CheckpointCheck& check = *configured.check;
        line("parameters", grouped(check.in_configuration),
             check.in_file == check.in_configuration ? "as in the files"
                                                     : fmt::format("and {} in the files", grouped(check.in_file)));
        if (check.further > 0) {
            line("", grouped(check.further), "in the files, in layers that the configuration does not have");
        }
        if (check.vision > 0) line("", grouped(check.vision), "in the files, for images or audio");
    }
    line("bytes", whole_bytes(configured.weight_bytes),
         fmt::format("{}; {} in the files", configured.scheme, grouped(sums.total.bytes)));
    if (configured.check) {
        for (const TensorDifference& difference : configured.check->differences) {
            const std::string text = difference_text(difference);
            out += "    differs: " + wrapped(text, 13, 13, page_width) + "\n";
            page.say("Differs: " + text);
        }
    }
    return out + "\n";
}

Json share_json(const StoredShare& share) {
    return {{"tensors", share.tensors}, {"elements", share.elements}, {"params", share.params}, {"bytes", share.bytes}};
}

template <class Key>
Json shares_json(const std::map<Key, StoredShare>& shares) {
    Json json = Json::object();
    for (const auto& [key, share] : shares) json[fmt::format("{}", key)] = share_json(share);
    return json;
}

Json check_json(const ConfiguredCheckpoint& configured) {
    Json json = {{"file", configured.config}};
    if (configured.check) {
        const CheckpointCheck& check = *configured.check;
        json["params"] = check.in_configuration;
        json["params_in_files"] = check.in_file;
        json["params_further"] = check.further;
        json["params_vision"] = check.vision;
        Json differences = Json::array();
        for (const TensorDifference& one : check.differences) {
            differences.push_back({{"layers", one.layers},
                                   {"params_in_files", one.in_file},
                                   {"params", one.in_configuration},
                                   {"only_in_files", one.only_file},
                                   {"only_in_configuration", one.only_configuration}});
        }
        json["differences"] = std::move(differences);
    } else {
        json["params"] = nullptr;
    }
    json["weight_bytes"] = configured.weight_bytes.to_double();
    if (const auto whole = configured.weight_bytes.to_int64()) json["weight_bytes"] = *whole;
    json["scheme"] = configured.scheme;
    return json;
}

// The text of an answer, and the same as the sections of a page.
std::string written(const CheckpointAnswer& answer, PageWriter& page) {
    const Checkpoint& checkpoint = answer.checkpoint;
    const CheckpointSums& sums = answer.sums;
    std::string out =
        fmt::format("{}   {}, {} tensors{}\n\n", checkpoint.name, checkpoint.format, grouped(sums.total.tensors),
                    checkpoint.files > 1 ? fmt::format(" in {} files", checkpoint.files) : "");
    page.title("Weights of " + checkpoint.name);
    page.question("What do these files of weights hold?");
    const std::string packed =
        sums.packed > 0 ? fmt::format("plus the contents of {} packed tensors", grouped(sums.packed)) : "";
    out += fmt::format("  {:<15} {:>21}{}{}\n", "parameters", grouped(sums.total.params), packed.empty() ? "" : "   ",
                       packed);
    out += fmt::format("  {:<15} {:>21}   {}\n\n", "bytes", grouped(sums.total.bytes), bytes_text(sums.total.bytes));
    page.headline({"parameters", grouped(sums.total.params), packed});
    page.headline({"bytes", bytes_text(sums.total.bytes), "", fmt::format("{} B", sums.total.bytes)});
    page.headline({"tensors", grouped(sums.total.tensors),
                   fmt::format("{}{}", checkpoint.format,
                               checkpoint.files > 1 ? fmt::format(" in {} files", checkpoint.files) : "")});
    out += shares_text("dtype", sums.by_dtype, sums.total, page);
    out += shares_text("part", sums.by_part, sums.total, page);
    if (answer.configured) out += configured_text(*answer.configured, sums, page);
    for (const std::string& note : answer.notes) {
        out += "  note: " + wrapped(note, 8, 8, page_width) + "\n";
        page.note(note);
    }
    return out;
}

}  // namespace

std::string checkpoint_text(const CheckpointAnswer& answer) {
    PageWriter page;
    return written(answer, page);
}

ReportPage checkpoint_page(const CheckpointAnswer& answer) {
    PageWriter page;
    (void)written(answer, page);
    return page.take();
}

std::string checkpoint_json(const CheckpointAnswer& answer) {
    const CheckpointSums& sums = answer.sums;
    Json json;
    json["schema"] = 1;
    json["checkpoint"] = answer.checkpoint.name;
    json["format"] = answer.checkpoint.format;
    json["files"] = answer.checkpoint.files;
    json["tensors"] = sums.total.tensors;
    json["elements"] = sums.total.elements;
    json["params"] = sums.packed > 0 ? Json(nullptr) : Json(sums.total.params);
    json["bytes"] = sums.total.bytes;
    json["by_dtype"] = shares_json(sums.by_dtype);
    json["by_part"] = shares_json(sums.by_part);
    json["by_layer"] = shares_json(sums.by_layer);
    json["configuration"] = answer.configured ? check_json(*answer.configured) : Json(nullptr);
    json["notes"] = answer.notes;
    json["sources"] = Json::array({answer.checkpoint.name});
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Table checkpoint_table(const CheckpointAnswer& answer, bool layers) {
    Table table;
    table.head = {layers ? "layer" : "part", "tensors", "elements", "params", "bytes"};
    table.right = {false, true, true, true, true};
    const auto row = [&](const std::string& name, const StoredShare& share) {
        table.rows.push_back({name, fmt::format("{}", share.tensors), fmt::format("{}", share.elements),
                              fmt::format("{}", share.params), fmt::format("{}", share.bytes)});
    };
    if (layers) {
        for (const auto& [layer, share] : answer.sums.by_layer) row(fmt::format("{}", layer), share);
    } else {
        for (const auto& [part, share] : answer.sums.by_part) row(part, share);
    }
    row("total", answer.sums.total);
    return table;
}

}  // namespace roofline::core
