#include "predict/compare/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "import/collective_table.hpp"
#include "import/exchange_table.hpp"
#include "predict/compare/measured_kernels.hpp"
#include "predict/compare/measured_passes.hpp"
#include "predict/compare/measured_serving.hpp"
#include "predict/compare/measured_training.hpp"
#include "predict/compare/predict_collective.hpp"
#include "predict/compare/predict_exchange.hpp"

namespace roofline::core {

namespace {

/// Counts skipped rows by reason.
class Skipped {
public:
    void add(int line, const std::string& reason) {
        const bool known = by_reason_.size() < max_reasons || by_reason_.contains(reason);
        SkippedRows& rows = by_reason_[known ? reason : "other reasons"];
        if (rows.rows++ == 0) rows.first_line = line;
        rows.first_line = std::min(rows.first_line, line);
    }
    [[nodiscard]] std::vector<SkippedRows> most_first() const {
        std::vector<SkippedRows> all;
        for (const auto& [reason, rows] : by_reason_) all.push_back({reason, rows.rows, rows.first_line});
        std::sort(all.begin(), all.end(), [](const SkippedRows& a, const SkippedRows& b) {
            return std::pair(b.rows, a.first_line) < std::pair(a.rows, b.first_line);
        });
        return all;
    }

private:
    static constexpr std::size_t max_reasons = 1000;
    std::map<std::string, SkippedRows> by_reason_;
};

Comparison compare(MeasuredCollective& row, const MeasuredGroup& group, Calibrations& calibrations) {
    Comparison comparison;
    comparison.prediction = predict(row, group, calibrations);
    comparison.line = row.line;
    comparison.system = group.on->id;
    comparison.slice = group.on->slice();
    comparison.operation = collective_name(row.kind);
    comparison.devices = row.members;
    comparison.bytes = row.size;
    if (row.dtype) comparison.dtype = name(*row.dtype);
    comparison.variant = row.variant();
    comparison.software = std::move(row.software);
    comparison.groups = row.groups;
    comparison.measured_s = row.time_s;
    comparison.rounding_s = row.rounding_s;
    return comparison;
}

Status compare_rows(Result<CollectiveTable> table, const ValidateQuestion& question, Validation& validation) {
    if (!table) return fail(table.error());
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    Calibrations calibrations = question.calibrations;
    validation.kind = "collective";
    Skipped skipped;
    for (const SkippedRow& row : table->skipped) skipped.add(row.line, row.reason);
    validation.rows.reserve(table->rows.size());
    for (MeasuredCollective& row : table->rows) {
        const Result<MeasuredGroup>& group = systems.group(row);
        if (group) {
            validation.rows.push_back(compare(row, *group, calibrations));
        } else {
            const Error& error = group.error();
            skipped.add(row.line, error.hint.empty() ? error.message : error.message + "; " + error.hint);
        }
    }
    validation.skipped = skipped.most_first();
    validation.rates = systems.rates();
    return {};
}

Status compare_collectives(CsvReader& reader, const ValidateQuestion& question, Validation& validation) {
    return compare_rows(read_collective_table(reader), question, validation);
}

Status compare_exchanges(CsvReader& reader, const ValidateQuestion& question, Validation& validation) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    Calibrations calibrations = question.calibrations;
    ROOFLINE_TRY(auto table, read_exchange_table(reader));
    validation.kind = "expert exchange";
    Skipped skipped;
    for (const SkippedRow& row : table.skipped) skipped.add(row.line, row.reason);
    validation.rows.reserve(table.rows.size());
    for (const MeasuredExchange& row : table.rows) {
        const Result<MeasuredGroup> group = group_of(row, systems);
        if (group) {
            validation.rows.push_back(compare(row, *group, calibrations));
        } else {
            skipped.add(row.line, group.error().message);
        }
    }
    validation.skipped = skipped.most_first();
    validation.rates = systems.rates();
    return {};
}

Status compare_nccl_tests(const ValidateQuestion& question, Validation& validation) {
    return compare_rows(read_nccl_tests(question.table, question.table_name, question.hints), question, validation);
}

Status compare_kernels(CsvReader& reader, const ValidateQuestion& question, Validation& validation) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    Calibrations calibrations = question.calibrations;
    MeasuredKernels kernels(std::move(systems), std::move(calibrations));
    ROOFLINE_TRY(auto table, read_kernel_table(reader));
    validation.kind = "kernel";
    Skipped skipped;
    for (const SkippedRow& row : table.skipped) skipped.add(row.line, row.reason);
    validation.rows.reserve(table.rows.size());
    for (const MeasuredKernel& row : table.rows) {
        auto comparison = kernels.compare(row);
        if (comparison) {
            validation.rows.push_back(std::move(*comparison));
        } else {
            skipped.add(row.line, comparison.error().message);
        }
    }
    validation.skipped = skipped.most_first();
    validation.rates = kernels.rates();
    return {};
}

Status compare_trainings(CsvReader& reader, const ValidateQuestion& question, Validation& validation) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    Calibrations calibrations = question.calibrations;
    ROOFLINE_TRY(auto trainings, MeasuredTrainingRuns::make(std::move(systems), std::move(calibrations)));
    ROOFLINE_TRY(auto table, read_training_table(reader));
    validation.kind = "training step";
    Skipped skipped;
    Skipped without_memory;
    for (const SkippedRow& row : table.skipped) skipped.add(row.line, row.reason);
    validation.rows.reserve(table.rows.size());
    for (const MeasuredTraining& row : table.rows) {
        auto comparison = trainings.compare(row);
        if (comparison) {
            if (const std::string why = trainings.why_memory_skipped(row); !why.empty())
                without_memory.add(row.line, why);
            validation.rows.push_back(std::move(*comparison));
        } else {
            skipped.add(row.line, comparison.error().message);
        }
    }
    validation.skipped = skipped.most_first();
    for (const SkippedRows& each : without_memory.most_first()) {
        validation.notes.push_back(fmt::format("the memory of {} row{} from line {} is not compared: {}", each.rows,
                                               each.rows == 1 ? "" : "s", each.first_line, each.reason));
    }
    validation.rates = trainings.rates();
    return {};
}

Status compare_servings(CsvReader& reader, const ValidateQuestion& question, Validation& validation) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    Calibrations calibrations = question.calibrations;
    ROOFLINE_TRY(auto servings, MeasuredServingRuns::make(std::move(systems), std::move(calibrations)));
    ROOFLINE_TRY(auto table, read_serving_table(reader));
    validation.kind = "served model";
    Skipped skipped;
    for (const SkippedRow& row : table.skipped) skipped.add(row.line, row.reason);
    for (const MeasuredServing& row : table.rows) {
        auto comparisons = servings.compare(row);
        if (!comparisons) {
            skipped.add(row.line, comparisons.error().message);
            continue;
        }
        std::move(comparisons->begin(), comparisons->end(), std::back_inserter(validation.rows));
    }
    validation.skipped = skipped.most_first();
    validation.rates = servings.rates();
    return {};
}

Status compare_passes(CsvReader& reader, const ValidateQuestion& question, Validation& validation) {
    ROOFLINE_TRY(auto systems, MeasuredSystems::make(question.on));
    ROOFLINE_TRY(auto passes, MeasuredPassRuns::make(std::move(systems), question.calibrations));
    ROOFLINE_TRY(auto table, read_pass_table(reader));
    validation.kind = "forward-pass timing";
    Skipped skipped;
    for (const SkippedRow& row : table.skipped) skipped.add(row.line, row.reason);
    for (const MeasuredPass& row : table.rows) {
        auto comparison = passes.compare(row);
        if (comparison) {
            validation.rows.push_back(std::move(*comparison));
        } else {
            skipped.add(row.line, comparison.error().message);
        }
    }
    validation.skipped = skipped.most_first();
    validation.rates = passes.rates();
    return {};
}

/// The kinds of tables, identified by their columns.
struct TableKind {
    bool (*is)(const std::vector<std::string>& columns);
    Status (*compare)(CsvReader& reader, const ValidateQuestion& question, Validation& validation);
};
constexpr TableKind kinds[] = {{is_collective_table, compare_collectives}, {is_exchange_table, compare_exchanges},
                               {is_kernel_table, compare_kernels},         {is_training_table, compare_trainings},
                               {is_serving_table, compare_servings},       {is_pass_table, compare_passes}};

Status compare_table(const ValidateQuestion& question, Validation& validation) {
    ROOFLINE_TRY(auto reader, CsvReader::open(question.table, question.table_name));
    if (!question.strict) reader.leave_out_bad_rows();
    const auto kind = std::find_if(std::begin(kinds), std::end(kinds),
                                   [&](const TableKind& each) { return each.is(reader.header()); });
    if (kind == std::end(kinds)) {
        return reader.fail_at(0, "unknown_table", "no known kind of table has these columns",
                              "collectives have op, system or accelerator, n_devices, bytes and time_s, time_us or "
                              "busbw_GBs; products have m, n, k, dtype_in, dtype_out, accelerator and time_s; "
                              "docs/reference/tables.md has all");
    }
    return kind->compare(reader, question, validation);
}

std::vector<SkippedRows> not_expected_of(const std::vector<Comparison>& rows) {
    Skipped reasons;
    for (const Comparison& row : rows) {
        if (row.prediction.expected_s) continue;
        reasons.add(row.line, row.not_expected.empty() ? "no calibration covers it" : row.not_expected);
    }
    return reasons.most_first();
}

void add_notes(Validation& validation) {
    if (!validation.summary.of_expected && !validation.rows.empty()) {
        validation.notes.emplace_back("no calibration covers these rows: errors are those of the lower bound");
    } else if (validation.summary.error.rows < validation.rows.size()) {
        validation.notes.push_back(fmt::format("{} of the rows have no expected time: they are not in the errors",
                                               validation.rows.size() - validation.summary.error.rows));
    }
    for (const auto& [system, rate] : validation.rates) {
        if (!rate.low_confidence()) continue;
        validation.notes.push_back(fmt::format("{}: {} = {} has low confidence ({}): {}", system, rate.path,
                                               rate.value_text(), rate.confidence, rate.source));
    }
}

}  // namespace

Result<Validation> validate(const ValidateQuestion& question) {
    Validation validation;
    validation.table = question.table_name;
    validation.max_error = question.max_error;
    ROOFLINE_CHECK(is_nccl_tests(question.table) ? compare_nccl_tests(question, validation)
                                                 : compare_table(question, validation));
    complete(validation);
    return validation;
}

void complete(Validation& validation) {
    validation.not_expected = not_expected_of(validation.rows);
    validation.summary = summarise(validation.rows);
    validation.frontiers = serving_frontiers(validation.rows);
    add_notes(validation);
}

}  // namespace roofline::core
