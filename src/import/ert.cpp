// Reads roofline.json of the Empirical Roofline Tool:
// {"empirical": {"gbytes": {"data": [["L1", 100.0], ...]}, "gflops": {"data": [["FP64 GFLOPs", 50.0]]}}}.
#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "import/tool_readers.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

class ErtReader {
public:
    ErtReader(std::string_view text, const std::string& source) : place_(text, source) {}

    Result<ToolFigures> read(const FileValue& root) {
        figures_.tool = "ERT";
        const FileValue& empirical = *root.find("empirical");
        if (const FileValue* metadata = empirical.find("metadata")) precision_in(*metadata);
        for (const bool bandwidth : {true, false}) {
            const std::string_view key = bandwidth ? "gbytes" : "gflops";
            const FileValue* section = empirical.find(key);
            if (section == nullptr) continue;
            const FileValue* data = section->find("data");
            if (data == nullptr || !data->is(FileValue::Kind::list)) {
                return bad(*section, fmt::format("`{}` has no list `data`", key));
            }
            for (const FileValue& row : data->items) {
                ROOFLINE_CHECK(read_row(row, bandwidth));
            }
        }
        return std::move(figures_);
    }

private:
    [[nodiscard]] tl::unexpected<Error> bad(const FileValue& node, std::string message, std::string hint = {}) const {
        return place_.fail_at(place_.span(node.offset), "bad_file", std::move(message), std::move(hint));
    }

    Status read_row(const FileValue& row, bool bandwidth) {
        const bool pair =
            row.is(FileValue::Kind::list) && row.items.size() == 2 && row.items[0].is(FileValue::Kind::text);
        if (!pair)
            return bad(row, "a row is a name and a number",
                       bandwidth ? R"(["L1", 100.0])" : R"(["FP64 GFLOPs", 50.0])");
        const FileValue& value = row.items[1];
        // Version 1.1 writes some numbers as strings.
        const auto number = value.is_number()                 ? std::optional(value.real)
                            : value.is(FileValue::Kind::text) ? number_in(trimmed(value.text))
                                                              : std::nullopt;
        if (!number || *number <= 0) {
            return place_.fail_at(
                place_.span(value.offset), "bad_number",
                fmt::format("{} has no positive number", roofline::core::in_ticks(row.items[0].text)));
        }
        ToolFigure figure;
        figure.name = row.items[0].text.substr(0, 100);
        figure.value = *number * 1e9;
        figure.offset = value.offset;
        if (bandwidth) {
            figure.what = ToolBandwidth{level_of(figure.name), 0, 0};
            if (std::get<ToolBandwidth>(figure.what).level.empty()) {
                figures_.left_out.push_back(fmt::format("{} (a machine file has no such level)", figure.name));
                return {};
            }
        } else {
            const auto dtype = precision_of(figure.name);
            if (!dtype) {
                figures_.left_out.push_back(fmt::format("{} (its precision is unknown)", figure.name));
                return {};
            }
            figure.what = ToolRate{Unit::vector, *dtype};
        }
        figures_.figures.push_back(std::move(figure));
        return {};
    }

    static std::string level_of(std::string_view name) {
        const std::string level = lowered(name);
        if (level == "dram" || level == "hbm") return "hbm";
        return level == "l1" || level == "l2" || level == "l3" ? level : "";
    }

    // The precision in "FP64 GFLOPs"; version 1.0 says "GFLOPs" for doubles.
    [[nodiscard]] std::optional<Dtype> precision_of(std::string_view name) const {
        const std::string_view first = trimmed(name).substr(0, trimmed(name).find(' '));
        if (lowered(first).starts_with("gflop")) return precision_.value_or(Dtype::f64);
        return find_dtype(first);
    }

    // Searches the configuration for ERT_PRECISION FP32, in a string or as a member.
    void precision_in(const FileValue& node) {
        const FileValue* said = node.find("ERT_PRECISION");
        if (said != nullptr && said->is(FileValue::Kind::text)) precision_ = find_dtype(trimmed(said->text));
        for (const FileValue& item : node.items) precision_in(item);
        for (const auto& [name, member] : node.members) precision_in(member);
    }

    Source place_;
    ToolFigures figures_;
    std::optional<Dtype> precision_;
};

}  // namespace

bool is_ert(const FileValue& root) {
    const FileValue* empirical = root.find("empirical");
    return empirical != nullptr && (empirical->find("gbytes") != nullptr || empirical->find("gflops") != nullptr);
}

Result<ToolFigures> read_ert(const FileValue& root, std::string_view text, const std::string& source) {
    return ErtReader(text, source).read(root);
}

}  // namespace roofline::core
