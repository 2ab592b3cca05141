#include "report/fit/pass_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "report/fit/left_out.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// A row for generation and one for prompts of each family. Errors are percentages for people (`spoken`), fractions for
/// programs.
Table pass_table(const PassModels& models, bool spoken) {
    Table table;
    table.head = spoken
                     ? std::vector<std::string>{"software", "family",   "measurements",  "chips",          "speed of",
                                                "fitted",   "held out", "chip held out", "family held out"}
                     : std::vector<std::string>{"software",     "family",         "rows",        "chips",          "of",
                                                "error_fitted", "error_held_out", "error_chips", "error_relatives"};
    table.right = {false, false, true, true, false, true, true, true, true};
    const auto error = [&](double e) {
        if (!(e > 0)) return std::string(spoken ? "-" : "");
        return spoken ? percent_text(e) + " %" : fmt::format("{:.3g}", e);
    };
    for (const PassFamily& family : models.families) {
        for (const bool generates : {true, false}) {
            const PassErrors& errors = family.errors(generates);
            table.rows.push_back({family.software, family.name, fmt::format("{}", family.rows),
                                  fmt::format("{}", family.chips.size()), generates ? "generation" : "prompts",
                                  error(errors.fitted), error(errors.held_out), error(errors.chips),
                                  error(errors.relatives)});
        }
    }
    return table;
}

nlohmann::ordered_json errors_json(const PassErrors& errors) {
    return {{"fitted", errors.fitted},
            {"held_out", errors.held_out},
            {"chips", errors.chips},
            {"relatives", errors.relatives}};
}

std::string pass_json_of(const PassesFit& report) {
    using Json = nlohmann::ordered_json;
    Json families = Json::array();
    for (const PassFamily& family : report.models.families) {
        Json chips = Json::array();
        for (const PassChip& chip : family.chips) chips.push_back(chip.machine);
        families.push_back({{"software", family.software},
                            {"family", family.name},
                            {"rows", family.rows},
                            {"machines", chips},
                            {"generation", errors_json(family.generation)},
                            {"prompts", errors_json(family.prompts)}});
    }
    return Json{{"schema", 1}, {"passes", families}, {"skipped", left_out_json(report.skipped)}, {"file", report.file}}
               .dump() +
           "\n";
}

std::string pass_text_of(const PassesFit& report) {
    std::string text;
    if (report.models.families.empty()) {
        text += "no model: a family of chips needs at least four measurements\n";
    } else {
        text += "median errors of forward-pass models\n\n" + table_text(pass_table(report.models, true), 2);
    }
    return text + left_out_text(report.skipped, report.file);
}

}  // namespace

std::string pass_fit_report(const PassesFit& report, Format format) {
    switch (format) {
        case Format::json:
            return pass_json_of(report);
        case Format::csv:
            return table_csv(pass_table(report.models, false));
        case Format::markdown:
            return table_markdown(pass_table(report.models, true));
        case Format::text:
            break;
    }
    return pass_text_of(report);
}

}  // namespace roofline::core
