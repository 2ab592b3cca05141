#include "predict/compare/fit_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "calibrate/kernel/kernel_transfer.hpp"
#include "import/collective_table.hpp"
#include "import/exchange_table.hpp"
#include "import/serving_table.hpp"
#include "predict/compare/measured_kernels.hpp"
#include "predict/compare/measured_passes.hpp"
#include "predict/compare/measured_serving.hpp"
#include "predict/compare/predict_collective.hpp"
#include "predict/compare/predict_exchange.hpp"

namespace roofline::core {

namespace {

Status collect_collectives(Result<CollectiveTable> table, MeasuredSystems& systems, TableSamples& samples,
                           Reasons& skipped) {
    if (!table) return fail(table.error());
    for (const SkippedRow& row : table->skipped) ++skipped[row.reason];
    for (const MeasuredCollective& row : table->rows) {
        const Result<MeasuredGroup>& group = systems.group(row);
        if (!group) {
            ++skipped[group.error().message];
            continue;
        }
        if (auto sample = sample_of(row, *group)) samples.collectives.push_back(std::move(*sample));
    }
    return {};
}

Status collect_exchanges(CsvReader& reader, MeasuredSystems& systems, TableSamples& samples, Reasons& skipped) {
    ROOFLINE_TRY(auto table, read_exchange_table(reader));
    for (const SkippedRow& row : table.skipped) ++skipped[row.reason];
    for (const MeasuredExchange& row : table.rows) {
        const Result<MeasuredGroup> group = group_of(row, systems);
        if (!group) {
            ++skipped[group.error().message];
            continue;
        }
        if (auto sample = sample_of(row, *group)) samples.exchanges.push_back(std::move(*sample));
    }
    return {};
}

Status collect_kernels(CsvReader& reader, MeasuredKernels& kernels, TableSamples& samples, Reasons& skipped) {
    ROOFLINE_TRY(auto table, read_kernel_table(reader));
    for (const SkippedRow& row : table.skipped) ++skipped[row.reason];
    for (const MeasuredKernel& row : table.rows) {
        auto sample = kernels.sample_of(row);
        if (sample) {
            samples.kernels.push_back(std::move(*sample));
        } else {
            ++skipped[sample.error().message];
        }
    }
    return {};
}

Status collect(const TableText& file, bool strict, const NcclHints& hints, MeasuredSystems& systems,
               MeasuredKernels& kernels, TableSamples& samples, Reasons& skipped) {
    if (is_nccl_tests(file.text)) {
        return collect_collectives(read_nccl_tests(file.text, file.name, hints), systems, samples, skipped);
    }
    ROOFLINE_TRY(auto reader, CsvReader::open(file.text, file.name));
    if (!strict) reader.leave_out_bad_rows();
    if (is_collective_table(reader.header())) {
        return collect_collectives(read_collective_table(reader), systems, samples, skipped);
    }
    if (is_exchange_table(reader.header())) return collect_exchanges(reader, systems, samples, skipped);
    if (is_kernel_table(reader.header())) return collect_kernels(reader, kernels, samples, skipped);
    return reader.fail_at(0, "unknown_table", "no kind of table that models can be fitted to has these columns",
                          "collectives have op, system or accelerator, n_devices, bytes and time_s, time_us or "
                          "busbw_GBs; products have m, n, k, dtype_in, dtype_out, accelerator and time_s; "
                          "docs/reference/tables.md has all");
}

/// Adds calibrations to those of the same machine, because a machine has one file for all kinds of models.
void merge(std::vector<Calibration> more, std::vector<Calibration>& all) {
    for (Calibration& each : more) {
        const auto place = std::find_if(all.begin(), all.end(),
                                        [&](const Calibration& other) { return other.machine >= each.machine; });
        if (place != all.end() && place->machine == each.machine) {
            if (!each.exchanges.empty()) place->exchanges = std::move(each.exchanges);
            if (!each.kernels.empty()) place->kernels = std::move(each.kernels);
        } else {
            all.insert(place, std::move(each));
        }
    }
}

Result<std::vector<MeasuredServing>> servings_of(const FitQuestion& question, Reasons& skipped) {
    std::vector<MeasuredServing> rows;
    for (const TableText& file : question.tables) {
        ROOFLINE_TRY(auto reader, CsvReader::open(file.text, file.name));
        if (!question.strict) reader.leave_out_bad_rows();
        ROOFLINE_TRY(auto table, read_serving_table(reader));
        for (const SkippedRow& row : table.skipped) ++skipped[row.reason];
        std::move(table.rows.begin(), table.rows.end(), std::back_inserter(rows));
    }
    return rows;
}

// Runs of served models on the systems of a question, beside servers with these models.
Result<MeasuredServingRuns> runs_with(const ServerModels& models, const FitQuestion& question) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    Calibrations calibrations = Calibrations::built_in();
    calibrations.replace(models);
    return MeasuredServingRuns::make(std::move(systems), std::move(calibrations));
}

// The times to first token of rows on one worker, beside those of servers with these models, which have no wait yet.
Result<std::vector<WaitSample>> wait_samples(const std::vector<MeasuredServing>& rows, const FitQuestion& question,
                                             const ServerModels& models) {
    ROOFLINE_TRY(auto servings, runs_with(models, question));
    std::vector<WaitSample> samples;
    for (const MeasuredServing& row : rows) {
        if (row.disaggregated) continue;
        const auto compared = servings.compare(row);
        if (!compared) continue;
        WaitSample sample{row.software, compared->front().model};
        sample.platform = servings.platform_of_row(row);
        for (const Comparison& each : *compared) {
            const double expected_s = each.prediction.expected_s.value_or(0);
            if (each.operation == "decode") sample.step_s = expected_s;
            if (each.operation != "prefill") continue;
            sample.expected_s = expected_s;
            sample.measured_s = each.measured_s;
        }
        if (sample.step_s > 0 && sample.expected_s > 0) samples.push_back(std::move(sample));
    }
    return samples;
}

// The rows of libraries on platforms that these models have only errors for, compared as `roofline validate` does.
Result<std::vector<ServedSample>> samples_elsewhere(const std::vector<MeasuredServing>& rows,
                                                    const FitQuestion& question, const ServerModels& models) {
    ROOFLINE_TRY(auto servings, runs_with(models, question));
    std::vector<ServedSample> samples;
    for (const MeasuredServing& row : rows) {
        const std::string platform = servings.platform_of_row(row);
        const bool wanted = std::any_of(models.elsewhere.begin(), models.elsewhere.end(),
                                        [&](const ServerElsewhere& each) { return each.platform == platform; });
        if (!wanted) continue;
        const auto compared = servings.compare(row);
        if (!compared) continue;
        for (const Comparison& each : *compared) {
            const double expected_s = each.prediction.expected_s.value_or(0);
            if (!(expected_s > 0) || !(each.measured_s > 0)) continue;
            samples.push_back({row.software, platform, each.operation == "prefill", expected_s, each.measured_s});
        }
    }
    return samples;
}

std::vector<std::pair<std::string, std::int64_t>> most_first(const Reasons& reasons) {
    std::vector<std::pair<std::string, std::int64_t>> all(reasons.begin(), reasons.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return all;
}

}  // namespace

Result<TablesFit> fit_tables(const FitQuestion& question) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    MeasuredKernels kernels(systems, Calibrations(std::vector<Calibration>{}));
    TableSamples samples = question.recorded;
    Reasons skipped = question.recorded_skipped;
    for (const TableText& file : question.tables) {
        ROOFLINE_CHECK(collect(file, question.strict, question.hints, systems, kernels, samples, skipped));
    }
    TablesFit report;
    report.kinds = static_cast<int>(!samples.collectives.empty()) + static_cast<int>(!samples.exchanges.empty()) +
                   static_cast<int>(!samples.kernels.empty());
    report.fit = fit_collectives(std::move(samples.collectives));
    report.exchanges = fit_exchanges(samples.exchanges);
    measure_exchange_transfer_errors(report.exchanges.calibrations, samples.exchanges);
    report.kernels = fit_kernel_models(samples.kernels);
    measure_transfer_errors(report.kernels.calibrations, samples.kernels);
    merge(std::move(report.exchanges.calibrations), report.fit.calibrations);
    merge(std::move(report.kernels.calibrations), report.fit.calibrations);
    for (Calibration& calibration : report.fit.calibrations) {
        calibration.fitted = question.date;
        calibration.tool = "roofline " ROOFLINE_VERSION;
    }
    report.skipped = most_first(skipped);
    return report;
}

bool are_serving_tables(const std::vector<TableText>& tables) {
    return !tables.empty() && std::all_of(tables.begin(), tables.end(), [](const TableText& file) {
        const auto reader = CsvReader::open(file.text, file.name);
        return reader && is_serving_table(reader->header());
    });
}

Result<ServersFit> fit_serving_tables(const FitQuestion& question) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    ROOFLINE_TRY(auto servings, MeasuredServingRuns::make(std::move(systems), Calibrations::built_in()));
    std::vector<ServerSample> samples;
    Reasons skipped;
    ROOFLINE_TRY(const auto rows, servings_of(question, skipped));
    for (const MeasuredServing& row : rows) {
        auto sample = servings.sample(row);
        if (sample) {
            samples.push_back(std::move(*sample));
        } else {
            ++skipped[sample.error().message];
        }
    }
    ServersFit report;
    report.models = fit_servers(std::move(samples));
    ROOFLINE_TRY(const auto waits, wait_samples(rows, question, report.models));
    fit_waits(report.models, waits);
    ROOFLINE_TRY(const auto elsewhere, samples_elsewhere(rows, question, report.models));
    measure_elsewhere(report.models, elsewhere);
    report.models.fitted = question.date;
    report.skipped = most_first(skipped);
    return report;
}

bool are_pass_tables(const std::vector<TableText>& tables) {
    return !tables.empty() && std::all_of(tables.begin(), tables.end(), [](const TableText& file) {
        const auto reader = CsvReader::open(file.text, file.name);
        return reader && is_pass_table(reader->header());
    });
}

Result<PassesFit> fit_pass_tables(const FitQuestion& question) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    ROOFLINE_TRY(auto passes, MeasuredPassRuns::make(std::move(systems), Calibrations::built_in()));
    std::vector<PassSample> samples;
    Reasons skipped;
    for (const TableText& file : question.tables) {
        ROOFLINE_TRY(auto reader, CsvReader::open(file.text, file.name));
        if (!question.strict) reader.leave_out_bad_rows();
        ROOFLINE_TRY(const auto table, read_pass_table(reader));
        for (const SkippedRow& row : table.skipped) ++skipped[row.reason];
        for (const MeasuredPass& row : table.rows) {
            auto sample = passes.sample(row);
            if (sample) {
                samples.push_back(std::move(*sample));
            } else {
                ++skipped[sample.error().message];
            }
        }
    }
    PassesFit report;
    report.models = fit_passes(std::move(samples), built_in_passes());
    report.models.fitted = question.date;
    report.skipped = most_first(skipped);
    return report;
}

}  // namespace roofline::core
