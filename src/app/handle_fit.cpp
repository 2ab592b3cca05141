#include "app/handle_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/collective_input.hpp"
#include "app/handle_fit_servers.hpp"
#include "calibrate/kernel/kernel_relatives.hpp"
#include "import/collective_table.hpp"
#include "import/exchange_table.hpp"
#include "predict/compare/measured_kernels.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/compare/predict_collective.hpp"
#include "predict/compare/predict_exchange.hpp"
#include "report/fit/fit_report.hpp"

namespace roofline::core {

namespace {

using Reasons = std::map<std::string, std::int64_t>;

/// What tables hold that laws can be fitted to.
struct TableSamples {
    std::vector<CollectiveSample> collectives;
    std::vector<ExchangeSample> exchanges;
    std::vector<KernelSample> kernels;
};

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

Status collect(const NamedText& file, bool strict, const NcclHints& hints, MeasuredSystems& systems,
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
    return reader.fail_at(0, "unknown_table", "the columns are those of no table that constants can be fitted to",
                          "collectives have op, system or accelerator, n_devices, bytes and time_s, time_us or "
                          "busbw_GBs; products have m, n, k, dtype_in, dtype_out, accelerator and time_s; "
                          "docs/validate.md has all");
}

/// Laws of one sort go into the file of the machine's laws of others.
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

/// One file a machine, or the one that is named.
Result<std::vector<NamedText>> files_of(const std::vector<Calibration>& calibrations, const std::string& output) {
    std::vector<NamedText> files;
    if (output.empty() || calibrations.empty()) return files;
    const bool one = output.ends_with(".toml");
    if (one && calibrations.size() != 1) {
        return fail("bad_request", fmt::format("laws for {} machines do not go into one file", calibrations.size()),
                    "name a directory: -o calibration");
    }
    for (const Calibration& calibration : calibrations) {
        std::string name = one ? output : fmt::format("{}/{}.toml", output, calibration.machine);
        files.push_back({std::move(name), calibration_text(calibration)});
    }
    return files;
}

}  // namespace

Result<Response> handle_fit(const FitRequest& request, Format format) {
    if (are_serving_tables(request)) return handle_fit_servers(request, format);
    ROOFLINE_TRY(auto systems, measured_systems(request.machines, request.sets));
    MeasuredKernels kernels(systems, Calibrations(std::vector<Calibration>{}));
    ROOFLINE_TRY(auto hints, nccl_hints(request.collective, request.machines));
    TableSamples samples;
    Reasons skipped;
    for (const NamedText& file : request.tables) {
        ROOFLINE_CHECK(collect(file, request.strict, hints, systems, kernels, samples, skipped));
    }
    const int sorts = static_cast<int>(!samples.collectives.empty()) + static_cast<int>(!samples.exchanges.empty()) +
                      static_cast<int>(!samples.kernels.empty());
    if (format == Format::csv && sorts > 1) {
        return fail("bad_request",
                    "laws of collectives, of exchanges with experts and of kernels do not fit one table of "
                    "comma-separated values",
                    "fit the tables one after the other, or answer with --json");
    }
    FitReport report;
    report.fit = fit_collectives(std::move(samples.collectives));
    report.exchanges = fit_exchanges(samples.exchanges);
    measure_carried_exchanges(report.exchanges.calibrations, samples.exchanges);
    report.kernels = fit_kernel_laws(samples.kernels);
    measure_carrying(report.kernels.calibrations, samples.kernels);
    merge(std::move(report.exchanges.calibrations), report.fit.calibrations);
    merge(std::move(report.kernels.calibrations), report.fit.calibrations);
    for (Calibration& calibration : report.fit.calibrations) {
        calibration.fitted = request.date;
        calibration.tool = "roofline " ROOFLINE_VERSION;
    }
    report.skipped.assign(skipped.begin(), skipped.end());
    std::sort(report.skipped.begin(), report.skipped.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    ROOFLINE_TRY(auto files, files_of(report.fit.calibrations, request.output));
    Response response;
    for (const NamedText& file : files) report.files.push_back(file.name);
    response.files = std::move(files);
    if (report.fit.calibrations.empty()) response.exit_code = 1;
    response.out = fit_report(report, format);
    return response;
}

}  // namespace roofline::core
