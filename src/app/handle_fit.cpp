#include "app/handle_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/collective_input.hpp"
#include "app/measured_systems.hpp"
#include "app/predict_collective.hpp"
#include "import/collective_table.hpp"
#include "report/fit/fit_report.hpp"

namespace roofline {

namespace {

using Reasons = std::map<std::string, std::int64_t>;

Result<CollectiveTable> read_table(const NamedText& file, const NcclHints& hints) {
    if (is_nccl_tests(file.text)) return read_nccl_tests(file.text, file.name, hints);
    auto reader = CsvReader::open(file.text, file.name);
    if (!reader) return fail(reader.error());
    if (!is_collective_table(reader->header())) {
        return reader->fail_at(0, "unknown_table", "the columns are those of no table that constants can be fitted to",
                               "collectives have op, system or accelerator, n_devices, bytes and time_s, time_us or "
                               "busbw_GBs (docs/validate.md)");
    }
    return read_collective_table(*reader);
}

Status collect(const NamedText& file, const NcclHints& hints, MeasuredSystems& systems,
               std::vector<CollectiveSample>& samples, Reasons& skipped) {
    auto table = read_table(file, hints);
    if (!table) return fail(table.error());
    for (const SkippedRow& row : table->skipped) ++skipped[row.reason];
    for (const MeasuredCollective& row : table->rows) {
        const Result<MeasuredGroup>& group = systems.group(row);
        if (!group) {
            ++skipped[group.error().message];
            continue;
        }
        if (auto sample = sample_of(row, *group)) samples.push_back(std::move(*sample));
    }
    return {};
}

/// One file a machine, or the one that is named.
Result<std::vector<NamedText>> files_of(const std::vector<Calibration>& calibrations, const std::string& output) {
    std::vector<NamedText> files;
    if (output.empty()) return files;
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
    auto systems = MeasuredSystems::make(request.machines, request.sets);
    if (!systems) return fail(systems.error());
    auto hints = nccl_hints(request.collective, request.machines);
    if (!hints) return fail(hints.error());
    std::vector<CollectiveSample> samples;
    Reasons skipped;
    for (const NamedText& file : request.tables) {
        if (auto status = collect(file, *hints, *systems, samples, skipped); !status) return fail(status.error());
    }
    FitReport report;
    report.fit = fit_collectives(std::move(samples));
    for (Calibration& calibration : report.fit.calibrations) {
        calibration.fitted = request.date;
        calibration.tool = "roofline " ROOFLINE_VERSION;
    }
    report.skipped.assign(skipped.begin(), skipped.end());
    std::sort(report.skipped.begin(), report.skipped.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    auto files = files_of(report.fit.calibrations, request.output);
    if (!files) return fail(files.error());
    Response response;
    for (const NamedText& file : *files) report.files.push_back(file.name);
    response.files = std::move(*files);
    if (report.fit.calibrations.empty()) response.exit_code = 1;
    response.out = fit_report(report, format);
    return response;
}

}  // namespace roofline
