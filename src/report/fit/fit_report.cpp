#include "report/fit/fit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "report/fit/exchange_table.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

/// Mean errors over several models, weighted by their numbers of measurements.
struct Means {
    struct Mean {
        double sum = 0;
        double rows = 0;
        void add(double error, double weight) {
            sum += error * weight;
            rows += weight;
        }
        [[nodiscard]] std::string text() const { return rows > 0 ? percent_text(sum / rows) : "-"; }
    };
    std::int64_t models = 0;
    std::int64_t rows = 0;
    Mean fitted;
    Mean sizes;
    Mean members;
    Mean relative;
    Mean far;

    void add(const CalibratedCollective& model) {
        const auto weight = static_cast<double>(model.rows);
        ++models;
        rows += model.rows;
        fitted.add(model.errors.fitted, weight);
        sizes.add(model.errors.sizes, weight);
        if (model.errors.members) members.add(*model.errors.members, weight);
        if (model.errors.relative) relative.add(*model.errors.relative, weight);
        if (model.errors.far) far.add(*model.errors.far, weight);
    }
};

const std::vector<std::string> error_heads{"fitted", "size out", "count out", "same rate", "other rate"};

void add_means(std::vector<std::string>& cells, const Means& means) {
    for (const Means::Mean* mean : {&means.fitted, &means.sizes, &means.members, &means.relative, &means.far}) {
        cells.push_back(mean->text());
    }
}

std::string kernels(const CalibratedCollective& model) { return model.key.variant.empty() ? "" : model.key.variant; }

/// One row per operation; kernels of libraries are kept separate from kernels of frameworks.
Table by_operation(const CollectiveFit& fit) {
    std::map<std::pair<bool, std::string>, Means> groups;
    for (const Calibration& calibration : fit.calibrations) {
        for (const CalibratedCollective& model : calibration.models) {
            std::string name(collective_name(model.key.kind, true));
            const bool custom = !model.key.variant.empty();
            groups[{custom, custom ? name + ", other kernels" : name}].add(model);
        }
    }
    Table table{{"operation", "models", "rows"}, {}, {false, true, true, true, true, true, true, true}};
    table.head.insert(table.head.end(), error_heads.begin(), error_heads.end());
    for (const auto& [key, means] : groups) {
        table.rows.push_back({key.second, std::to_string(means.models), grouped(means.rows)});
        add_means(table.rows.back(), means);
    }
    return table;
}

Table by_machine(const CollectiveFit& fit) {
    std::map<std::tuple<std::string, std::string, bool>, std::map<CollectiveKind, Means>> groups;
    for (const Calibration& calibration : fit.calibrations) {
        for (const CalibratedCollective& model : calibration.models) {
            groups[{calibration.machine, model.key.tiers, !model.key.variant.empty()}][model.key.kind].add(model);
        }
    }
    Table table{{"machine", "over"}, {}, {false, false, true, true, true, true, true}};
    std::vector<CollectiveInfo> kinds;
    for (const CollectiveInfo& each : all_collectives) {
        if (!has_root(each.kind)) kinds.push_back(each);
    }
    for (const CollectiveInfo& each : kinds) table.head.emplace_back(each.spoken);
    for (const auto& [key, means] : groups) {
        const auto& [machine, tiers, custom] = key;
        table.rows.push_back({machine, tiers + (custom ? ", other kernels" : "")});
        for (const CollectiveInfo& each : kinds) {
            const auto found = means.find(each.kind);
            table.rows.back().push_back(found == means.end() ? "-" : found->second.sizes.text());
        }
    }
    return table;
}

Table all_models(const CollectiveFit& fit) {
    Table table{{"machine", "system", "over", "operation", "software", "variant", "dtypes", "rows"}, {}, {}};
    table.head.insert(table.head.end(),
                      {"error_fitted", "error_sizes", "error_members", "error_relative", "error_far"});
    table.right.assign(table.head.size(), true);
    std::fill_n(table.right.begin(), 7, false);
    const auto number = [](const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : ""; };
    for (const Calibration& calibration : fit.calibrations) {
        for (const CalibratedCollective& model : calibration.models) {
            table.rows.push_back({calibration.machine, model.key.system, model.key.tiers,
                                  std::string(collective_name(model.key.kind)), model.key.software, kernels(model),
                                  model.key.dtypes, std::to_string(model.rows), number(model.errors.fitted),
                                  number(model.errors.sizes), number(model.errors.members),
                                  number(model.errors.relative), number(model.errors.far)});
        }
    }
    return table;
}

/// Returns the parameters of a kernel model and the number of its shape corrections, in SI base units if `raw`, else
/// formatted for people.
std::vector<std::string> constant_cells(const KernelModel& model, const SizeFactors& factors, bool raw) {
    std::vector<std::string> cells;
    for (const KernelConstant& each : kernel_constants) {
        if (each.name.empty()) continue;
        const double value = each.of(model);
        const bool cost = each.per_unit() != 1;
        if (std::isinf(value)) {
            cells.emplace_back(raw ? "inf" : "max");
        } else if (raw && each.kind != ConstantKind::exponent) {
            cells.push_back(fmt::format("{}", value));
        } else {
            cells.push_back(!cost ? number_text(value) : value > 0 ? to_text(Seconds{value}) : "-");
        }
    }
    const std::size_t count = factors.logs.size();
    cells.push_back(raw ? std::to_string(count) : count > 0 ? grouped(static_cast<std::int64_t>(count)) : "-");
    return cells;
}

void append(std::vector<std::string>& cells, std::vector<std::string> more) {
    for (std::string& cell : more) cells.push_back(std::move(cell));
}

/// Returns the upper limits of the bands of a kernel that has a model per band of `by`: "1 32" for numbers of heads or
/// rows.
std::string limits_of(const KernelFit& fit, BandsBy by) {
    std::vector<std::string> limits;
    if (fit.by != by) return "";
    for (const BandModel& band : fit.bands) limits.push_back(number_text(band.most));
    return fmt::format("{}", fmt::join(limits, " "));
}

/// Returns "of one head", "of at most 8 rows" or "of heads of at most 64".
std::string band_name(BandsBy by, double most) {
    const std::string number = number_text(most);
    if (by == BandsBy::n) return "of heads of at most " + number;
    const std::string_view one = by == BandsBy::heads ? "head" : "row";
    return most > 1 ? fmt::format("of at most {} {}s", number, one) : fmt::format("of one {}", one);
}

/// Adds one row per band of heads, head sizes or rows, with the parameters of its model.
void add_bands(Table& table, const KernelFit& fit, std::size_t errors) {
    for (const BandModel& band : fit.bands) {
        std::string name = "  " + band_name(fit.by, band.most);
        std::vector<std::string> cells{"", std::move(name), "", "", ""};
        append(cells, constant_cells(band.sized.model, band.sized.factors, false));
        cells.resize(cells.size() + errors);
        table.rows.push_back(std::move(cells));
    }
}

/// Returns a table of all kernel models.
Table kernel_models(const CollectiveFit& fit, bool raw) {
    Table table;
    if (raw) {
        table.head = {"machine", "kind", "dtype", "software", "variant", "rows", "left_out"};
    } else {
        table.head = {"machine", "kind", "dtype", "software", "rows"};
    }
    for (const KernelConstant& each : kernel_constants) {
        if (!each.name.empty()) table.head.emplace_back(raw ? each.name : each.name.substr(0, each.name.find('_')));
    }
    append(table.head, raw ? std::vector<std::string>{"factors", "heads", "n", "m", "error_of_bound", "error_fitted",
                                                      "error_held_out", "like"}
                           : std::vector<std::string>{"sizes", "bound", "fitted", "held out"});
    table.right.assign(table.head.size(), true);
    std::fill_n(table.right.begin(), raw ? 5 : 4, false);
    const auto percent = [&](double error) { return raw ? fmt::format("{:.4g}", error) : percent_text(error); };
    for (const Calibration& calibration : fit.calibrations) {
        for (const CalibratedKernel& kernel : calibration.kernels) {
            const KernelKey& key = kernel.key;
            const KernelFit& each = kernel.fit;
            std::vector<std::string> cells{calibration.machine, std::string(name(key.kind)), key.dtype};
            const bool one_cell = !raw && !key.variant.empty();
            cells.push_back(one_cell ? key.software + " " + key.variant : key.software);
            if (raw) cells.push_back(key.variant);
            cells.push_back(raw ? std::to_string(each.rows) : grouped(each.rows));
            if (raw) cells.push_back(std::to_string(each.left_out));
            append(cells, constant_cells(each.model, each.factors, raw));
            for (const BandsBy by : all_bands) {
                if (raw) cells.push_back(limits_of(each, by));
            }
            const std::initializer_list<double> errors{each.error_of_bound, each.error_fitted, each.error_held_out};
            for (const double error : errors) cells.push_back(percent(error));
            if (raw) cells.push_back(kernel.like);
            table.rows.push_back(std::move(cells));
            if (!raw) add_bands(table, each, errors.size());
        }
    }
    return table;
}

Json constants_json(const KernelModel& model, const SizeFactors& factors) {
    Json json;
    for (const KernelConstant& each : kernel_constants) {
        if (each.name.empty()) continue;
        json[std::string(each.name)] = std::isinf(each.of(model)) ? Json(nullptr) : Json(each.of(model));
    }
    json["factors"] = factors.logs.size();
    return json;
}

Json kernels_json(const CollectiveFit& fit) {
    Json models = Json::array();
    for (const Calibration& calibration : fit.calibrations) {
        for (const CalibratedKernel& kernel : calibration.kernels) {
            const KernelFit& each_fit = kernel.fit;
            Json each;
            each["machine"] = calibration.machine;
            each["kind"] = name(kernel.key.kind);
            each["dtype"] = kernel.key.dtype;
            each["software"] = kernel.key.software;
            each["variant"] = kernel.key.variant;
            each["rows"] = each_fit.rows;
            each["left_out"] = each_fit.left_out;
            each["like"] = kernel.like;
            each.update(constants_json(each_fit.model, each_fit.factors));
            for (const BandsBy by : all_bands) each[bands_name(by)] = Json::array();
            for (const BandModel& band : each_fit.bands) {
                Json of_band = constants_json(band.sized.model, band.sized.factors);
                of_band["most"] = band.most;
                each[bands_name(each_fit.by)].push_back(std::move(of_band));
            }
            each["error"] = {{"bound", each_fit.error_of_bound},
                             {"fitted", each_fit.error_fitted},
                             {"held_out", each_fit.error_held_out}};
            models.push_back(std::move(each));
        }
    }
    return models;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::string fit_json(const TablesFit& report) {
    Json json;
    json["schema"] = 1;
    json["rows"] = report.fit.rows + report.exchanges.rows + report.kernels.rows;
    json["duplicates"] = report.fit.duplicates + report.exchanges.duplicates + report.kernels.duplicates;
    json["left_out"] = report.fit.left_out + report.exchanges.left_out + report.kernels.left_out;
    json["too_few"] = report.fit.too_few + report.exchanges.too_few + report.kernels.too_few;
    Json skipped = Json::array();
    for (const auto& [reason, rows] : report.skipped) skipped.push_back({{"reason", reason}, {"rows", rows}});
    json["skipped"] = std::move(skipped);
    Json models = Json::array();
    for (const Calibration& calibration : report.fit.calibrations) {
        for (const CalibratedCollective& model : calibration.models) {
            Json each;
            each["machine"] = calibration.machine;
            each["system"] = model.key.system;
            each["tiers"] = model.key.tiers;
            each["operation"] = collective_name(model.key.kind);
            each["software"] = model.key.software;
            each["variant"] = model.key.variant;
            each["dtypes"] = model.key.dtypes;
            each["members"] = model.members;
            each["rows"] = model.rows;
            each["left_out"] = model.left_out;
            each["error"] = {{"fitted", model.errors.fitted},
                             {"sizes", model.errors.sizes},
                             {"members", optional_json(model.errors.members)},
                             {"relative", optional_json(model.errors.relative)},
                             {"far", optional_json(model.errors.far)}};
            models.push_back(std::move(each));
        }
    }
    json["laws"] = std::move(models);
    json["exchanges"] = exchanges_json(report.fit.calibrations);
    json["kernels"] = kernels_json(report.fit);
    json["files"] = report.files;
    // Strings from a user's tables may contain invalid UTF-8, at which dump() would abort.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string plural(std::int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

std::string fit_text(const TablesFit& report) {
    std::int64_t models = 0;
    std::int64_t exchanges = 0;
    std::int64_t kernels = 0;
    for (const Calibration& calibration : report.fit.calibrations) {
        models += static_cast<std::int64_t>(calibration.models.size());
        exchanges += static_cast<std::int64_t>(calibration.exchanges.size());
        kernels += static_cast<std::int64_t>(calibration.kernels.size());
    }
    std::string text = fmt::format("{} for {}, fitted to {}\n", plural(models + exchanges + kernels, "model"),
                                   plural(static_cast<std::int64_t>(report.fit.calibrations.size()), "machine"),
                                   plural(report.fit.rows + report.exchanges.rows + report.kernels.rows, "row"));
    const auto aside = [&](std::int64_t count, std::string_view why) {
        if (count > 0) text += fmt::format("  {} not used: {}\n", plural(count, "row"), why);
    };
    aside(report.fit.duplicates + report.exchanges.duplicates + report.kernels.duplicates,
          "the same measurement, published twice");
    aside(report.fit.left_out + report.exchanges.left_out,
          "a factor of 30 from their neighbours, twice as fast as the links, or out of range");
    aside(report.kernels.left_out, "twice as fast as their bound, a factor of 30 from the others, or out of range");
    aside(report.fit.too_few + report.exchanges.too_few, "in series of fewer than eight");
    aside(report.kernels.too_few, "in classes of fewer than six kernels");
    for (const auto& [reason, rows] : report.skipped) aside(rows, reason);
    if (models > 0) {
        text +=
            "\nMean error in per cent: fitted rows, held-out sizes, held-out numbers of members, transferred "
            "from\nmachines with the same link rate only, and from machines with other link rates only\n\n";
        text += table_text(by_operation(report.fit), 2);
        text += "\nHeld-out sizes, by machine\n\n" + table_text(by_machine(report.fit), 2);
    }
    if (exchanges > 0) {
        text +=
            "\nExpert dispatch and combine: mean error in per cent: fitted, held-out numbers of tokens, held-out "
            "shapes,out, the model of\nanother group size, and the model of the nearest calibrated machine\n\n";
        text += table_text(exchange_models(report.fit.calibrations, false), 2);
    }
    if (kernels > 0) {
        text +=
            "\nKernels: fixed costs, achieved fractions of the rates, p of the norm, shape corrections; mean error in "
            "per cent: of the\nlower bound, which needs no fit, fitted, and with every fifth row held out in turn\n\n";
        text += table_text(kernel_models(report.fit, false), 2);
    }
    text += "\n";
    for (const std::string& file : report.files) text += fmt::format("{}\n", file);
    if (report.files.empty() && models + exchanges + kernels > 0)
        text += "Nothing is written; -o DIR writes one file per machine.\n";
    return text;
}

}  // namespace

std::string fit_report(const TablesFit& report, Format format) {
    const bool kernels = report.kernels.rows > 0;
    const bool exchanges = report.exchanges.rows > 0;
    const bool collectives = report.fit.rows > 0 || (!kernels && !exchanges);
    switch (format) {
        case Format::json:
            return fit_json(report);
        case Format::csv:
            return table_csv(collectives ? all_models(report.fit)
                             : exchanges ? exchange_models(report.fit.calibrations, true)
                                         : kernel_models(report.fit, true));
        case Format::markdown: {
            std::string text = collectives ? table_markdown(all_models(report.fit)) : "";
            if (exchanges)
                text += (text.empty() ? "" : "\n") + table_markdown(exchange_models(report.fit.calibrations, false));
            if (kernels) text += (text.empty() ? "" : "\n") + table_markdown(kernel_models(report.fit, false));
            return text;
        }
        case Format::text:
            break;
    }
    return fit_text(report);
}

}  // namespace roofline::core
