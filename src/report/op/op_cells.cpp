#include "report/op/op_cells.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "units/text.hpp"

namespace roofline::core {

std::string render(const Table& table, Format format) {
    if (format == Format::csv) return table_csv(table);
    return format == Format::markdown ? table_markdown(table) : table_text(table, 2);
}

std::string raw(std::optional<double> value) { return value ? fmt::format("{}", *value) : std::string(); }

std::vector<std::string> resources_of(const std::vector<Prediction>& answers) {
    const auto ids = all_of(answers, [](const Prediction& answer) { return resources_of(answer); });
    std::vector<std::string> ordered;
    for (const std::string compute : {"math", "vector"}) {
        if (std::find(ids.begin(), ids.end(), compute) != ids.end()) ordered.push_back(compute);
    }
    for (const std::string& id : ids) {
        if (id != "math" && id != "vector") ordered.push_back(id);
    }
    return ordered;
}

std::string resource_label(std::span<const Prediction> answers, const std::string& id) {
    if (id == "math" || id == "vector") return id;
    std::set<std::string> labels;
    for (const Prediction& answer : answers) labels.insert(level_label(answer.machine, id));
    return labels.size() == 1 ? *labels.begin() : level_label(id);
}

std::string system_name(const Prediction& answer) {
    const Slice& slice = answer.system.slice;
    return slice.chips() == 1 ? answer.machine.name : fmt::format("{} {}", answer.machine.name, slice.shape_text());
}

std::string system_id(const Prediction& answer) {
    const Slice& slice = answer.system.slice;
    return slice.chips() == 1 ? answer.machine.id : fmt::format("{}:{}", answer.machine.id, slice.shape_text());
}

std::vector<std::string> levels_of(const Prediction& answer) {
    std::vector<std::string> levels;
    for (const auto& entry : answer.analysis.total.work.memory) levels.push_back(entry.first);
    return levels;
}

std::vector<std::string> resources_of(const Prediction& answer) {
    std::vector<std::string> ids;
    for (const Resource& resource : answer.analysis.total.pricing.resources) ids.push_back(resource.id);
    return ids;
}

std::string notes_text(const std::vector<Prediction>& answers) {
    std::map<std::string, std::vector<std::string>> machines;
    std::vector<std::string> order;
    for (const Prediction& answer : answers) {
        for (const std::string& note : notes_of(answer)) {
            std::vector<std::string>& said_of = machines[note];
            if (said_of.empty()) order.push_back(note);
            said_of.push_back(system_name(answer));
        }
    }
    std::string text;
    for (const std::string& note : order) {
        const std::vector<std::string>& said_of = machines[note];
        const std::string who = said_of.size() == answers.size() ? "note" : fmt::format("{}", fmt::join(said_of, ", "));
        text += "\n  " + wrapped(fmt::format("{}: {}", who, note), 2, 8, 100);
    }
    return text.empty() ? text : text + "\n";
}

}  // namespace roofline::core
